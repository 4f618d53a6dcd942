//! `packline man`: manual pages, from the same table as the parser.

use clap_mangen::Man;

use crate::args::Args;
use crate::dispatch::{APPLETS, find};
use crate::table::command::{command_of, command_of_all, full_name};
use crate::table::options::{Applet, Manners, Operand};
use crate::ui::escape::Escape;
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
            let applet = find(name).ok_or_else(|| Failure::usage(format!("unknown command '{}'", name.escaped())))?;
            page_of(applet)
        }
        _ => command_of_all(APPLETS),
    };
    let mut page = Vec::new();
    Man::new(command).render(&mut page).map_err(Failure::printing)?;
    io.print(&String::from_utf8_lossy(&page))
}

/// Our own commands have pages called `packline-NAME`, drop-ins have theirs under their own name.
fn page_of(applet: &'static Applet) -> clap::Command {
    command_of(applet).display_name(full_name(applet).replace(' ', "-"))
}
