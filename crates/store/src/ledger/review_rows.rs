//! Decisions about reviews as sealed rows.

use pegboard_model::{ActivityKind, ReviewDecision, ServerName};
use rusqlite::{Connection, params};

use super::rows::{Seals, text};

/// The migration that adds the table.
pub(super) const MIGRATION: &str = "
    CREATE TABLE review (
        server TEXT NOT NULL, config BLOB NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
        fingerprint BLOB NOT NULL, body TEXT NOT NULL, seal BLOB NOT NULL,
        PRIMARY KEY (server, config, kind, name, fingerprint)
    ) STRICT;
";

pub(super) fn save(
    connection: &Connection,
    seals: &Seals,
    decision: &ReviewDecision,
) -> rusqlite::Result<()> {
    let body = text(decision)?;
    let sql = "INSERT INTO review (server, config, kind, name, fingerprint, body, seal)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
               ON CONFLICT (server, config, kind, name, fingerprint)
               DO UPDATE SET body = excluded.body, seal = excluded.seal";
    connection.prepare_cached(sql)?.execute(params![
        decision.server.as_str(),
        decision.config.0,
        decision.kind.as_str(),
        decision.name,
        decision.fingerprint.0,
        body,
        seals.seal(&["review", &body]),
    ])?;
    Ok(())
}

/// The decisions with a valid seal.
pub(super) fn all(connection: &Connection, seals: &Seals) -> rusqlite::Result<Vec<ReviewDecision>> {
    let mut statement = connection.prepare_cached("SELECT body, seal FROM review")?;
    let rows = statement.query_map([], |row| {
        let (body, seal): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
        Ok(seals.open(&["review", &body], &body, &seal))
    })?;
    let found = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(found.into_iter().flatten().collect())
}

/// The tools of a server with a grant or a call. A row of the activity log is not sealed; a forged one only makes the
/// review stricter.
pub(super) fn used_tools(
    connection: &Connection,
    server: &ServerName,
) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT tool FROM consent WHERE server = ?1
               UNION SELECT tool FROM activity WHERE server = ?1 AND kind = ?2 AND tool IS NOT NULL";
    let mut statement = connection.prepare_cached(sql)?;
    let kind = ActivityKind::Call.as_str();
    let rows = statement.query_map(params![server.as_str(), kind], |row| row.get(0))?;
    rows.collect()
}
