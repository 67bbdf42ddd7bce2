//! The file of a client that `connect` writes to.

use std::path::{Path, PathBuf};

use pegboard_model::Reason;

use super::locations::Places;
use super::table::{Client, ClientFile, FileScope};
use super::text::Container;
use super::write::resolve_links;
use crate::problem::Problem;

/// A client's file with its row in the table.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) client: &'static Client,
    pub(crate) file: &'static ClientFile,
    pub(crate) container: Container,
    /// The path as the client knows it.
    pub(crate) path: PathBuf,
    /// The path without links.
    pub(crate) resolved: PathBuf,
}

impl Target {
    /// Chooses the file to write: the named one, else the first one that exists, else the first one.
    pub(crate) fn choose(
        places: &Places<'_>,
        client: &'static Client,
        named: Option<&Path>,
    ) -> Result<Self, Problem> {
        let no_target = || {
            let message = format!("{} has no file that Pegboard writes to", client.name);
            Problem::error(Reason::ConfigInvalid, message)
                .help("add Pegboard in the client's own settings")
        };
        let targets = || {
            let files = client.files.iter().filter(|file| file.is_target);
            files.flat_map(|file| places.files(file).into_iter().map(move |path| (file, path)))
        };
        if let Some(named) = named {
            let path = places.working_dir().join(named);
            let file = row_of(places, client, &path).ok_or_else(no_target)?;
            return Self::new(client, file, path).ok_or_else(no_target)?;
        }
        let existing = targets().find(|(_, path)| path.symlink_metadata().is_ok());
        let chosen = existing.or_else(|| targets().next());
        let (file, path) = chosen.ok_or_else(no_target)?;
        Self::new(client, file, path).ok_or_else(no_target)?
    }

    /// The target of a path that was written before.
    pub(crate) fn of_path(
        places: &Places<'_>,
        client: &'static Client,
        path: &Path,
    ) -> Option<Result<Self, Problem>> {
        let file = row_of(places, client, path)?;
        Self::new(client, file, path.to_owned())
    }

    fn new(
        client: &'static Client,
        file: &'static ClientFile,
        path: PathBuf,
    ) -> Option<Result<Self, Problem>> {
        let container = Container::new(file.root)?;
        Some(resolve_links(&path).map(|resolved| Self {
            client,
            file,
            container,
            path,
            resolved,
        }))
    }
}

/// The row that describes a path. Another path than those of the table has the form of the client's usual file.
fn row_of(
    places: &Places<'_>,
    client: &'static Client,
    path: &Path,
) -> Option<&'static ClientFile> {
    let is_this = |file: &&ClientFile| {
        let has_container = Container::new(file.root).is_some();
        let paths = places.files(file);
        let same = |found: &PathBuf| {
            found == path || resolve_links(found).is_ok_and(|found| found == path)
        };
        has_container && paths.iter().any(same)
    };
    client.files.iter().find(is_this).or(client.target())
}

/// Whether a client seems to be installed: it has a file for the user, or the folder for it.
pub(crate) fn is_installed(places: &Places<'_>, client: &Client) -> bool {
    let files = client
        .files
        .iter()
        .filter(|file| file.scope == FileScope::User);
    let mut paths = files.flat_map(|file| places.files(file));
    paths.any(|path| {
        let folder = path
            .parent()
            .filter(|folder| !places.is_shared_folder(folder));
        path.symlink_metadata().is_ok() || folder.is_some_and(Path::is_dir)
    })
}
