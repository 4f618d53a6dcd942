//! The list of commands, and the search for a command by name.

use std::ffi::OsStr;

use clap::Command;

use super::{completions, links, man};
use crate::args::Entry;
use crate::args::parser::{parser_of, with_general_options};
use crate::args::value::{TextOrHelp, text_or_help};
#[cfg(feature = "mount")]
use crate::commands::mount;
use crate::commands::{
    bench, cache, cat, compress, delta, diff, du, info, list, pack, recovery, unpack, verify, verity,
};
use crate::compat::erofs_utils::dump::DumpErofs;
use crate::compat::erofs_utils::fsck::FsckErofs;
use crate::compat::erofs_utils::mkfs::MkfsErofs;
use crate::compat::lrzip;
use crate::compat::squashfs_tools::mksquashfs;
use crate::compat::squashfs_tools::sqfscat::Sqfscat;
use crate::compat::squashfs_tools::sqfstar::Sqfstar;
use crate::compat::squashfs_tools::unsquashfs::Unsquashfs;
#[cfg(feature = "mount")]
use crate::compat::squashfuse;
use crate::compat::tools_ng::{gensquashfs, rdsquashfs, sqfs2tar, sqfsdiff, tar2sqfs};
use crate::ui::failure::Failure;
use crate::ui::usage;

/// Every command, in the order of the help.
pub static COMMANDS: &[Entry] = &[
    Entry::of::<pack::Pack>(),
    Entry::of::<unpack::Unpack>(),
    Entry::of::<list::List>(),
    Entry::of::<cat::Cat>(),
    Entry::of::<info::Info>(),
    Entry::of::<du::Du>(),
    Entry::of::<diff::Diff>(),
    Entry::of::<verify::Verify>(),
    Entry::of::<compress::Compress>(),
    Entry::of::<compress::Decompress>(),
    Entry::of::<delta::Delta>(),
    Entry::of::<delta::Patch>(),
    Entry::of::<recovery::Protect>(),
    Entry::of::<recovery::Repair>(),
    Entry::of::<verity::Verity>(),
    Entry::of::<mksquashfs::MkSquashFs>(),
    Entry::of::<Sqfstar>(),
    Entry::of::<Unsquashfs>(),
    Entry::of::<Sqfscat>(),
    Entry::of::<tar2sqfs::Tar2Sqfs>(),
    Entry::of::<gensquashfs::GenSquashFs>(),
    Entry::of::<sqfs2tar::Sqfs2Tar>(),
    Entry::of::<rdsquashfs::RdSquashFs>(),
    Entry::of::<sqfsdiff::SqfsDiff>(),
    Entry::of::<MkfsErofs>(),
    Entry::of::<FsckErofs>(),
    Entry::of::<DumpErofs>(),
    Entry::of::<lrzip::Lrzip>(),
    Entry::of::<lrzip::Lrunzip>(),
    Entry::of::<lrzip::Lrzcat>(),
    Entry::of::<lrzip::tar::Lrztar>(),
    Entry::of::<lrzip::tar::Lrzuntar>(),
    #[cfg(feature = "mount")]
    Entry::of::<squashfuse::Squashfuse>(),
    #[cfg(feature = "mount")]
    Entry::of::<squashfuse::SquashfuseLl>(),
    #[cfg(feature = "mount")]
    Entry::of::<mount::Mount>(),
    #[cfg(feature = "mount")]
    Entry::of::<mount::Umount>(),
    Entry::of::<bench::Bench>(),
    Entry::of::<cache::Cache>(),
    Entry::of::<links::Links>(),
    Entry::of::<completions::Completions>(),
    Entry::of::<man::ManPage>(),
];

/// Commands of packline's own that have one purpose.
pub struct Group {
    pub heading: &'static str,
    pub commands: &'static [&'static str],
}

/// All of packline's own commands, in the order of the help.
pub static GROUPS: [Group; 4] = [
    Group {
        heading: "Images",
        commands: &["pack", "unpack", "list", "cat", "info", "du", "diff", "verify", "mount", "umount"],
    },
    Group { heading: "Files and streams", commands: &["compress", "decompress"] },
    Group { heading: "Updates and protection", commands: &["delta", "patch", "protect", "repair", "verity"] },
    Group { heading: "Tools", commands: &["bench", "cache", "links", "completions", "man"] },
];

pub fn find(name: &OsStr) -> Option<&'static Entry> {
    let is = |known: &str| OsStr::new(known) == name;
    COMMANDS.iter().find(|command| is(command.name) || command.aliases.iter().any(|alias| is(alias)))
}

/// Returns the parser of the complete program, with every command as a subcommand.
pub fn parser_of_all() -> Command {
    let command = Command::new("packline")
        .about("Pack directories, tars and streams into compressed images")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands(COMMANDS.iter().map(|entry| parser_of(entry).bin_name(format!("packline {}", entry.name))));
    with_general_options(command)
}

/// Parses the name of a command; completions know all names.
pub fn command_name() -> TextOrHelp {
    text_or_help(|_| None).words(|| COMMANDS.iter().map(|command| command.name.to_string()).collect())
}

/// Returns the error for an unknown command, with similar names. It also recognises a misspelled drop-in.
pub fn unknown_command(name: &OsStr) -> Failure {
    let known: Vec<&str> = COMMANDS.iter().flat_map(|command| [&[command.name], command.aliases].concat()).collect();
    usage::unknown_command(name, &known)
}
