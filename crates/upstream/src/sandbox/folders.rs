//! Which paths a confined server may use.
//!
//! Landlock only knows what is allowed, and a rule for a folder covers everything below it. A folder that contains
//! something secret is therefore granted child by child, without the secret one. What is created in such a folder later
//! is not granted until the server is started again.

use std::path::{Path, PathBuf};

use pegboard_model::{Sandbox, SandboxMode, package_runner};

/// Secrets in the home folder, which no server reads unless its `sandbox` names them.
#[rustfmt::skip]
const SECRETS: &[&str] = &[
    // Keys and logins.
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".oci", ".config/gcloud", ".config/gh", ".config/hub",
    ".config/rclone", ".config/op", ".netrc", ".git-credentials", ".config/git/credentials", ".npmrc", ".pypirc",
    ".pgpass", ".my.cnf", ".vault-token", ".terraform.d", ".cargo/credentials.toml", ".cargo/credentials",
    ".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".config/1Password", ".config/Bitwarden",
    ".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json",
    // What was typed.
    ".bash_history", ".zsh_history", ".local/share/fish", ".python_history", ".node_repl_history", ".psql_history",
    ".mysql_history",
    // Browser profiles and mail.
    ".mozilla", ".config/mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
    ".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".config/Code/User/globalStorage", ".var/app", "snap",
];

/// What every program needs: the system's programs, libraries and settings.
#[rustfmt::skip]
const SYSTEM: &[&str] = &[
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/nix/store", "/gnu/store", "/proc",
    "/sys/devices/system", "/sys/fs/cgroup", "/run/systemd/resolve", "/var/lib/ca-certificates",
];

/// Devices without content of their own.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Folders for temporary files, in mode `default`.
const TEMPORARY: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// Folders in the home folder that package runners write, by runner.
const CACHES: &[(&str, &[&str])] = &[
    ("npx", &[".npm"]),
    ("npm", &[".npm"]),
    (
        "pnpm",
        &[".local/share/pnpm", ".cache/pnpm", ".local/state/pnpm"],
    ),
    (
        "pnpx",
        &[".local/share/pnpm", ".cache/pnpm", ".local/state/pnpm"],
    ),
    ("yarn", &[".yarn", ".cache/yarn"]),
    ("bun", &[".bun"]),
    ("bunx", &[".bun"]),
    ("deno", &[".cache/deno", ".deno"]),
    ("uv", &[".cache/uv", ".local/share/uv"]),
    ("uvx", &[".cache/uv", ".local/share/uv"]),
    (
        "pipx",
        &[
            ".local/share/pipx",
            ".cache/pipx",
            ".local/state/pipx",
            ".cache/pip",
        ],
    ),
    ("cargo", &[".cargo/registry", ".cargo/git"]),
    ("go", &["go/pkg", ".cache/go-build"]),
];

/// Maximum number of children of a folder that are granted one by one.
const CHILDREN: usize = 4096;

/// What a server may do with a path and everything below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathAccess {
    /// See the names.
    List,
    /// Read and execute.
    Read,
    /// Read, execute and change.
    Write,
}

/// A path that a server may use. The path exists and contains no link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) path: PathBuf,
    pub(super) access: PathAccess,
}

/// The places of one server.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// The user's home folder, whatever the server's own `HOME` is. Caches are in the first one.
    pub(super) homes: Vec<PathBuf>,
    pub(super) runtime_dir: Option<PathBuf>,
    /// Pegboard's own folders, which are never granted.
    pub(super) protected: Vec<PathBuf>,
    pub(super) program: PathBuf,
    pub(super) cwd: Option<PathBuf>,
    /// The server's private folder.
    pub(super) own_folders: Vec<PathBuf>,
}

