//! `packline man`: manual pages, from the same table as the parser.

use clap_mangen::Man;

use crate::args::Args;
use crate::dispatch::{Listed, find, parser_of_all, unknown_command};
use crate::table::options::{Applet, Manners, Operand};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The command's table.
pub const APPLET: Applet = Applet {
    name: "man",
    about: "Print a manual page (roff)",
    details: || "Example: packline man pack | man -l -".to_string(),
    options: &[],
    operands: &[Operand { name: "NAME", help: "The command [default: packline]", required: false, of: &[] }],
    manners: Manners::Packline,
    run,
};

fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    let command = match args.operand("NAME") {
        Some(name) if name != "packline" => {
            let applet = find(name).ok_or_else(|| unknown_command(name))?;
            page_of(applet)
        }
        _ => parser_of_all(),
    };
    let mut page = Vec::new();
    Man::new(command).render(&mut page).map_err(Failure::printing)?;
    io.print(&String::from_utf8_lossy(&page))
}

/// Our own commands have pages called `packline-NAME`, drop-ins have theirs under their own name.
fn page_of(command: &'static Listed) -> clap::Command {
    let name = match command.compat().is_drop_in() {
        true => command.name().to_string(),
        false => format!("packline-{}", command.name()),
    };
    command.parser().display_name(name)
}
