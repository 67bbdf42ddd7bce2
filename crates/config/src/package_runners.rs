//! Finds packages that a package runner would download without a fixed version.

use pegboard_model::{Ecosystem, Template, Transport, find_package};

use crate::template_checks::known_parts;

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
    let words: Vec<String> = args.iter().map(known).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let package = find_package(&known(command), &words)?;
    let written = args.get(package.position)?;
    (!package.is_pinned()).then(|| UnpinnedPackage {
        package: written.written().to_owned(),
        help: help(package.ecosystem),
    })
}

fn known(template: &Template) -> String {
    known_parts(template).collect()
}

fn help(ecosystem: Ecosystem) -> &'static str {
    match ecosystem {
        Ecosystem::Npm => "name the version, for example `npx -y some-server@1.2.3`",
        Ecosystem::Python => "name the version, for example `uvx some-server@1.2.3`",
        Ecosystem::Image => {
            "name a tag or digest, for example `docker run -i --rm some/image:1.2.3`"
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
