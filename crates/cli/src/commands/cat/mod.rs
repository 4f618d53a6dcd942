//! `packline cat`: contents of files of an image, to standard output.

#[cfg(feature = "pln")]
mod pln;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use packline_image::ContentKind;
#[cfg(feature = "pln")]
use packline_pln::Span;

use crate::args::image::ImageArgs;
use crate::args::machine::Machine;
use crate::args::run_options::{SchedulingOptions, Stats};
use crate::args::value::text;
use crate::args::{Command, Invocation, wrong};
use crate::host::streams::STDOUT;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Print the contents of files in an image, or of a .pln file
#[derive(Debug, clap::Args)]
pub struct Cat {
    #[command(flatten)]
    place: ImageArgs,
    /// Paths of files in the image, in the order wanted; not patterns
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    #[cfg(feature = "pln")]
    /// Of a .pln file: bytes from START, 0 being the first, to before END; either may be left out
    #[arg(long, value_name = "START..END", value_parser = text(pln::span))]
    range: Option<Span>,
    #[command(flatten)]
    machine: Machine,
    #[command(flatten)]
    stats: Stats,
    #[command(flatten)]
    scheduling: SchedulingOptions,
}

impl Command for Cat {
    const NAME: &'static str = "cat";

    const EXAMPLES: &'static [&'static str] =
        &["packline cat root.sqfs etc/passwd etc/group", "packline cat --range 1M..2M disk.img.pln"];

    fn details() -> String {
        "Symbolic links are followed inside the image. If a path leads to no file, nothing is printed.\n\
         Of a .pln file, or of one on standard input if that is -, the content is printed, or a range of it."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let path = &self.place.image;
        #[cfg(feature = "pln")]
        if path.as_os_str() == "-" || self.place.container() == Some(ContentKind::Pln) {
            return pln::run(&self, invocation, io);
        }
        #[cfg(feature = "pln")]
        if self.range.is_some() {
            return Err(wrong("range", "only .pln files have ranges (expected one, or no --range)"));
        }
        if self.paths.is_empty() {
            return Err(Failure::usage("missing argument: PATH"));
        }
        let options = self.scheduling.start(self.stats.stats, None, &[path], io)?;
        let resources = options.apply(self.machine.resources(&io.host));
        let image = self.place.open_within(&resources)?;
        io.refuse_input(&image.display_path)?;
        let paths: Vec<Vec<u8>> = self.paths.iter().map(|path| path.as_bytes().to_vec()).collect();
        packline_image::cat(&image, &paths, &resources, &mut io.stdout, STDOUT)?;
        options.print_counters(io);
        options.write_trace(invocation, io)
    }
}
