//! Records as rows. Every row is sealed, and only rows with a valid seal are returned.

use pegboard_model::{
    ConfigHash, Reason, ServerName, ServerRecord, Timestamp, ToolError, UntrustedText,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::record_format::{self, DecodeError};
use crate::seal::Sealer;
use crate::{StoreStats, errors};

/// Number of definitions stored per server: projects can define it differently, and keys change.
const DEFINITIONS_PER_SERVER: i64 = 8;

/// A record that is ready to be written.
pub(super) struct SealedRecord {
    name: ServerName,
    config: ConfigHash,
    attempted_at: Option<i64>,
    discovered_at: Option<i64>,
    tools: usize,
    body: Vec<u8>,
    seal: [u8; 32],
}

impl SealedRecord {
    pub(super) fn new(record: &ServerRecord, sealer: &Sealer) -> Result<Self, ToolError> {
        let body = record_format::encode(record)?;
        Ok(Self {
            name: record.server.clone(),
            config: record.config,
            attempted_at: record.attempted_at.map(number),
            discovered_at: record.discovered_at.map(number),
            tools: record.tools.len(),
            seal: sealer.seal(&record.server, &body),
            body,
        })
    }

    /// Writes the record and deletes the server's least recently used definitions.
    fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        self.insert(connection)?;
        let mut statement = connection.prepare_cached(
            "DELETE FROM server WHERE name = ?1 AND id NOT IN (
                 SELECT id FROM server WHERE name = ?1 ORDER BY attempted_at DESC, id DESC LIMIT ?2)",
        )?;
        statement.execute(params![self.name.as_str(), DEFINITIONS_PER_SERVER])?;
        Ok(())
    }

    /// Writes the record unless there is one of the same definition.
    pub(super) fn write_if_absent(&self, connection: &Connection) -> rusqlite::Result<()> {
        self.execute(
            connection,
            "INSERT INTO server (name, config, attempted_at, discovered_at, tools, body, seal)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (name, config) DO NOTHING",
        )
    }

    fn insert(&self, connection: &Connection) -> rusqlite::Result<()> {
        self.execute(
            connection,
            "INSERT INTO server (name, config, attempted_at, discovered_at, tools, body, seal)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (name, config) DO UPDATE SET
                 attempted_at = excluded.attempted_at,
                 discovered_at = excluded.discovered_at, tools = excluded.tools,
                 body = excluded.body, seal = excluded.seal",
        )
    }

    fn execute(&self, connection: &Connection, insert: &str) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(insert)?;
        let tools = i64::try_from(self.tools).unwrap_or(i64::MAX);
        statement.execute(params![
            self.name.as_str(),
            self.config.0,
            self.attempted_at,
            self.discovered_at,
            tools,
            self.body,
            self.seal,
        ])?;
        Ok(())
    }
}

/// Writes records in one transaction.
pub(super) fn write<'a>(
    connection: &Connection,
    records: impl IntoIterator<Item = &'a SealedRecord>,
) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    for record in records {
        record.write(&transaction)?;
    }
    transaction.commit()
}

/// Reads the row of one server under one definition.
pub(super) fn find(
    connection: &Connection,
    sealer: &Sealer,
    server: &ServerName,
    config: &ConfigHash,
) -> rusqlite::Result<Option<Result<ServerRecord, ToolError>>> {
    let mut statement = connection
        .prepare_cached("SELECT name, body, seal FROM server WHERE name = ?1 AND config = ?2")?;
    let open = |row: &Row<'_>| {
        let opened =
            RawRow::of(row)?.map_or_else(|| Err(wrong_column_types()), |raw| raw.open(sealer));
        // The column only finds the row; the sealed definition decides.
        Ok(opened.and_then(|record| match record.config == *config {
            true => Ok(record),
            false => Err(errors::untrusted(
                server,
                "they belong to another definition",
            )),
        }))
    };
    statement
        .query_row(params![server.as_str(), config.0], open)
        .optional()
}

/// Reads the newest row with tools under another definition of the server.
pub(super) fn find_former(
    connection: &Connection,
    sealer: &Sealer,
    server: &ServerName,
    config: &ConfigHash,
) -> rusqlite::Result<Option<Result<ServerRecord, ToolError>>> {
    let mut statement = connection.prepare_cached(
        "SELECT name, body, seal FROM server
         WHERE name = ?1 AND config <> ?2 AND discovered_at IS NOT NULL
         ORDER BY discovered_at DESC, id DESC LIMIT 1",
    )?;
    let open = |row: &Row<'_>| {
        Ok(RawRow::of(row)?.map_or_else(|| Err(wrong_column_types()), |raw| raw.open(sealer)))
    };
    statement
        .query_row(params![server.as_str(), config.0], open)
        .optional()
}

