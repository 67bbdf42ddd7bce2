//! `pegboard man`: writes man pages for packages.

use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use pegboard_model::{Reason, ToolError};

use super::{CommandResult, Output};
use crate::args::Arguments;
use crate::failure::Failure;
use crate::format::count;

#[derive(Args)]
pub(crate) struct ManArgs {
    /// The directory to write to; it is created if needed
    pub(crate) directory: PathBuf,
}

pub(crate) fn run(args: &ManArgs, output: &Output) -> CommandResult {
    let folder = &args.directory;
    std::fs::create_dir_all(folder).map_err(|error| not_written(folder, &error))?;
    let mut root = Arguments::command().disable_help_subcommand(true);
    root.build();
    let mut written = 0;
    write_pages(&root, "pegboard", folder, &mut written)?;
    output.note(&format!(
        "wrote {} to {}",
        count(written, "page"),
        folder.display()
    ));
    Ok(())
}

/// Writes the page of a command and those of its visible subcommands.
fn write_pages(command: &Command, name: &str, folder: &Path, written: &mut usize) -> CommandResult {
    let page = command.clone().display_name(name.to_owned());
    let path = folder.join(format!("{name}.1"));
    let mut text = Vec::new();
    Man::new(page)
        .manual("Pegboard Manual")
        .source(format!("pegboard {}", env!("CARGO_PKG_VERSION")))
        .render(&mut text)
        .and_then(|()| std::fs::write(&path, completed(&text, command)))
        .map_err(|error| not_written(&path, &error))?;
    *written += 1;
    for subcommand in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        let name = format!("{name}-{}", subcommand.get_name());
        write_pages(subcommand, &name, folder, written)?;
    }
    Ok(())
}

/// Names the section that contains the text after the options, and writes out the empty date, without which the other
/// parts of the title would move to its place. A date would make builds differ.
fn completed(page: &[u8], command: &Command) -> String {
    let text = command.get_after_help().map(ToString::to_string);
    let title = match text.is_some_and(|text| text.starts_with("Example")) {
        true => ".SH EXAMPLES",
        false => ".SH NOTES",
    };
    let page = String::from_utf8_lossy(page).replacen(" 1  \"", " 1 \"\" \"", 1);
    page.replacen(".SH EXTRA", title, 1)
}

fn not_written(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot write {}: {error}", path.display());
    ToolError::new(Reason::ConfigIo, message)
        .with_remedy("Choose a directory that you can write to.")
        .into()
}
