//! The order of the weights in the program. The model file has a matrix row by row. Here sixteen rows
//! stand together, and of these first the first two weights of each row, then the next two: a
//! processor that keeps sixteen sums reads them in one go, without rearranging anything.

use safetensors::{SafeTensorError, SafeTensors};

/// The rows that stand together.
const ROWS: usize = 16;
/// The weights of a row that stand together.
const PAIR: usize = 2;
/// Matrices begin here in a cache line's worth of bytes, so that no sixteen rows' weights lie on two lines.
const LINE: usize = 64;
/// The bytes in front of the header: its length.
const LENGTH: usize = size_of::<u64>();

/// The model file with its matrices in blocks. Tables, of which single rows are read, stay as they are.
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
        let in_order = places(view.data().len(), width);
        for (to, from) in place.iter_mut().zip(in_order) {
            *to = view.data().get(from).copied().unwrap_or_default();
        }
        first = first.min(Some(start)).or(Some(start));
    }
    // Blanks behind the header, which the format allows, move all matrices to their place.
    let blanks = first.map_or(0, |start| (LINE - start % LINE) % LINE);
    let end = LENGTH + header;
    blocks.splice(end..end, vec![b' '; blanks]);
    let length = (header + blanks) as u64;
    blocks.splice(..LENGTH, length.to_le_bytes());
    Ok(blocks)
}

fn is_matrix(name: &str) -> bool {
    name.starts_with("encoder.layer.") && name.ends_with(".weight")
}

/// Where each weight of a matrix of this size and width is found in its rows.
fn places(size: usize, width: usize) -> impl Iterator<Item = usize> {
    let block = ROWS * width;
    (0..size).map(move |place| {
        let (number, inside) = (place / block, place % block);
        let (step, inside) = (inside / (ROWS * PAIR), inside % (ROWS * PAIR));
        let (row, one) = (inside / PAIR, inside % PAIR);
        number * block + row * width + step * PAIR + one
    })
}
