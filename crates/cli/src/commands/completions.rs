//! `packline completions`: completions for shells, from the same table as the parser.

use clap_complete::{Shell, generate};

use crate::args::Args;
use crate::dispatch::{find, parser_of_all, unknown_command};
use crate::table::options::{Applet, Manners, Operand};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

const SHELLS: &[&str] = &["bash", "elvish", "fish", "powershell", "zsh"];

/// The command's table.
pub const APPLET: Applet = Applet {
    name: "completions",
    about: "Print completions for a shell",
    details: String::new,
    options: &[],
    operands: &[
        Operand { name: "SHELL", help: "bash, elvish, fish, powershell or zsh", required: true, of: SHELLS },
        Operand {
            name: "NAME",
            help: "The command, if called by its own name [default: packline]",
            required: false,
            of: &[],
        },
    ],
    manners: Manners::Packline,
    run,
};

fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    let shell = args.required("SHELL")?;
    let shell = shell.to_str().and_then(|name| name.parse::<Shell>().ok());
    let shell = shell.ok_or_else(|| Failure::usage("unknown shell"))?;
    let (mut command, name) = match args.operand("NAME") {
        Some(name) if name != "packline" => {
            let applet = find(name).ok_or_else(|| unknown_command(name))?;
            (applet.parser(), applet.name())
        }
        _ => (parser_of_all(), "packline"),
    };
    let mut text = Vec::new();
    generate(shell, &mut command, name, &mut text);
    io.print(&String::from_utf8_lossy(&text))
}
