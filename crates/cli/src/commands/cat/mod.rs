//! `packline cat`: contents of files of an image, to standard output.

mod pln;

use std::os::unix::ffi::OsStrExt;

use packline::Container;

use crate::args::Args;
use crate::args::image::{IMAGE, MACHINE_OPTIONS, PLACE_OPTIONS, open_within, resources};
use crate::args::scheduling;
use crate::args::scheduling::Watched;
use crate::host::streams::STDOUT;
use crate::table::options::{Applet, Manners, Operand};
use crate::ui::counters;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The command's table.
pub const APPLET: Applet = Applet {
    name: "cat",
    about: "Print the contents of files in an image, or of a .pln file",
    details,
    options: &[&[pln::RANGE], MACHINE_OPTIONS, scheduling::OPTIONS, scheduling::STATS, PLACE_OPTIONS],
    operands: &[
        IMAGE,
        Operand {
            name: "PATH...",
            help: "Paths of files in the image, in the order wanted; not patterns",
            required: true,
            of: &[],
        },
    ],
    manners: Manners::Packline,
    run,
};

fn details() -> String {
    "Symbolic links are followed inside the image. If a path leads to no file, nothing is printed.\n\
     Of a .pln file, or of one on standard input if that is -, the content is printed, or a range of it.\n\
     Examples: packline cat root.sqfs etc/passwd etc/group\n          \
     packline cat --range 1M..2M disk.img.pln"
        .to_string()
}

fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    let place = args.required("IMAGE")?;
    if place.as_os_str() == "-" || Container::of_file(&place) == Some(Container::Pln) {
        return pln::run(args, io);
    }
    if args.given("range") {
        return Err(args.wrong("range", "only .pln files have ranges (expected one, or no --range)"));
    }
    let paths: Vec<Vec<u8>> = args.operands("PATH...").iter().map(|path| path.as_bytes().to_vec()).collect();
    let scheduled = scheduling::read(args, io)?;
    let resources = scheduled.watching(resources(args, io)?);
    if paths.is_empty() {
        return Err(Failure::usage("missing argument: PATH"));
    }
    let image = open_within(args, &resources)?;
    io.refuse_input(&image.shown)?;
    packline::cat(&image, &paths, &resources, &mut io.stdout, STDOUT)?;
    said(&scheduled, io);
    scheduled.write(args, io)
}

/// Tells what was counted where standard output is taken, if that is asked for.
pub(crate) fn said(scheduled: &Watched, io: &mut Io) {
    if let Some(counted) = scheduled.counted() {
        io.say_lines(&counters::text(&counted).join("\n"));
    }
}
