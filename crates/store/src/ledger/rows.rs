//! Grants, approval requests and activity as rows. Decisions are sealed: a row that was not written by Pegboard is
//! ignored.

use pegboard_model::{
    Activity, ActivityKind, ApprovalDecision, ApprovalRequest, ApprovalResponse, Grant, HashKey,
    ServerName, Timestamp, TraceId,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Step `n` migrates version `n` to `n + 1`. Steps are only ever added.
///
/// `consent` is the stored name of the table of grants, and the label of their seals. Renaming it would hide the grants
/// of a ledger that can only be read, because such a ledger is not migrated.
pub(super) const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE consent (
        server TEXT NOT NULL, tool TEXT NOT NULL, config BLOB NOT NULL,
        body TEXT NOT NULL, seal BLOB NOT NULL,
        PRIMARY KEY (server, tool, config)
    ) STRICT;
    CREATE TABLE inbox (
        id TEXT PRIMARY KEY, expires_at INTEGER NOT NULL,
        body TEXT NOT NULL, seal BLOB NOT NULL,
        answer TEXT, answer_seal BLOB
    ) STRICT;
    CREATE TABLE activity (
        id INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, session TEXT, tool TEXT,
        server TEXT, outcome TEXT NOT NULL, duration_ms INTEGER, trace TEXT
    ) STRICT;
",
    "ALTER TABLE activity ADD COLUMN client TEXT",
    super::review_rows::MIGRATION,
];

const PURPOSE: &str = "pegboard ledger: seal of a decision, version 1";

/// Seals decisions and verifies their seals.
pub(super) struct Seals(HashKey);

impl Seals {
    pub(super) fn new(key: &HashKey) -> Self {
        Self(HashKey(blake3::derive_key(PURPOSE, &key.0)))
    }

    pub(super) fn seal(&self, parts: &[&str]) -> [u8; 32] {
        self.0.hash(parts.iter().map(|part| part.as_bytes()))
    }

    /// Deserializes a text if its seal is valid.
    pub(super) fn open<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        body: &str,
        seal: &[u8],
    ) -> Option<T> {
        // Comparing hashes takes constant time.
        let fits = <[u8; 32]>::try_from(seal)
            .is_ok_and(|seal| blake3::Hash::from(self.seal(parts)) == blake3::Hash::from(seal));
        fits.then(|| serde_json::from_str(body).ok()).flatten()
    }
}

/// The grant that a lasting decision creates.
pub(super) fn grant_of(request: &ApprovalRequest, response: &ApprovalResponse) -> Option<Grant> {
    (response.decision == ApprovalDecision::Always).then(|| Grant {
        version: request.version.clone(),
        exposed: request.tool.clone(),
        definition: request.definition.clone(),
        at: response.at,
        by: response.by.clone(),
    })
}

pub(super) fn text(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn server_text(server: Option<&ServerName>) -> &str {
    server.map_or("", ServerName::as_str)
}

pub(super) fn save_grant(
    connection: &Connection,
    seals: &Seals,
    grant: &Grant,
) -> rusqlite::Result<()> {
    let body = text(grant)?;
    let version = &grant.version;
    let sql = "INSERT INTO consent (server, tool, config, body, seal) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (server, tool, config) DO UPDATE SET body = excluded.body, seal = excluded.seal";
    connection.prepare_cached(sql)?.execute(params![
        server_text(version.server.as_ref()),
        version.tool,
        version.config.0,
        body,
        seals.seal(&["consent", &body]),
    ])?;
    Ok(())
}

fn opened_grant(row: &Row<'_>, seals: &Seals) -> rusqlite::Result<Option<Grant>> {
    let (body, seal): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
    Ok(seals.open(&["consent", &body], &body, &seal))
}

pub(super) fn grants(connection: &Connection, seals: &Seals) -> rusqlite::Result<Vec<Grant>> {
    let mut statement = connection
        .prepare_cached("SELECT body, seal FROM consent ORDER BY server, tool, config")?;
    let rows = statement.query_map([], |row| opened_grant(row, seals))?;
    Ok(rows
        .collect::<rusqlite::Result<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect())
}

pub(super) fn grants_of(
    connection: &Connection,
    seals: &Seals,
    server: Option<&ServerName>,
    tool: &str,
) -> rusqlite::Result<Vec<Grant>> {
    let sql = "SELECT body, seal FROM consent WHERE server = ?1 AND tool = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![server_text(server), tool], |row| {
        opened_grant(row, seals)
    })?;
    let found = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    // The columns only find the row; the sealed text decides.
    let is_meant =
        |grant: &Grant| grant.version.server.as_ref() == server && grant.version.tool == tool;
    Ok(found.into_iter().flatten().filter(is_meant).collect())
}

