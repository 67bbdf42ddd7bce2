//! The tables and their migrations.

use rusqlite::Connection;

/// Step `n` migrates version `n` to `n + 1`. Steps are only ever added.
pub(super) const MIGRATIONS: &[&str] = &[
    "CREATE TABLE server (
         id INTEGER PRIMARY KEY,
         name TEXT NOT NULL,
         config BLOB NOT NULL,
         attempted_at INTEGER,
         discovered_at INTEGER,
         tools INTEGER NOT NULL,
         body BLOB NOT NULL,
         seal BLOB NOT NULL,
         UNIQUE (name, config)
     ) STRICT",
    "CREATE TABLE vectors (
         server TEXT NOT NULL,
         config BLOB NOT NULL,
         model TEXT NOT NULL,
         body BLOB NOT NULL,
         seal BLOB NOT NULL,
         PRIMARY KEY (server, config)
     ) STRICT;
     CREATE TRIGGER vectors_leave AFTER DELETE ON server BEGIN
         DELETE FROM vectors WHERE server = OLD.name AND config = OLD.config;
     END;
     CREATE TABLE memory (
         id INTEGER PRIMARY KEY,
         model TEXT NOT NULL,
         server TEXT NOT NULL,
         tool TEXT NOT NULL,
         fingerprint BLOB NOT NULL,
         vector BLOB NOT NULL,
         at INTEGER NOT NULL,
         seal BLOB NOT NULL
     ) STRICT;
     CREATE INDEX memory_of_tool ON memory (server, tool);",
];

/// Higher version numbers are treated as damage, not as a newer Pegboard.
const VERSION_MAX: i64 = 9_999;

/// The meaning of a file's version number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Version {
    Current,
    Older,
    Newer(i64),
    /// Not written by Pegboard: a database gets its name only after it has a version.
    Invalid,
}

/// Compares the version with a list of migrations.
pub(super) fn version(connection: &Connection, migrations: &[&str]) -> rusqlite::Result<Version> {
    let number = number(connection)?;
    let current = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    Ok(match number {
        _ if number == current => Version::Current,
        1.. if number < current => Version::Older,
        1..=VERSION_MAX => Version::Newer(number),
        _ => Version::Invalid,
    })
}

/// Runs the missing steps in one transaction.
pub(super) fn migrate(connection: &mut Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let done = usize::try_from(number(&transaction)?).unwrap_or(0);
    for step in migrations.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(
        None,
        "user_version",
        i64::try_from(migrations.len()).unwrap_or(i64::MAX),
    )?;
    transaction.commit()
}

fn number(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_store_k04_older_files_are_migrated_step_by_step() {
        let mut connection = Connection::open_in_memory().unwrap();
        let steps = [
            "CREATE TABLE a (x)",
            "ALTER TABLE a ADD COLUMN y",
            "ALTER TABLE a ADD COLUMN z",
        ];
        assert_eq!(version(&connection, &steps).unwrap(), Version::Invalid);
        migrate(&mut connection, &steps[..1]).unwrap();
        assert_eq!(version(&connection, &steps[..1]).unwrap(), Version::Current);
        assert_eq!(version(&connection, &steps).unwrap(), Version::Older);
        migrate(&mut connection, &steps).unwrap();
        connection
            .execute("INSERT INTO a (x, y, z) VALUES (1, 2, 3)", [])
            .unwrap();
        assert_eq!(
            version(&connection, &steps[..2]).unwrap(),
            Version::Newer(3)
        );
    }

    #[test]
    fn a_step_that_fails_leaves_the_old_version() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &["CREATE TABLE a (x)"]).unwrap();
        let steps = ["CREATE TABLE a (x)", "CREATE TABLE b (x)", "nonsense"];
        migrate(&mut connection, &steps).unwrap_err();
        assert_eq!(version(&connection, &steps[..1]).unwrap(), Version::Current);
        assert!(
            connection.prepare("SELECT * FROM b").is_err(),
            "the second step was undone"
        );
    }

    #[test]
    fn an_absurd_version_is_damage_not_the_future() {
        let connection = Connection::open_in_memory().unwrap();
        for (number, expected) in [
            (1, Version::Current),
            (2, Version::Newer(2)),
            (9_999, Version::Newer(9_999)),
            (16_777_217, Version::Invalid),
            (-1, Version::Invalid),
            (0, Version::Invalid),
        ] {
            connection
                .pragma_update(None, "user_version", number)
                .unwrap();
            assert_eq!(
                version(&connection, &MIGRATIONS[..1]).unwrap(),
                expected,
                "{number}"
            );
        }
    }
}
