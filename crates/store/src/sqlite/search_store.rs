//! The tables for search by meaning.

use async_trait::async_trait;
use pegboard_model::{ConfigHash, Fingerprint, ServerName, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use super::SqliteStore;
use crate::StoreResult;
use crate::seal::Sealer;
use crate::search_store::{
    MAX_REMEMBERED_QUERIES, MAX_REMEMBERED_QUERIES_PER_TOOL, RememberedQuery, SearchStore,
};

/// Sealed with the body, so that one kind of data cannot pass for another.
const VECTORS: &[u8] = b"vectors";
const MEMORY: &[u8] = b"memory";

#[async_trait]
impl SearchStore for SqliteStore {
    async fn load_vectors(
        &self,
        server: &ServerName,
        config: &ConfigHash,
        model: &str,
    ) -> StoreResult<Option<Vec<u8>>> {
        let (server, config, model) = (server.clone(), *config, model.to_owned());
        self.run(move |inner| {
            inner.with("read the store", |connection| {
                let sql = "SELECT body, seal FROM vectors WHERE server = ?1 AND config = ?2 AND model = ?3";
                let row = connection
                    .prepare_cached(sql)?
                    .query_row(params![server.as_str(), config.0, model], |row| {
                        Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?))
                    })
                    .optional()?;
                let parts = [VECTORS, model.as_bytes(), &config.0];
                Ok(row
                    .filter(|(body, seal)| inner.sealer.verify_parts(&server, parts, body, seal))
                    .map(|(body, _)| body))
            })
        })
        .await
    }

    async fn save_vectors(
        &self,
        server: &ServerName,
        config: &ConfigHash,
        model: &str,
        vectors: Vec<u8>,
    ) -> StoreResult<()> {
        let (server, config, model) = (server.clone(), *config, model.to_owned());
        self.run(move |inner| {
            let seal =
                inner
                    .sealer
                    .seal_parts(&server, [VECTORS, model.as_bytes(), &config.0], &vectors);
            inner.change("write to the store", |connection| {
                // If the record was deleted in the meantime, its vectors are not stored.
                let sql = "INSERT INTO vectors (server, config, model, body, seal)
                           SELECT ?1, ?2, ?3, ?4, ?5
                           WHERE EXISTS (SELECT 1 FROM server WHERE name = ?1 AND config = ?2)
                           ON CONFLICT (server, config) DO UPDATE SET
                               model = excluded.model, body = excluded.body, seal = excluded.seal";
                connection
                    .prepare_cached(sql)?
                    .execute(params![server.as_str(), config.0, model, vectors, seal])
                    .map(drop)
            })
        })
        .await
    }

    async fn load_queries(&self, model: &str) -> StoreResult<Vec<RememberedQuery>> {
        let model = model.to_owned();
        self.run(move |inner| {
            inner.with("read the store", |connection| {
                load_queries(connection, &inner.sealer, &model)
            })
        })
        .await
    }

    async fn remember(&self, model: &str, query: RememberedQuery) -> StoreResult<()> {
        let model = model.to_owned();
        self.run(move |inner| {
            inner.change("write to the store", |connection| {
                remember(connection, &inner.sealer, &model, &query)
            })
        })
        .await
    }

    async fn clear_queries(&self) -> StoreResult<usize> {
        self.run(|inner| {
            inner.change("write to the store", |connection| {
                connection.execute("DELETE FROM memory", [])
            })
        })
        .await
    }
}

fn load_queries(
    connection: &Connection,
    sealer: &Sealer,
    model: &str,
) -> rusqlite::Result<Vec<RememberedQuery>> {
    let sql = "SELECT server, tool, fingerprint, vector, at, seal FROM memory
               WHERE model = ?1 ORDER BY at DESC, id DESC LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let most = i64::try_from(MAX_REMEMBERED_QUERIES).unwrap_or(i64::MAX);
    let rows = statement.query_map(params![model, most], |row| {
        let server: String = row.get(0)?;
        let fingerprint: Vec<u8> = row.get(2)?;
        let query = (|| {
            Some(RememberedQuery {
                server: ServerName::parse(&server).ok()?,
                tool: row.get(1).ok()?,
                fingerprint: Fingerprint(fingerprint.try_into().ok()?),
                vector: row.get(3).ok()?,
                at: Timestamp(u64::try_from(row.get::<_, i64>(4).ok()?).ok()?),
            })
        })();
        Ok((query, row.get::<_, Vec<u8>>(5)?))
    })?;
    let mut found = Vec::new();
    for row in rows {
        if let (Some(query), seal) = row?
            && sealer.verify_parts(&query.server, parts(model, &query), &query.vector, &seal)
        {
            found.push(query);
        }
    }
    Ok(found)
}

/// Stores a query and deletes the surplus, in one transaction.
fn remember(
    connection: &Connection,
    sealer: &Sealer,
    model: &str,
    query: &RememberedQuery,
) -> rusqlite::Result<()> {
    let seal = sealer.seal_parts(&query.server, parts(model, query), &query.vector);
    let transaction = connection.unchecked_transaction()?;
    transaction.execute(
        "INSERT INTO memory (model, server, tool, fingerprint, vector, at, seal)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            model,
            query.server.as_str(),
            query.tool,
            query.fingerprint.0,
            query.vector,
            i64::try_from(query.at.0).unwrap_or(i64::MAX),
            seal,
        ],
    )?;
    transaction.execute(
        "DELETE FROM memory WHERE server = ?1 AND tool = ?2 AND id NOT IN (
             SELECT id FROM memory WHERE server = ?1 AND tool = ?2 ORDER BY id DESC LIMIT ?3)",
        params![
            query.server.as_str(),
            query.tool,
            i64::try_from(MAX_REMEMBERED_QUERIES_PER_TOOL).unwrap_or(i64::MAX),
        ],
    )?;
    transaction.execute(
        "DELETE FROM memory WHERE id NOT IN (SELECT id FROM memory ORDER BY id DESC LIMIT ?1)",
        [i64::try_from(MAX_REMEMBERED_QUERIES).unwrap_or(i64::MAX)],
    )?;
    transaction.commit()
}

fn parts<'a>(model: &'a str, query: &'a RememberedQuery) -> [&'a [u8]; 4] {
    [
        MEMORY,
        model.as_bytes(),
        query.tool.as_bytes(),
        &query.fingerprint.0,
    ]
}
