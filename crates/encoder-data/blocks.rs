//! The order of the weights in the program. The model file stores a matrix row by row. Here sixteen rows are
//! interleaved: the first two weights of each row, then the next two, and so on. A processor that computes sixteen sums
//! reads them sequentially.

use safetensors::{SafeTensorError, SafeTensors};

/// Number of interleaved rows.
const ROWS: usize = 16;
/// Number of consecutive weights of a row.
const PAIR: usize = 2;
/// Alignment of matrices, a cache line, so that no step of sixteen rows spans two lines.
const LINE: usize = 64;
/// Size of the header's length field at the start of the file.
const LENGTH: usize = size_of::<u64>();

/// Returns the model file with its matrices in blocks. Embedding tables, of which single rows are read, are unchanged.
pub(crate) fn in_blocks(model: &[u8]) -> Result<Vec<u8>, SafeTensorError> {
    let (header, _) = SafeTensors::read_metadata(model)?;
    let tensors = SafeTensors::deserialize(model)?;
    let mut blocks = model.to_vec();
    let mut first = None;
    for (name, view) in tensors.iter() {
        let [_, width] = *view.shape() else { continue };
        if !is_matrix(name) {
            continue;
        }
        let start = view.data().as_ptr().addr() - model.as_ptr().addr();
        let place = blocks.get_mut(start..).unwrap_or_default();
        let in_order = source_indexes(view.data().len(), width);
        for (to, from) in place.iter_mut().zip(in_order) {
            *to = view.data().get(from).copied().unwrap_or_default();
        }
        first = first.min(Some(start)).or(Some(start));
    }
    // The format allows spaces after the header; they align the matrices.
    let padding = first.map_or(0, |start| (LINE - start % LINE) % LINE);
    let end = LENGTH + header;
    blocks.splice(end..end, vec![b' '; padding]);
    let length = (header + padding) as u64;
    blocks.splice(..LENGTH, length.to_le_bytes());
    Ok(blocks)
}

fn is_matrix(name: &str) -> bool {
    name.starts_with("encoder.layer.") && name.ends_with(".weight")
}

/// For each weight in block order, its index in row order.
fn source_indexes(size: usize, width: usize) -> impl Iterator<Item = usize> {
    let block = ROWS * width;
    (0..size).map(move |place| {
        let (number, inside) = (place / block, place % block);
        let (step, inside) = (inside / (ROWS * PAIR), inside % (ROWS * PAIR));
        let (row, one) = (inside / PAIR, inside % PAIR);
        number * block + row * width + step * PAIR + one
    })
}
