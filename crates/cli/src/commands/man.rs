//! `packline man`: manual pages, from the same arguments as the parser.

use std::ffi::OsString;

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::args::parser::parser_of;
use crate::args::{Command, Compat, Entry, Invocation};
use crate::dispatch::{find, parser_of_all, unknown_command};
use crate::ui::exit_status;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Print a manual page (roff)
#[derive(Debug, clap::Args)]
pub struct ManPage {
    /// The command [default: packline]
    name: Option<OsString>,
}

impl Command for ManPage {
    const NAME: &'static str = "man";

    fn details() -> String {
        "Example: packline man pack | man -l -".to_string()
    }

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let (parser, compat) = match self.name.filter(|name| name != "packline") {
            Some(name) => {
                let command = find(&name).ok_or_else(|| unknown_command(&name))?;
                (page_of(command), command.compat)
            }
            None => (parser_of_all(), Compat::Packline),
        };
        let mut page = Vec::new();
        Man::new(parser).render(&mut page).map_err(Failure::printing)?;
        statuses(compat).to_writer(&mut page).map_err(Failure::printing)?;
        io.print(&String::from_utf8_lossy(&page))
    }
}

/// Our own commands have pages called `packline-NAME`, drop-ins have theirs under their own name.
fn page_of(command: &Entry) -> clap::Command {
    let name = match command.compat.is_drop_in() {
        true => command.name.to_string(),
        false => format!("packline-{}", command.name),
    };
    parser_of(command).display_name(name).after_help((command.details)())
}

fn statuses(compat: Compat) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for (status, meaning) in exit_status::rows(compat) {
        roff.control("TP", []).text([bold(status)]).text([roman(meaning)]);
    }
    roff
}
