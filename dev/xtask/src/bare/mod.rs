//! README's commands on a bare machine: a minimal Debian with a C compiler and Rust, as root and as a user. Nothing else is installed there:
//! `PATH` has no `/usr/sbin`, there are no terminals (`/dev/pts` is not mounted), and nothing is downloaded.

mod chroot;
mod outcome;

use crate::{clock, environment, shell};
use chroot::{Account, Chroot};
use clap::Args;
use outcome::Outcome;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Options {
    /// Directory for the system, which is kept and used again [default: target/bare]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Only as this account [default: first as root, then as a user]
    #[arg(long = "as", value_name = "ACCOUNT")]
    account: Option<Account>,
    /// Make the system, but run nothing
    #[arg(long)]
    prepare: bool,
}

/// Runs all commands as each account, even if some fail. An error with the failed tests and commands.
pub fn run(options: &Options) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("only root can make a system and change into it".into());
    }
    let directory = options.directory.clone().unwrap_or_else(|| environment::target_directory().join("bare"));
    let chroot = Chroot::prepare(&directory)?;
    let commands = commands_of_readme()?;
    if options.prepare {
        shell::print(&format!("prepared: {}", directory.display()));
        return Ok(());
    }
    let accounts = options.account.map_or(vec![Account::Root, Account::User], |account| vec![account]);
    let mut failures = Vec::new();
    for account in accounts {
        chroot.give_to(account)?;
        for command in &commands {
            let start = clock::monotonic_seconds();
            let outcome = Outcome::of(command, &chroot.run(account, command)?);
            let seconds = clock::monotonic_seconds() - start;
            shell::print(&format!("{account}: {command}: {outcome}\n  {seconds:.0} s"));
            failures.extend(outcome.failures().map(|what| format!("{account}: {what}")));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// The commands that README tells a newcomer to run first.
fn commands_of_readme() -> Result<Vec<String>, String> {
    let path = shell::root().join("README.md");
    let text = std::fs::read_to_string(&path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    let commands = commands_below(&text, "## Build and test");
    if commands.len() == 2 { Ok(commands) } else { Err(format!("README.md has other commands: {commands:?}")) }
}

/// The indented lines of a section.
fn commands_below(text: &str, heading: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| *line != heading).skip(1);
    let section = lines.take_while(|line| !line.starts_with("## "));
    section.filter_map(|line| line.strip_prefix("    ")).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_those_of_the_readme() {
        let commands = commands_of_readme().unwrap();
        assert!(commands[0].starts_with("cargo build --release"), "{commands:?}");
        assert_eq!(commands[1], "cargo test --workspace --no-fail-fast");
    }

    #[test]
    fn commands_of_other_sections_are_not_taken() {
        let text = "# x\n\n    a\n\n## Here\n\ntext\n\n    b\n    c\n\n## There\n\n    d\n";
        assert_eq!(commands_below(text, "## Here"), ["b", "c"]);
    }
}
