//! `packline completions`: completions for shells, from the same arguments as the parser.

use std::ffi::OsString;

use clap_complete::{Shell, generate};

use crate::args::parser::parser_of;
use crate::args::value::one_of;
use crate::args::{Command, Invocation};
use crate::dispatch::{find, parser_of_all, unknown_command};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

const SHELLS: [(&str, Shell); 5] = [
    ("bash", Shell::Bash),
    ("elvish", Shell::Elvish),
    ("fish", Shell::Fish),
    ("powershell", Shell::PowerShell),
    ("zsh", Shell::Zsh),
];

/// Print completions for a shell
#[derive(Debug, clap::Args)]
pub struct Completions {
    /// The shell
    #[arg(value_parser = one_of(SHELLS))]
    shell: Shell,
    /// The command, if called by its own name [default: packline]
    name: Option<OsString>,
}

impl Command for Completions {
    const NAME: &'static str = "completions";

    const EXAMPLES: &'static [&'static str] = &["packline completions bash > /etc/bash_completion.d/packline"];

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let (mut parser, name) = match self.name.filter(|name| name != "packline") {
            Some(name) => {
                let command = find(&name).ok_or_else(|| unknown_command(&name))?;
                (parser_of(command), command.name)
            }
            None => (parser_of_all(), "packline"),
        };
        let mut text = Vec::new();
        generate(self.shell, &mut parser, name, &mut text);
        io.print(&String::from_utf8_lossy(&text))
    }
}