impl Places {
    /// Returns everything that a server may use.
    pub(super) fn grants(&self, sandbox: &Sandbox, program: &str) -> Vec<Grant> {
        let homes: Vec<PathBuf> = self.homes.iter().map(|home| canonical(home)).collect();
        let home = homes.first().map(PathBuf::as_path);
        let protected: Vec<PathBuf> = self.protected.iter().map(|path| canonical(path)).collect();
        let mut excluded = protected.clone();
        excluded.extend(self.runtime_dir.as_deref().map(canonical));
        for home in &homes {
            excluded.extend(SECRETS.iter().map(|name| canonical(&home.join(name))));
        }
        let mut grants = Grants {
            list: Vec::new(),
            excluded: &excluded,
        };
        for device in DEVICES {
            grants.exactly(Path::new(device), PathAccess::Write);
        }
        if sandbox.mode == SandboxMode::Strict {
            for path in SYSTEM {
                grants.tree(Path::new(path), PathAccess::Read);
            }
            self.grant_program(home, &mut grants);
        } else {
            grants.exactly(Path::new("/"), PathAccess::List);
            grants.tree(Path::new("/"), PathAccess::Read);
            for path in TEMPORARY {
                grants.tree(Path::new(path), PathAccess::Write);
            }
            for cache in home.into_iter().flat_map(|home| caches(home, program)) {
                // A runner creates its cache at its first start, which it could not do in the home folder.
                let _ = std::fs::create_dir_all(&cache);
                grants.tree(&cache, PathAccess::Write);
            }
            let cwd = self.cwd.as_deref().filter(|cwd| is_within(cwd, sandbox));
            if let Some(cwd) = cwd {
                grants.tree(cwd, PathAccess::Write);
            }
        }
        for own in &self.own_folders {
            grants.exactly(own, PathAccess::Write);
        }
        let named = [
            (&sandbox.read, PathAccess::Read),
            (&sandbox.write, PathAccess::Write),
        ];
        for (paths, access) in named {
            for path in paths.iter().filter(|path| is_within(path, sandbox)) {
                // What the user names is not secret for this server; Pegboard's own files always are.
                let path = canonical(path);
                let is_secret =
                    |other: &&PathBuf| path.starts_with(other) && !protected.contains(other);
                let excluded: Vec<PathBuf> = match excluded.iter().any(|other| is_secret(&other)) {
                    true => protected.clone(),
                    false => excluded.clone(),
                };
                let mut named = Grants {
                    list: Vec::new(),
                    excluded: &excluded,
                };
                named.tree(&path, access);
                grants.list.append(&mut named.list);
            }
        }
        grants.list
    }

    /// Grants the program and its installation: the folder around the `bin` that contains it, as in a version manager
    /// or a virtual environment.
    fn grant_program(&self, home: Option<&Path>, grants: &mut Grants<'_>) {
        let mut files = vec![self.program.clone()];
        // A link may pass through several installations: a virtual environment, then the interpreter.
        files.push(canonical(&self.program));
        for file in files {
            grants.tree(&file, PathAccess::Read);
            let Some(bin) = file.parent() else { continue };
            let is_bin = bin
                .file_name()
                .is_some_and(|name| name == "bin" || name == ".bin");
            let Some(prefix) = bin.parent().filter(|_| is_bin) else {
                continue;
            };
            let is_home = home.is_some_and(|home| home.starts_with(prefix));
            let is_local = prefix.file_name().is_some_and(|name| name == ".local");
            if !is_home && !is_local && prefix.parent().is_some() {
                grants.tree(prefix, PathAccess::Read);
            }
        }
    }
}

struct Grants<'a> {
    list: Vec<Grant>,
    excluded: &'a [PathBuf],
}

impl Grants<'_> {
    /// Grants a path, even inside an excluded one.
    fn exactly(&mut self, path: &Path, access: PathAccess) {
        if let Ok(path) = path.canonicalize() {
            self.list.push(Grant { path, access });
        }
    }

    /// Grants everything below a path that is not excluded.
    fn tree(&mut self, path: &Path, access: PathAccess) {
        let Ok(path) = path.canonicalize() else {
            return;
        };
        if self.excluded.iter().any(|other| path.starts_with(other)) {
            return;
        }
        if !self.excluded.iter().any(|other| other.starts_with(&path)) {
            self.list.push(Grant { path, access });
            return;
        }
        let Ok(children) = std::fs::read_dir(&path) else {
            return;
        };
        for child in children.flatten().take(CHILDREN) {
            // What a link leads to is granted by its own path, or not at all.
            if child.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.tree(&child.path(), access);
            }
        }
    }
}

/// Returns the path without links. A path that does not exist is taken as written, below its nearest existing parent.
fn canonical(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => canonical(parent).join(name),
        _ => path.to_owned(),
    }
}

/// Whether a path may be granted: a project grants nothing outside of it, not even through a link.
fn is_within(path: &Path, sandbox: &Sandbox) -> bool {
    let within = sandbox.within.as_deref();
    within.is_none_or(|within| canonical(path).starts_with(canonical(within)))
}

