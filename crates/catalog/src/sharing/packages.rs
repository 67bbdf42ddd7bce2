//! Packages that all clients of a user can share, because nothing in them depends on the client or the project.

use pegboard_model::{Template, package_runner};

const LOOKUP: &str = "looks things up and keeps nothing between calls";
const SERVICE: &str = "passes each call to a web service with the configured account";
const PURE: &str = "computes each result from its arguments alone";

/// Packages whose tools were examined, in the spelling of their registry, with underscores as hyphens.
const PACKAGES: &[(&str, &str)] = &[
    ("@antv/mcp-server-chart", PURE),
    ("@brave/brave-search-mcp-server", LOOKUP),
    ("@magicuidesign/mcp", LOOKUP),
    ("@modelcontextprotocol/server-brave-search", LOOKUP),
    ("@modelcontextprotocol/server-github", SERVICE),
    ("@modelcontextprotocol/server-gitlab", SERVICE),
    ("@modelcontextprotocol/server-google-maps", LOOKUP),
    ("@modelcontextprotocol/server-slack", SERVICE),
    ("@notionhq/notion-mcp-server", SERVICE),
    ("@upstash/context7-mcp", LOOKUP),
    ("airtable-mcp-server", SERVICE),
    ("awslabs.aws-documentation-mcp-server", LOOKUP),
    ("awslabs.aws-pricing-mcp-server", LOOKUP),
    ("duckduckgo-mcp-server", LOOKUP),
    ("exa-mcp-server", LOOKUP),
    ("flowbite-mcp", LOOKUP),
    ("mcp-server-calculator", PURE),
    ("mcp-server-fetch", LOOKUP),
    ("mcp-server-time", PURE),
    ("mcp-youtube-transcript", LOOKUP),
    ("tavily-mcp", LOOKUP),
    ("wikipedia-mcp", LOOKUP),
    ("yfinance-mcp", LOOKUP),
];

/// Returns why the package that a command runs can be shared by all clients of a user; `None` if it is not in the
/// table.
pub(super) fn known_package(command: &Template, args: &[Template]) -> Option<&'static str> {
    let program = command.written();
    let runs_module = args.first().is_some_and(|arg| arg.written() == "-m");
    let mut words = args.iter().map(Template::written);
    let package = if package_runner(program).is_some() || runs_module {
        // `uv tool run`, `npm exec` and flags come before the package.
        let is_verb = |word: &str| matches!(word, "exec" | "dlx" | "x" | "tool" | "run");
        words.find(|word| !word.starts_with('-') && !is_verb(word))?
    } else {
        program.rsplit('/').next()?
    };
    let name = without_version(package)
        .to_ascii_lowercase()
        .replace('_', "-");
    let found = PACKAGES.iter().find(|(known, _)| *known == name)?;
    Some(found.1)
}

/// Removes `@1.2` and `==1.2` from the name of a package. A scope also starts with `@`.
fn without_version(package: &str) -> &str {
    let name = package.split("==").next().unwrap_or(package);
    match name.get(1..).and_then(|rest| rest.find('@')) {
        Some(at) => name.get(..=at).unwrap_or(name),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, is_known: bool) {
        let mut words = line.split(' ').map(Template::literal);
        let command = words.next().unwrap();
        let args: Vec<Template> = words.collect();
        assert_eq!(known_package(&command, &args).is_some(), is_known, "{line}");
    }

    #[test]
    fn r_share_03_a_known_package_is_recognised_by_how_it_is_run() {
        check("npx -y @upstash/context7-mcp@2.0.1", true);
        check("uvx mcp-server-time==1.2", true);
        check("uv tool run mcp-server-fetch", true);
        check("python3 -m mcp_server_time --local-timezone UTC", true);
        check("/home/a/.local/bin/wikipedia-mcp", true);
        check("npx -y other @upstash/context7-mcp", false);
        check("npx -y @upstash/context7-mcp-fork", false);
        check("sh -c mcp-server-time", false);
        check("python3 server.py mcp-server-time", false);
        check("npx", false);
    }

    #[test]
    fn the_table_is_sorted_and_normal() {
        assert!(PACKAGES.is_sorted_by_key(|(name, _)| *name));
        for (name, _) in PACKAGES {
            assert!(!name.contains('_') && *name == name.to_ascii_lowercase());
        }
    }
}
