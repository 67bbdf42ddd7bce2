//! The help of `pegboard`: commands in groups, everyday commands first.

use std::fmt::Write;

use clap::builder::Styles;
use clap::{Command, CommandFactory};
use unicode_width::UnicodeWidthStr;

use super::args::Arguments;
use super::output::terminal_width;

/// The widest help, as in the help of single commands.
const MAX_WIDTH: usize = 100;
/// The columns before the description of a command.
const INDENT: usize = 18;

/// A heading and its commands in the order shown.
struct Group {
    title: &'static str,
    commands: &'static [&'static str],
}

/// Every visible command is in exactly one group; a test checks it.
const GROUPS: &[Group] = &[
    Group {
        title: "Start here",
        commands: &[
            "setup",
            "up",
            "add",
            "import",
            "connect",
            "disconnect",
            "stdio",
            "dashboard",
            "status",
            "doctor",
        ],
    },
    Group {
        title: "Tools",
        commands: &["search", "tools", "describe", "call", "ask"],
    },
    Group {
        title: "Servers",
        commands: &[
            "list", "show", "login", "logout", "refresh", "logs", "edit", "enable", "disable",
            "remove", "clear",
        ],
    },
    Group {
        title: "Background process",
        commands: &["ps", "stop", "restart", "service"],
    },
    Group {
        title: "Safety",
        commands: &[
            "trust",
            "policy",
            "approvals",
            "review",
            "sandbox",
            "pin",
            "secret",
            "activity",
        ],
    },
    Group {
        title: "For models and scripts",
        commands: &["context", "export", "tokens", "token"],
    },
    Group {
        title: "More",
        commands: &["serve", "config", "example-server", "completions"],
    },
];

/// Returns the definition of the whole command line, with grouped help.
pub(crate) fn command() -> Command {
    let command = Arguments::command();
    let width = usize::from(terminal_width()).min(MAX_WIDTH);
    let groups = groups(&command, width);
    let header = *command.get_styles().get_header();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\
         {header}Options:{header:#}\n{{options}}\n\n\
         Run `pegboard help COMMAND` for the options and examples of a command.{{after-help}}"
    );
    command.help_template(template)
}

fn groups(command: &Command, width: usize) -> String {
    let styles: &Styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::new();
    for group in GROUPS {
        let found = group.commands.iter();
        let found = found.filter_map(|name| command.find_subcommand(name));
        let _ = writeln!(text, "{header}{}:{header:#}", group.title);
        for command in found {
            let aliases = command.get_visible_aliases();
            let names: Vec<&str> = std::iter::once(command.get_name()).chain(aliases).collect();
            let names = names.join(", ");
            let about = command.get_about().map(ToString::to_string);
            let about = wrapped(&about.unwrap_or_default(), width.saturating_sub(INDENT));
            let padding = " ".repeat(INDENT.saturating_sub(2 + names.len()).max(1));
            let _ = writeln!(text, "  {literal}{names}{literal:#}{padding}{about}");
        }
        text.push('\n');
    }
    text
}

/// Breaks a text into lines that fit, indented like the first one.
fn wrapped(text: &str, width: usize) -> String {
    let (mut lines, mut used) = (String::new(), 0);
    for word in text.split_whitespace() {
        if used > 0 && used + 1 + word.width() > width {
            lines.push('\n');
            lines.push_str(&" ".repeat(INDENT));
            used = 0;
        } else if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += word.width();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_dist_03_every_visible_command_is_in_exactly_one_group() {
        let command = Arguments::command();
        for command in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            let name = command.get_name();
            let groups = GROUPS.iter().filter(|group| group.commands.contains(&name));
            let titles: Vec<_> = groups.map(|group| group.title).collect();
            assert_eq!(titles.len(), 1, "`{name}` is in the groups {titles:?}");
        }
        for name in GROUPS.iter().flat_map(|group| group.commands) {
            let found = command.find_subcommand(name);
            assert!(
                found.is_some_and(|c| !c.is_hide_set()),
                "`{name}` is in a group, but is not a visible command"
            );
        }
    }

    #[test]
    fn r_dist_03_the_help_fits_the_width_and_shows_aliases() {
        let text = groups(&Arguments::command(), 60);
        let plain = anstyle_free(&text);
        assert!(plain.lines().all(|line| line.width() <= 60), "{plain}");
        assert!(
            plain.contains("  list, ls        List the configured"),
            "{plain}"
        );
        assert!(
            plain.contains("  remove, rm      Remove a server"),
            "{plain}"
        );
    }

    fn anstyle_free(text: &str) -> String {
        let mut plain = String::new();
        let mut in_code = false;
        for character in text.chars() {
            match character {
                '\u{1b}' => in_code = true,
                'm' if in_code => in_code = false,
                _ if in_code => {}
                _ => plain.push(character),
            }
        }
        plain
    }
}