pub(super) fn revoke(
    connection: &Connection,
    server: Option<&ServerName>,
    tool: &str,
) -> rusqlite::Result<usize> {
    let sql = "DELETE FROM consent WHERE server = ?1 AND tool = ?2";
    connection.execute(sql, params![server_text(server), tool])
}

pub(super) fn add_request(
    connection: &Connection,
    seals: &Seals,
    request: &ApprovalRequest,
    most: usize,
) -> rusqlite::Result<bool> {
    let transaction = connection.unchecked_transaction()?;
    // Delete what a killed process left.
    let now = number(request.asked_at.0);
    transaction.execute("DELETE FROM inbox WHERE expires_at <= ?1", [now])?;
    let waiting: i64 = transaction.query_row("SELECT count(*) FROM inbox", [], |row| row.get(0))?;
    if usize::try_from(waiting).unwrap_or(usize::MAX) >= most {
        return Ok(false);
    }
    let body = text(request)?;
    let sql = "INSERT OR IGNORE INTO inbox (id, expires_at, body, seal) VALUES (?1, ?2, ?3, ?4)";
    let seal = seals.seal(&["request", &body]);
    let added = transaction.execute(
        sql,
        params![request.id, number(request.expires_at.0), body, seal],
    )?;
    transaction.commit()?;
    Ok(added > 0)
}

pub(super) fn pending_requests(
    connection: &Connection,
    seals: &Seals,
    now: Timestamp,
) -> rusqlite::Result<Vec<ApprovalRequest>> {
    let sql =
        "SELECT body, seal FROM inbox WHERE answer IS NULL AND expires_at > ?1 ORDER BY rowid";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([number(now.0)], |row| {
        let (body, seal): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
        Ok(seals.open::<ApprovalRequest>(&["request", &body], &body, &seal))
    })?;
    let found = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    let waits = |request: &ApprovalRequest| request.expires_at > now;
    Ok(found.into_iter().flatten().filter(waits).collect())
}

pub(super) fn decide(
    connection: &Connection,
    seals: &Seals,
    id: &str,
    response: &ApprovalResponse,
) -> rusqlite::Result<Option<ApprovalRequest>> {
    let transaction =
        rusqlite::Transaction::new_unchecked(connection, rusqlite::TransactionBehavior::Immediate)?;
    let sql = "SELECT body, seal FROM inbox WHERE id = ?1 AND answer IS NULL";
    let found = transaction
        .query_row(sql, [id], |row| {
            let (body, seal): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
            let request = seals.open::<ApprovalRequest>(&["request", &body], &body, &seal);
            Ok(request.map(|request| (request, body)))
        })
        .optional()?
        .flatten();
    let Some((request, body)) =
        found.filter(|(request, _)| request.id == id && request.expires_at > response.at)
    else {
        return Ok(None);
    };
    let given = text(response)?;
    let seal = seals.seal(&["answer", &body, &given]);
    let sql = "UPDATE inbox SET answer = ?2, answer_seal = ?3 WHERE id = ?1";
    transaction.execute(sql, params![id, given, seal])?;
    if let Some(grant) = grant_of(&request, response) {
        save_grant(&transaction, seals, &grant)?;
    }
    transaction.commit()?;
    Ok(Some(request))
}

/// Returns the decision about a request. Its seal covers the request, not only the id.
pub(super) fn decision(
    connection: &Connection,
    seals: &Seals,
    id: &str,
) -> rusqlite::Result<Option<ApprovalResponse>> {
    let sql =
        "SELECT body, seal, answer, answer_seal FROM inbox WHERE id = ?1 AND answer IS NOT NULL";
    let found = connection
        .prepare_cached(sql)?
        .query_row([id], |row| {
            let (body, seal): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
            let (given, given_seal): (String, Vec<u8>) = (row.get(2)?, row.get(3)?);
            let request = seals.open::<ApprovalRequest>(&["request", &body], &body, &seal);
            let response = seals.open(&["answer", &body, &given], &given, &given_seal);
            Ok(response.filter(|_| request.is_some_and(|request| request.id == id)))
        })
        .optional()?;
    Ok(found.flatten())
}