/// Whether the row is of a later attempt than `known`.
pub(super) fn is_newer(
    connection: &Connection,
    server: &ServerName,
    config: &ConfigHash,
    known: Option<Timestamp>,
) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT 1 FROM server
         WHERE name = ?1 AND config = ?2 AND attempted_at > coalesce(?3, -1)",
    )?;
    statement.exists(params![server.as_str(), config.0, known.map(number)])
}

/// Deletes the rows of one server.
pub(super) fn forget(connection: &Connection, server: &ServerName) -> rusqlite::Result<bool> {
    connection
        .execute("DELETE FROM server WHERE name = ?1", [server.as_str()])
        .map(|rows| rows > 0)
}

/// Deletes every row.
pub(super) fn clear(connection: &Connection) -> rusqlite::Result<usize> {
    connection.execute("DELETE FROM server", [])
}

/// Computes the statistics without reading the records.
pub(super) fn stats(connection: &Connection) -> rusqlite::Result<StoreStats> {
    let sql = "SELECT count(*), coalesce(sum(tools), 0), coalesce(sum(length(body)), 0),
                      min(discovered_at), max(discovered_at) FROM server";
    connection.query_row(sql, [], |row| {
        Ok(StoreStats {
            servers: usize::try_from(row.get::<_, i64>(0)?).unwrap_or(0),
            tools: usize::try_from(row.get::<_, i64>(1)?).unwrap_or(0),
            bytes: u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0),
            oldest: row.get::<_, Option<i64>>(3)?.and_then(timestamp),
            newest: row.get::<_, Option<i64>>(4)?.and_then(timestamp),
        })
    })
}

/// The three columns that make a record.
pub(super) struct RawRow<'a> {
    name: &'a [u8],
    body: &'a [u8],
    seal: &'a [u8],
}

impl<'a> RawRow<'a> {
    /// Returns the columns of a row; `None` if they have the wrong types, which means damage.
    pub(super) fn of(row: &'a Row<'_>) -> rusqlite::Result<Option<Self>> {
        Ok(match (row.get_ref(0)?, row.get_ref(1)?, row.get_ref(2)?) {
            (ValueRef::Text(name), ValueRef::Blob(body), ValueRef::Blob(seal)) => {
                Some(Self { name, body, seal })
            }
            _ => None,
        })
    }

    /// Decodes the record if its seal is valid.
    pub(super) fn open(&self, sealer: &Sealer) -> Result<ServerRecord, ToolError> {
        let (name, body) = (self.name, self.body);
        let Some(server) = std::str::from_utf8(name)
            .ok()
            .and_then(|name| ServerName::parse(name).ok())
        else {
            let name = String::from_utf8_lossy(name);
            let name = UntrustedText::new(&name).shortened(60);
            return Err(row_error(&format!(
                "a row of the store has the invalid server name `{name}`"
            )));
        };
        if !sealer.verify(&server, body, self.seal) {
            let why =
                "they were changed outside Pegboard, damaged, or written under another `hash.key`";
            return Err(errors::untrusted(&server, why));
        }
        match record_format::decode(body) {
            Ok(record) if record.server == server => Ok(record),
            Ok(_) | Err(DecodeError::Malformed) => {
                Err(errors::untrusted(&server, "they cannot be read"))
            }
            Err(DecodeError::Newer) => {
                let message = format!(
                    "the stored tools of server `{server}` were written by a newer Pegboard"
                );
                Err(ToolError::new(Reason::StoreTooNew, message).at_server(&server))
            }
        }
    }
}

/// The error for a row with columns of the wrong type.
pub(super) fn wrong_column_types() -> ToolError {
    row_error("a row of the store has values of the wrong kind")
}

fn row_error(message: &str) -> ToolError {
    ToolError::new(Reason::CacheUntrusted, format!("{message}; it is ignored"))
        .with_remedy("Run `pegboard refresh --all`.")
}

/// SQLite's integers are signed; larger values do not occur.
fn number(at: Timestamp) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

fn timestamp(number: i64) -> Option<Timestamp> {
    u64::try_from(number).ok().map(Timestamp)
}
