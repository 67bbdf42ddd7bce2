//! Finds the package that a package runner such as `npx` downloads and runs.

/// Programs that download the package that they run.
const RUNNERS: &[&str] = &[
    "npx", "bunx", "pnpx", "pnpm", "yarn", "npm", "bun", "uvx", "pipx", "uv", "docker", "podman",
];

/// Flags of `docker run` that take the next word as their value.
#[rustfmt::skip]
const DOCKER_VALUE_FLAGS: &[&str] = &[
    "-e", "--env", "--env-file", "-v", "--volume", "--mount", "--name", "-p", "--publish",
    "--network", "--net", "-w", "--workdir", "-u", "--user", "--entrypoint", "--platform", "-m",
    "--memory", "--cpus", "-l", "--label", "-h", "--hostname", "--add-host", "--pull", "--restart",
    "--tmpfs", "--device", "--gpus", "--dns", "--cap-add", "--cap-drop", "--security-opt",
    "--ulimit", "--log-driver", "--pids-limit", "--shm-size",
];

/// Where packages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecosystem {
    /// Packages for Node.js.
    Npm,
    /// Packages for Python.
    Python,
    /// Container images.
    Image,
}

/// The package in a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnerPackage {
    /// Where it comes from.
    pub ecosystem: Ecosystem,
    /// The program that runs it, without its folder.
    pub runner: &'static str,
    /// The position of the argument that names it.
    pub position: usize,
    /// The part of that argument before the package, such as `--package=`.
    pub flag: String,
    /// The package as written, with its version.
    pub written: String,
}

/// Returns a program's name without its folder and without the Windows extension.
pub fn program_name(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    name.strip_suffix(".cmd")
        .or(name.strip_suffix(".exe"))
        .unwrap_or(name)
}

/// Finds the package that a command line runs; `None` if it runs none.
pub fn find_package(program: &str, args: &[&str]) -> Option<RunnerPackage> {
    let program = program_name(program);
    let runner = RUNNERS.iter().find(|runner| **runner == program)?;
    let (skipped, ecosystem) = match (program, args) {
        ("npx" | "bunx" | "pnpx", _) => (0, Ecosystem::Npm),
        ("pnpm" | "yarn", ["dlx", ..]) | ("npm", ["exec" | "x", ..]) | ("bun", ["x", ..]) => {
            (1, Ecosystem::Npm)
        }
        ("uvx", _) => (0, Ecosystem::Python),
        ("pipx", ["run", ..]) => (1, Ecosystem::Python),
        ("uv", ["tool", "run", ..]) => (2, Ecosystem::Python),
        ("docker" | "podman", ["run", ..]) => (1, Ecosystem::Image),
        _ => return None,
    };
    let position = skipped + package_position(args.get(skipped..).unwrap_or_default(), ecosystem)?;
    let word = args.get(position)?;
    let (flag, written) = match word.split_once('=').filter(|_| word.starts_with("--")) {
        Some((flag, package)) => (format!("{flag}="), package),
        None => (String::new(), *word),
    };
    Some(RunnerPackage {
        ecosystem,
        runner,
        position,
        flag,
        written: written.to_owned(),
    })
}

/// Returns the position of the package: the value of a flag that names it, or the first word that is not a flag.
fn package_position(words: &[&str], ecosystem: Ecosystem) -> Option<usize> {
    let names_package: &[&str] = match ecosystem {
        Ecosystem::Npm => &["-p", "--package"],
        Ecosystem::Python => &["--from", "--spec"],
        Ecosystem::Image => &[],
    };
    let takes_value: &[&str] = match ecosystem {
        Ecosystem::Image => DOCKER_VALUE_FLAGS,
        Ecosystem::Python => &["--python", "-p", "--with", "--index-url", "--directory"],
        Ecosystem::Npm => &["--registry", "--cache", "--prefix"],
    };
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if names_package.contains(word) {
            return (at + 1 < words.len()).then_some(at + 1);
        }
        if names_package.iter().any(|flag| {
            word.strip_prefix(flag)
                .is_some_and(|rest| rest.starts_with('='))
        }) {
            return Some(at);
        }
        if !word.starts_with('-') {
            return Some(at);
        }
        at += if takes_value.contains(word) { 2 } else { 1 };
    }
    None
}

impl RunnerPackage {
    /// Returns whether the package is a file of this machine or comes from a repository, so that no registry has it.
    pub fn is_local(&self) -> bool {
        self.written.is_empty()
            || self.written.starts_with(['.', '/', '~'])
            || self.written.starts_with("file:")
            || self.written.contains("://")
            || self.written.contains('#')
    }

