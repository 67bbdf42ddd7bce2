//! Reading all records.

use std::collections::BTreeMap;

use pegboard_model::{ConfigHash, ServerName, ServerRecord, ToolError};
use rusqlite::{Connection, ErrorCode};

use super::rows::{self, RawRow};
use crate::errors;
use crate::seal::Sealer;

/// The result of reading all rows, up to the first damage.
#[derive(Default)]
pub(super) struct Scan {
    /// The valid records, sorted by server.
    pub(super) records: Vec<ServerRecord>,
    /// Why other records were ignored.
    pub(super) notices: Vec<ToolError>,
    /// Why the remaining rows could not be read.
    pub(super) stopped: Option<ScanStop>,
}

pub(super) enum ScanStop {
    ByDamage(String),
    ByFault(rusqlite::Error),
}

type Opened = Result<ServerRecord, ToolError>;

/// Reads every row.
pub(super) fn scan(connection: &Connection, sealer: &Sealer) -> Scan {
    let mut opened = Vec::new();
    let outcome = read_rows(connection, sealer, &mut opened);
    let mut scan = sorted(opened);
    if let Err(error) = outcome {
        scan.stopped = Some(match error.sqlite_error_code() {
            _ if errors::is_damage(&error) => ScanStop::ByDamage(error.to_string()),
            // No value of this size was ever written, so a length in the file is wrong.
            Some(ErrorCode::TooBig) => ScanStop::ByDamage(error.to_string()),
            _ => ScanStop::ByFault(error),
        });
    }
    scan
}

/// Decodes each row in SQLite's own memory: allocating costs more than verifying and decoding.
fn read_rows(
    connection: &Connection,
    sealer: &Sealer,
    opened: &mut Vec<Opened>,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached("SELECT name, body, seal FROM server")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let raw = RawRow::of(row)?;
        opened.push(raw.map_or_else(|| Err(rows::wrong_column_types()), |raw| raw.open(sealer)));
    }
    Ok(())
}

fn sorted(opened: Vec<Opened>) -> Scan {
    let mut scan = Scan::default();
    let mut found: BTreeMap<(ServerName, ConfigHash), ServerRecord> = BTreeMap::new();
    for outcome in opened {
        match outcome {
            Err(notice) => scan.notices.push(notice),
            Ok(record) => {
                let key = (record.server.clone(), record.config);
                if let Some(other) = found.get(&key) {
                    // The index keeps definitions unique; a duplicate means that it is damaged.
                    scan.stopped = Some(ScanStop::ByDamage(
                        "two records of one definition".to_owned(),
                    ));
                    if other.attempted_at >= record.attempted_at {
                        continue;
                    }
                }
                found.insert(key, record);
            }
        }
    }
    scan.notices.sort_by(|a, b| a.message.cmp(&b.message));
    scan.records = found.into_values().collect();
    scan
}
