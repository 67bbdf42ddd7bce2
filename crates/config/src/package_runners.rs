//! Finds packages that a package runner would download without a fixed version.

use pegboard_model::{Template, TemplatePart, Transport};

/// Programs that download the package that they run.
const RUNNERS: &[&str] = &[
    "npx", "bunx", "pnpx", "pnpm", "yarn", "npm", "bun", "uvx", "pipx", "uv", "docker", "podman",
];

/// Flags of `docker run` that take the next word as their value.
const DOCKER_VALUE_FLAGS: &[&str] = &[
    "-e",
    "--env",
    "--env-file",
    "-v",
    "--volume",
    "--mount",
    "--name",
    "-p",
    "--publish",
    "--network",
    "--net",
    "-w",
    "--workdir",
    "-u",
    "--user",
    "--entrypoint",
    "--platform",
    "-m",
    "--memory",
    "--cpus",
    "-l",
    "--label",
    "-h",
    "--hostname",
    "--add-host",
    "--pull",
    "--restart",
    "--tmpfs",
    "--device",
    "--gpus",
    "--dns",
    "--cap-add",
    "--cap-drop",
    "--security-opt",
    "--ulimit",
    "--log-driver",
    "--pids-limit",
    "--shm-size",
];

/// Returns a program's name without its folder and without the Windows extension.
pub(crate) fn program_name(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    name.strip_suffix(".cmd")
        .or(name.strip_suffix(".exe"))
        .unwrap_or(name)
}

/// A package without a fixed version.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnpinnedPackage {
    /// The package as written.
    pub(crate) package: String,
    /// How to pin the version.
    pub(crate) help: &'static str,
}

/// Finds a package that is run without a fixed version.
pub(crate) fn unpinned_package(transport: &Transport) -> Option<UnpinnedPackage> {
    let Transport::Stdio { command, args, .. } = transport else {
        return None;
    };
    let program = known(command);
    let program = program_name(&program);
    if !RUNNERS.contains(&program) {
        return None;
    }
    let words: Vec<(String, &Template)> = args.iter().map(|arg| (known(arg), arg)).collect();
    let text: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
    let (skipped, ecosystem) = match (program, text.as_slice()) {
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
    let at = skipped + package_position(text.get(skipped..).unwrap_or_default(), ecosystem)?;
    let (package, written) = words.get(at)?;
    let package = package
        .split_once('=')
        .filter(|_| package.starts_with("--"))
        .map_or(package.as_str(), |(_, p)| p);
    (!ecosystem.is_pinned(package)).then(|| UnpinnedPackage {
        package: written.written().to_owned(),
        help: ecosystem.help(),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ecosystem {
    Npm,
    Python,
    Image,
}

fn known(template: &Template) -> String {
    let known = template.parts().iter().map(|part| match part {
        TemplatePart::Resolved(text) => text.reveal(),
        TemplatePart::StoredSecret { .. } => "",
    });
    known.collect()
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

impl Ecosystem {
    fn help(self) -> &'static str {
        match self {
            Self::Npm => "name the version, for example `npx -y some-server@1.2.3`",
            Self::Python => "name the version, for example `uvx some-server@1.2.3`",
            Self::Image => {
                "name a tag or digest, for example `docker run -i --rm some/image:1.2.3`"
            }
        }
    }

    fn is_pinned(self, package: &str) -> bool {
        if package.is_empty()
            || package.starts_with(['.', '/', '~'])
            || package.starts_with("file:")
        {
            // A local folder, or a name that contains a stored secret and is not known yet.
            return true;
        }
        let is_version = |version: &str| version.starts_with(|c: char| c.is_ascii_digit());
        let is_commit = |text: &str| text.len() >= 7 && text.bytes().all(|b| b.is_ascii_hexdigit());
        match self {
            Self::Npm => {
                let version = package
                    .get(1..)
                    .and_then(|rest| rest.rsplit_once('@'))
                    .map(|(_, version)| version);
                let commit = package.rsplit_once('#').map(|(_, commit)| commit);
                version.is_some_and(is_version) || commit.is_some_and(is_commit)
            }
            Self::Python => {
                let version = package
                    .split_once("==")
                    .or_else(|| package.rsplit_once('@'))
                    .map(|(_, v)| v.trim());
                version.is_some_and(|version| is_version(version) || is_commit(version))
            }
            Self::Image => {
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
    fn check(line: &str, unpinned: Option<&str>) {
        let mut words = line.split(' ').map(Template::literal);
        let command = words.next().unwrap();
        let transport = Transport::Stdio {
            command,
            args: words.collect(),
            env: Default::default(),
            cwd: None,
        };
        let found = unpinned_package(&transport);
        let package = found.as_ref().map(|found| found.package.as_str());
        assert_eq!(package, unpinned, "{line}");
        if let Some(found) = found {
            let example = found.help.split('`').nth(1).unwrap();
            let mut words = example.split(' ').map(Template::literal);
            let transport = Transport::Stdio {
                command: words.next().unwrap(),
                args: words.collect(),
                env: Default::default(),
                cwd: None,
            };
            assert_eq!(unpinned_package(&transport), None, "{example}");
            let runs_image = line.starts_with("docker");
            assert_eq!(
                example.starts_with("docker"),
                runs_image,
                "{line}: {example}"
            );
            let runs_python = line.starts_with("uv");
            assert_eq!(example.starts_with("uvx"), runs_python, "{line}: {example}");
        }
    }

    #[test]
    fn unpinned_packages_are_distinguished_from_pinned_ones() {
        check("npx -y server", Some("server"));
        check("npx -y server@latest", Some("server@latest"));
        check("npx -y @scope/server", Some("@scope/server"));
        check("npx -y @scope/server@1.2.3 --flag", None);
        check("/usr/bin/npx -p pkg@1.0.0 run-it", None);
        check("npx --package=pkg run-it", Some("--package=pkg"));
        check("pnpm dlx server", Some("server"));
        check("pnpm start", None);
        check("bunx server@2", None);
        check("uvx mcp-server-git", Some("mcp-server-git"));
        check("uvx mcp-server-git==0.6.2", None);
        check("uvx --from pkg@1.0 tool", None);
        check(
            "uvx --from git+https://host/repo tool",
            Some("git+https://host/repo"),
        );
        check("uv tool run pkg", Some("pkg"));
        check("docker run -i --rm -e TOKEN image", Some("image"));
        check(
            "docker run -i --rm -e TOKEN registry:5000/team/image:1.2",
            None,
        );
        check("docker run image:latest", Some("image:latest"));
        check("docker ps", None);
        check("npx ./local", None);
        check("npx", None);
        check("node server.js", None);
    }
}
