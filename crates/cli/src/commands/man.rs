//! `packline man`: manual pages, from the same arguments as the parser.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::args::parser::parser_of;
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

    const EXAMPLES: &'static [&'static str] = &["packline man pack | man -l -"];

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
    let (parser, examples, compat) = match command {
        Some(command) => {
            let parser = parser_of(command);
            let about = parser.get_about().map(ToString::to_string).unwrap_or_default();
            let description = format!("{about}.\n\n{}", (command.details)().replace('\n', "\n\n"));
            (parser.display_name(name_of(command)).long_about(description), command.examples, command.compat)
        }
        None => (parser_of_all(), [].as_slice(), Compat::Packline),
    };
    let mut page = Vec::new();
    let rendered = Man::new(parser).render(&mut page);
    let rendered = rendered.and_then(|()| examples_of(examples).to_writer(&mut page));
    rendered.and_then(|()| statuses(compat).to_writer(&mut page)).map_err(Failure::printing)?;
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

fn examples_of(lines: &[&str]) -> Roff {
    let mut roff = Roff::new();
    if !lines.is_empty() {
        roff.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in lines {
            roff.text([roman(*line)]);
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