pub(super) fn remove_request(
    connection: &Connection,
    seals: &Seals,
    id: &str,
) -> rusqlite::Result<Option<ApprovalResponse>> {
    let transaction =
        rusqlite::Transaction::new_unchecked(connection, rusqlite::TransactionBehavior::Immediate)?;
    let response = decision(&transaction, seals, id)?;
    transaction.execute("DELETE FROM inbox WHERE id = ?1", [id])?;
    transaction.commit()?;
    Ok(response)
}

pub(super) fn add_activity(
    connection: &Connection,
    lines: &[Activity],
    most: usize,
) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    {
        let mut statement = transaction.prepare_cached(
            "INSERT INTO activity (at, kind, session, tool, server, outcome, duration_ms, trace, client)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        for line in lines {
            statement.execute(params![
                number(line.at.0),
                line.kind.as_str(),
                line.session,
                line.tool,
                line.server.as_ref().map(ServerName::as_str),
                line.outcome,
                line.duration_ms.map(number),
                line.trace.as_ref().map(TraceId::as_str),
                line.client,
            ])?;
        }
    }
    let sql = "DELETE FROM activity WHERE id <= (SELECT max(id) FROM activity) - ?1";
    transaction.execute(sql, [i64::try_from(most).unwrap_or(i64::MAX)])?;
    transaction.commit()
}

pub(super) fn activity(
    connection: &Connection,
    limit: usize,
    before: Option<u64>,
) -> rusqlite::Result<Vec<Activity>> {
    let sql = "SELECT id, at, kind, session, tool, server, outcome, duration_ms, trace, client
               FROM activity WHERE id < ?1 ORDER BY id DESC LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let (before, limit) = (
        before.map_or(i64::MAX, number),
        i64::try_from(limit).unwrap_or(i64::MAX),
    );
    let rows = statement.query_map([before, limit], |row| {
        let unsigned = |number: i64| u64::try_from(number).unwrap_or(0);
        let kind: String = row.get(2)?;
        let server: Option<String> = row.get(5)?;
        let trace: Option<String> = row.get(8)?;
        Ok(ActivityKind::parse(&kind).map(|kind| Activity {
            id: row.get(0).map(unsigned).unwrap_or(0),
            at: Timestamp(row.get(1).map(unsigned).unwrap_or(0)),
            kind,
            session: row.get(3).unwrap_or_default(),
            client: row.get(9).unwrap_or_default(),
            tool: row.get(4).unwrap_or_default(),
            server: server.and_then(|name| ServerName::parse(&name).ok()),
            outcome: row.get(6).unwrap_or_default(),
            duration_ms: row.get::<_, Option<i64>>(7).ok().flatten().map(unsigned),
            trace: trace.and_then(|trace| TraceId::parse(&trace)),
        }))
    })?;
    Ok(rows
        .collect::<rusqlite::Result<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect())
}

/// SQLite's integers are signed; larger values do not occur.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_cli_06_a_log_without_clients_is_migrated_and_stays_readable() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(MIGRATIONS[0]).unwrap();
        let old = "INSERT INTO activity (at, kind, session, outcome) VALUES (7, 'call', 's', 'ok')";
        connection.execute_batch(old).unwrap();
        for step in &MIGRATIONS[1..] {
            connection.execute_batch(step).unwrap();
        }
        let line = Activity {
            client: Some("claude-code 2.1.197".to_owned()),
            ..Activity::new(Timestamp(8), ActivityKind::Call, "ok")
        };
        add_activity(&connection, &[line], 10).unwrap();
        let lines = activity(&connection, 10, None).unwrap();
        let clients: Vec<_> = lines.iter().map(|line| line.client.as_deref()).collect();
        assert_eq!(clients, [Some("claude-code 2.1.197"), None]);
    }
}
