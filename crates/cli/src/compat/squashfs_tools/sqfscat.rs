//! `sqfscat` prints files of an image, with the options, output and exit codes of squashfs-tools 4.7.5.

use std::ffi::OsString;
use std::path::PathBuf;

use super::name_pattern::Language;
use super::posix_regex;
use super::unsquashfs::{Errors, Machine, cat};
use crate::args::{Command, Compat, Invocation};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Print files of a SquashFS image (drop-in for squashfs-tools)
#[derive(Debug, clap::Args)]
pub struct Sqfscat {
    /// The image: a file, a block device or a pipe; - for standard input
    #[arg(value_name = "FILESYSTEM")]
    image: PathBuf,
    /// The files to print. Wildcards match names, but not '/'; symbolic links are followed inside the image
    #[arg(value_name = "FILE", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    files: Vec<OsString>,
    /// Use names literally
    #[arg(long = "no-wildcards", visible_alias = "no-wild", conflicts_with = "regex")]
    no_wildcards: bool,
    /// Use names as POSIX extended regular expressions
    #[arg(long, visible_alias = "r")]
    regex: bool,
    #[command(flatten)]
    machine: Machine,
    #[command(flatten)]
    errors: Errors,
}

impl Command for Sqfscat {
    const NAME: &'static str = "sqfscat";
    const COMPAT: Compat = Compat::SquashfsTools;
    const DIFFERENCES: &'static [&'static str] = &[
        "An image named - is read from standard input. An image in a pipe is first stored in TMPDIR.",
        posix_regex::DIFFERENCE,
    ];

    fn details() -> String {
        "Options come before FILESYSTEM.".to_string()
    }

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let image = self.machine.open(&self.image, io)?;
        let language = Language::of(self.no_wildcards, self.regex);
        cat(&image, language, &self.files, (&self.machine.resources(&io.host), &self.errors), io)
    }
}
