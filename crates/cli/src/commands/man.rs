//! `packline man`: manual pages, from the same arguments as the parser.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::args::parser::{Details, parser_of};
use crate::args::{Command, Compat, Entry, Invocation};
use crate::dispatch::{COMMANDS, find, parser_of_all, unknown_command};
use crate::ui::escape::Escape;
use crate::ui::exit_status;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Print a manual page (roff)
#[derive(Debug, clap::Args)]
pub struct ManPage {
    /// The command [default: packline]
    name: Option<OsString>,
    /// Write all pages to this directory instead, each to a file NAME.1
    #[arg(long, value_name = "DIR", conflicts_with = "name", value_hint = clap::ValueHint::DirPath)]
    all: Option<PathBuf>,
}

impl Command for ManPage {
    const NAME: &'static str = "man";

    fn details() -> String {
        "Example: packline man pack | man -l -".to_string()
    }

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        if let Some(directory) = self.all {
            write(&directory, None)?;
            return COMMANDS.iter().try_for_each(|command| write(&directory, Some(command)));
        }
        let command = match self.name.filter(|name| name != "packline") {
            Some(name) => Some(find(&name).ok_or_else(|| unknown_command(&name))?),
            None => None,
        };
        io.print(&String::from_utf8_lossy(&page(command)?))
    }
}

/// The page of a command, or of the program.
fn page(command: Option<&Entry>) -> Result<Vec<u8>, Failure> {
    let details = command.map(Details::of);
    let parser = command.map_or_else(parser_of_all, |command| {
        let parser = parser_of(command).display_name(name_of(command));
        let about = parser.get_about().map(ToString::to_string).unwrap_or_default();
        let text = details.as_ref().map_or(String::new(), |details| details.text.replace('\n', "\n\n"));
        parser.long_about(format!("{about}.\n\n{text}"))
    });
    let mut page = Vec::new();
    Man::new(parser).render(&mut page).map_err(Failure::printing)?;
    let examples = details.map_or(Vec::new(), |details| details.examples);
    examples_of(&examples).to_writer(&mut page).map_err(Failure::printing)?;
    statuses(command.map_or(Compat::Packline, |command| command.compat))
        .to_writer(&mut page)
        .map_err(Failure::printing)?;
    Ok(page)
}

fn write(directory: &Path, command: Option<&Entry>) -> Result<(), Failure> {
    let path = directory.join(format!("{}.1", command.map_or("packline".to_string(), name_of)));
    let failed = |cause| Failure::failed(format!("{}: cannot write: {cause}", path.escaped()));
    std::fs::write(&path, page(command)?).map_err(failed)
}

/// Our own commands have pages called `packline-NAME`, drop-ins have theirs under their own name.
fn name_of(command: &Entry) -> String {
    match command.compat.is_drop_in() {
        true => command.name.to_string(),
        false => format!("packline-{}", command.name),
    }
}

fn examples_of(lines: &[String]) -> Roff {
    let mut roff = Roff::new();
    if !lines.is_empty() {
        roff.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in lines {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    roff
}

fn statuses(compat: Compat) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for (status, meaning) in exit_status::rows(compat) {
        roff.control("TP", []).text([bold(status)]).text([roman(meaning)]);
    }
    roff
}