    /// Returns the name without a version.
    pub fn name(&self) -> &str {
        let written = self.written.as_str();
        match self.ecosystem {
            Ecosystem::Npm => match written.get(1..).and_then(|rest| rest.rfind('@')) {
                Some(at) => written.get(..=at).unwrap_or(written),
                None => written,
            },
            Ecosystem::Python => {
                let end = written.find(['=', '@', '<', '>', '~', '!', ' ']);
                written
                    .get(..end.unwrap_or(written.len()))
                    .unwrap_or(written)
            }
            Ecosystem::Image => {
                let name = written.split('@').next().unwrap_or(written);
                let folder_end = name.rfind('/').map_or(0, |at| at + 1);
                match name.get(folder_end..).and_then(|last| last.find(':')) {
                    Some(at) => name.get(..folder_end + at).unwrap_or(name),
                    None => name,
                }
            }
        }
    }

    /// Returns what follows the name: a version, a range, a tag or a digest.
    pub fn version(&self) -> Option<&str> {
        let rest = self.written.get(self.name().len()..)?;
        let rest = rest.trim_start_matches(['@', '=', ':', ' ']).trim();
        (!rest.is_empty()).then_some(rest)
    }

    /// Returns the argument that names the package with exactly this version or digest.
    pub fn pinned(&self, version: &str) -> String {
        let (flag, name) = (&self.flag, self.name());
        match self.ecosystem {
            Ecosystem::Npm | Ecosystem::Image => format!("{flag}{name}@{version}"),
            Ecosystem::Python => format!("{flag}{name}=={version}"),
        }
    }

    /// Returns whether the version cannot change: a full version, a commit or a digest.
    pub fn is_pinned(&self) -> bool {
        let package = self.written.as_str();
        if package.is_empty()
            || package.starts_with(['.', '/', '~'])
            || package.starts_with("file:")
        {
            // A local folder, or a name that contains a stored secret and is not known yet.
            return true;
        }
        let is_version = |version: &str| version.starts_with(|c: char| c.is_ascii_digit());
        let is_commit = |text: &str| text.len() >= 7 && text.bytes().all(|b| b.is_ascii_hexdigit());
        match self.ecosystem {
            Ecosystem::Npm => {
                let version = package
                    .get(1..)
                    .and_then(|rest| rest.rsplit_once('@'))
                    .map(|(_, version)| version);
                let commit = package.rsplit_once('#').map(|(_, commit)| commit);
                version.is_some_and(is_version) || commit.is_some_and(is_commit)
            }
            Ecosystem::Python => {
                let version = package
                    .split_once("==")
                    .or_else(|| package.rsplit_once('@'))
                    .map(|(_, v)| v.trim());
                version.is_some_and(|version| is_version(version) || is_commit(version))
            }
            Ecosystem::Image => {
                let name = package.rsplit('/').next().unwrap_or(package);
                let tag = name.split_once(':').map(|(_, tag)| tag);
                name.contains("@sha256:")
                    || tag.is_some_and(|tag| !tag.is_empty() && tag != "latest")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, name: &str, version: Option<&str>, pinned: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let found = find_package(words[0], &words[1..]).unwrap();
        assert_eq!((found.name(), found.version()), (name, version), "{line}");
        assert_eq!(found.pinned("9.9.9"), pinned, "{line}");
    }

    #[test]
    fn a_package_has_a_name_and_a_version() {
        check("npx -y server", "server", None, "server@9.9.9");
        check("npx -y @a/b@^1.2", "@a/b", Some("^1.2"), "@a/b@9.9.9");
        check("npx --package=p@1 run", "p", Some("1"), "--package=p@9.9.9");
        check("uvx s==1.0", "s", Some("1.0"), "s==9.9.9");
        check("uvx --from s@latest tool", "s", Some("latest"), "s==9.9.9");
        check("uvx s>=1", "s", Some(">=1"), "s==9.9.9");
        check(
            "docker run -i h:5000/a/b",
            "h:5000/a/b",
            None,
            "h:5000/a/b@9.9.9",
        );
        check("docker run a/b:1", "a/b", Some("1"), "a/b@9.9.9");
        check("docker run a@sha256:ff", "a", Some("sha256:ff"), "a@9.9.9");
        assert_eq!(find_package("node", &["server.js"]), None);
        assert_eq!(find_package("npx", &[]), None);
    }
}
