//! `packline links` creates symbolic links with the names of the programs that packline replaces.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::args::{Command, Invocation};
use crate::dispatch::table::COMMANDS;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Link the names of the drop-ins to this program
#[derive(Debug, clap::Args)]
pub struct Links {
    /// The directory for the links
    #[arg(value_hint = clap::ValueHint::DirPath)]
    directory: PathBuf,
    /// Set what the links point to [default: this program]
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    target: Option<PathBuf>,
    /// Replace existing links and files
    #[arg(short, long)]
    force: bool,
    /// Do not print the links
    #[arg(short, long)]
    quiet: bool,
}

impl Command for Links {
    const NAME: &'static str = "links";

    const EXAMPLES: &'static [&'static str] = &["packline links ~/.local/bin"];

    fn details() -> String {
        format!(
            "The names are {}. 'packline help drop-ins' describes the programs.\n\
             If a name exists and is not a link to the same target, the command fails and changes nothing; --force replaces it.",
            names().collect::<Vec<_>>().join(", ")
        )
    }

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let no_program = || Failure::failed("the path of this program is not known; use --target");
        let target = self.target.clone().or_else(|| io.host.program.clone()).ok_or_else(no_program)?;
        if !self.force {
            self.refuse_others(&target)?;
        }
        for name in names() {
            let link = self.directory.join(name);
            let failed = |cause| Failure::failed(format!("{}: cannot create the link: {cause}", link.escaped()));
            place(&target, &link).map_err(failed)?;
            if !self.quiet {
                io.print(&format!("{} -> {}\n", link.escaped(), target.escaped()))?;
            }
        }
        Ok(())
    }
}

impl Links {
    /// Rejects existing names before the first link is created, so that either all links are created or none.
    fn refuse_others(&self, target: &Path) -> Result<(), Failure> {
        for link in names().map(|name| self.directory.join(name)) {
            match link.read_link() {
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Ok(existing) if existing == target => {}
                _ => return Err(Failure::failed(format!("{}: already exists; --force replaces it", link.escaped()))),
            }
        }
        Ok(())
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().filter(|command| command.compat.is_drop_in()).map(|command| command.name)
}

/// Creates a link under a temporary name and renames it, so that the name always leads to a program.
fn place(target: &Path, link: &Path) -> io::Result<()> {
    let beside = temporary_name(link);
    symlink(target, &beside)?;
    std::fs::rename(&beside, link).inspect_err(|_| {
        let _ = std::fs::remove_file(&beside);
    })
}

fn temporary_name(link: &Path) -> PathBuf {
    let mut name = link.as_os_str().to_owned();
    name.push(".packline-link");
    PathBuf::from(name)
}
