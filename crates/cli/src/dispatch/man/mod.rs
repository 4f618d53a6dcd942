//! `packline man` prints manual pages, derived from the parser's arguments.

use std::path::{Path, PathBuf};

use crate::args::{Command, Entry, Invocation};
use crate::dispatch::table::{COMMANDS, command_name, find, unknown_command};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

mod page;

use page::page;

/// Print a manual page (roff)
#[derive(Debug, clap::Args)]
pub struct ManPage {
    /// The command [default: packline]
    #[arg(value_parser = command_name(), hide_possible_values = true)]
    name: Option<String>,
    /// Write all pages to this directory instead, each to a file NAME.1
    #[arg(long, value_name = "DIR", conflicts_with = "name", value_hint = clap::ValueHint::DirPath)]
    all: Option<PathBuf>,
}

impl Command for ManPage {
    const NAME: &'static str = "man";

    const EXAMPLES: &'static [&'static str] = &["packline man pack | man -l -"];

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        if let Some(directory) = self.all {
            write(&directory, None)?;
            return COMMANDS.iter().try_for_each(|command| write(&directory, Some(command)));
        }
        let command = match self.name.filter(|name| name != "packline") {
            Some(name) => Some(find(name.as_ref()).ok_or_else(|| unknown_command(name.as_ref()))?),
            None => None,
        };
        io.print(&page(command))
    }
}

fn write(directory: &Path, command: Option<&Entry>) -> Result<(), Failure> {
    let path = directory.join(format!("{}.1", command.map_or("packline".to_string(), name_of)));
    let failed = |cause| Failure::failed(format!("{}: cannot write: {cause}", path.escaped()));
    std::fs::write(&path, page(command)).map_err(failed)
}

/// Returns the name of a page: `packline-NAME` for packline's own commands, and the plain name for drop-ins.
fn name_of(command: &Entry) -> String {
    if command.compat.is_drop_in() { command.name.to_string() } else { format!("packline-{}", command.name) }
}
