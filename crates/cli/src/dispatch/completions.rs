//! `packline completions` prints completions for shells, derived from the parser's arguments.

use clap_complete::{Shell, generate};

use crate::args::parser::parser_of;
use crate::args::value::one_of;
use crate::args::{Command, Invocation};
use crate::dispatch::table::{command_name, find, parser_of_all, unknown_command};
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
    #[arg(value_parser = command_name(), hide_possible_values = true)]
    name: Option<String>,
}

impl Command for Completions {
    const NAME: &'static str = "completions";

    const LEAVES_NOTHING: bool = true;

    const EXAMPLES: &'static [&'static str] = &["packline completions bash > /etc/bash_completion.d/packline"];

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let (mut parser, name) = match self.name.filter(|name| name != "packline") {
            Some(name) => {
                let command = find(name.as_ref()).ok_or_else(|| unknown_command(name.as_ref()))?;
                (parser_of(command), command.name)
            }
            None => (parser_of_all(), "packline"),
        };
        let mut text = Vec::new();
        generate(self.shell, &mut parser, name, &mut text);
        let text = String::from_utf8_lossy(&text);
        io.print(&match self.shell {
            Shell::Bash => with_files(&text, &parser),
            Shell::Fish => text.into_owned() + &operand_words(&parser),
            Shell::Zsh => with_options(&text),
            _ => text.into_owned(),
        })
    }
}

/// Makes the bash script offer a command's options where an operand is typed. Otherwise bash offers files, which is right for most
/// commands. Commands, and operands with few words, stay.
fn with_files(script: &str, parser: &clap::Command) -> String {
    let mut command = parser;
    let mut after_options = false;
    let mut lines = String::new();
    for line in script.lines() {
        let section = line.trim_start().strip_prefix("packline__subcmd__").and_then(|rest| rest.strip_suffix(')'));
        command = section.and_then(|name| parser.find_subcommand(name)).unwrap_or(command);
        let takes_words = command.get_positionals().any(|operand| !operand.get_possible_values().is_empty());
        let takes_files = !command.has_subcommands() && !takes_words;
        let offers_options = after_options && line.contains("compgen -W \"${opts}\"");
        after_options = line.trim_start() == "esac";
        match line.split_once(" || ${COMP_CWORD} -eq ") {
            Some((before, _)) if takes_files => lines += &format!("{before} ]] ; then\n"),
            None if takes_files && offers_options => {}
            _ => lines += &format!("{line}\n"),
        }
    }
    lines
}

/// Makes the zsh script offer options after the first of several operands with one name, by removing one colon.
fn with_options(script: &str) -> String {
    script
        .lines()
        .map(|line| line.strip_prefix("'*::").map_or(format!("{line}\n"), |rest| format!("'*:{rest}\n")))
        .collect()
}

/// Returns what the fish script lacks: operands with few words.
fn operand_words(parser: &clap::Command) -> String {
    let mut lines = String::new();
    for command in parser.get_subcommands() {
        let words = command.get_positionals().flat_map(|operand| operand.get_possible_values());
        let words: Vec<String> = words.map(|word| word.get_name().to_string()).collect();
        if !words.is_empty() {
            let name = command.get_name();
            let words = words.join(" ");
            lines +=
                &format!("complete -c packline -n \"__fish_packline_using_subcommand {name}\" -f -a \"{words}\"\n");
        }
    }
    lines
}