fn caches(home: &Path, program: &str) -> Vec<PathBuf> {
    let runner = package_runner(program);
    let folders = CACHES.iter().find(|(name, _)| Some(*name) == runner);
    let folders = folders.map(|(_, folders)| *folders).unwrap_or_default();
    folders.iter().map(|folder| home.join(folder)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Machine {
        root: tempfile::TempDir,
    }

    impl Machine {
        fn new(files: &[&str]) -> Self {
            let root = tempfile::tempdir().unwrap();
            for file in files {
                let path = root.path().join(file);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, "").unwrap();
            }
            Self { root }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().canonicalize().unwrap().join(name)
        }

        fn places(&self) -> Places {
            Places {
                homes: vec![self.path("home")],
                protected: vec![self.path("home/.local/state/pegboard")],
                program: self.path("home/.nvm/v1/bin/node"),
                cwd: Some(self.path("home/code")),
                own_folders: vec![self.path("home/.local/state/pegboard/work/x")],
                ..Places::default()
            }
        }

        fn granted(
            &self,
            sandbox: &Sandbox,
            program: &str,
        ) -> impl Fn(&str) -> Option<PathAccess> + use<> {
            let grants = self.places().grants(sandbox, program);
            let root = self.path("");
            move |name: &str| {
                let path = root.join(name);
                let of = |access| {
                    let mut grants = grants.iter().filter(|grant| grant.access == access);
                    grants
                        .any(|grant| path.starts_with(&grant.path))
                        .then_some(access)
                };
                of(PathAccess::Write).or_else(|| of(PathAccess::Read))
            }
        }
    }

    const FILES: &[&str] = &[
        "home/.ssh/id",
        "home/.config/gh/hosts",
        "home/.config/other/x",
        "home/.local/state/pegboard/token",
        "home/.local/state/pegboard/work/x/f",
        "home/.nvm/v1/bin/node",
        "home/.nvm/v1/lib/x",
        "home/code/.git/config",
        "home/notes",
        "other/x",
    ];

    #[test]
    fn by_default_secrets_are_not_read_and_only_own_folders_are_written() {
        let machine = Machine::new(FILES);
        // Everything is below the system's temporary folder here, which is writable; so only reads are compared.
        let granted = machine.granted(&Sandbox::of_mode(SandboxMode::Default), "node");
        for name in [
            "home/.ssh/id",
            "home/.config/gh/hosts",
            "home/.local/state/pegboard/token",
        ] {
            assert_eq!(granted(name), None, "{name}");
        }
        for name in ["home/.config/other/x", "home/notes", "other/x"] {
            assert!(granted(name).is_some(), "{name}");
        }
        for name in [
            "home/code/.git/config",
            "home/.local/state/pegboard/work/x/f",
        ] {
            assert_eq!(granted(name), Some(PathAccess::Write), "{name}");
        }
    }

    #[test]
    fn strictly_only_what_is_named_and_the_program_are_read() {
        let machine = Machine::new(FILES);
        let sandbox = Sandbox {
            read: vec![
                machine.path("home/.ssh"),
                machine.path("home/.local/state/pegboard/token"),
            ],
            write: vec![machine.path("home/.config")],
            ..Sandbox::of_mode(SandboxMode::Strict)
        };
        let granted = machine.granted(&sandbox, "node");
        for (name, access) in [
            ("home/.ssh/id", Some(PathAccess::Read)),
            ("home/.config/other/x", Some(PathAccess::Write)),
            ("home/.config/gh/hosts", None),
            ("home/.local/state/pegboard/token", None),
            (
                "home/.local/state/pegboard/work/x/f",
                Some(PathAccess::Write),
            ),
            ("home/.nvm/v1/lib/x", Some(PathAccess::Read)),
            ("home/code/.git/config", None),
            ("home/notes", None),
        ] {
            assert_eq!(granted(name), access, "{name}");
        }
    }

    #[test]
    fn a_project_grants_nothing_outside_of_it_even_through_a_link() {
        let machine = Machine::new(FILES);
        std::os::unix::fs::symlink(machine.path("home/.ssh"), machine.path("home/code/link"))
            .unwrap();
        let sandbox = Sandbox {
            read: vec![machine.path("home/code/link"), machine.path("home/notes")],
            write: vec![machine.path("home/code")],
            within: Some(machine.path("home/code")),
            ..Sandbox::of_mode(SandboxMode::Strict)
        };
        let granted = machine.granted(&sandbox, "node");
        assert_eq!(granted("home/.ssh/id"), None);
        assert_eq!(granted("home/notes"), None);
        assert_eq!(granted("home/code/.git/config"), Some(PathAccess::Write));
    }

    #[test]
    fn only_the_caches_of_the_runner_are_written() {
        let home = Path::new("/home/me");
        assert_eq!(caches(home, "/usr/bin/npx"), [home.join(".npm")]);
        assert_eq!(
            caches(home, "uvx"),
            [home.join(".cache/uv"), home.join(".local/share/uv")]
        );
        assert!(caches(home, "node").is_empty());
    }
}
