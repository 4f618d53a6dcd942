//! What commands that look into an image share: where it is, and what they may take of the machine.

use std::path::{Path, PathBuf};

use packline::{Container, ImagePlace, OpenedImage, Resources};

use crate::args::Args;
use crate::table::options::{Operand, Opt, Takes};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Bytes of decompressed metadata that are kept.
const METADATA: usize = 8 << 20;

/// Where the image is.
pub const PLACE_OPTIONS: &[Opt] = &[OFFSET];

const OFFSET: Opt = Opt::with(
    "offset",
    "BYTES",
    Takes::Size { least: 0, most: u64::MAX },
    "Byte of the file at which the image starts [default: 0, or else where a superblock is found]",
);

/// What the command may take of the machine.
pub const MACHINE_OPTIONS: &[Opt] = &[
    Opt::with(
        "jobs",
        "COUNT",
        Takes::Number { least: 0, most: 1024 },
        "Threads that decompress; 0 does it on the main thread [default: processors]",
    )
    .short('j'),
    Opt::with(
        "mem",
        "SIZE",
        Takes::Size { least: 0, most: u64::MAX },
        "Most memory to use; if it is short fewer threads run, and what is needed again waits in TMPDIR or /var/tmp \
         [default: what the cgroup allows]",
    ),
];

/// The image.
pub const IMAGE: Operand =
    Operand { name: "IMAGE", help: "The image: a file or a block device", required: true, of: &[] };

/// The container of a file, unless an image in it is asked for.
pub fn container(args: &Args, path: &Path) -> Option<Container> {
    let found = Container::of_file(path);
    // All of a .pln file is compressed: there is no byte at which an image could start.
    found.filter(|&found| found == Container::Pln || !args.given("offset"))
}

/// Where the image is that the operand names.
///
/// # Errors
/// The operand is missing, or `--offset` is no size.
pub fn place(args: &Args) -> Result<ImagePlace, Failure> {
    Ok(ImagePlace { path: args.required("IMAGE")?, offset: args.size("offset")? })
}

/// Opens the image that the operand names.
///
/// # Errors
/// Those of opening it.
pub fn open(args: &Args) -> Result<OpenedImage, Failure> {
    open_keeping(args, METADATA)
}

/// The same for a command that decodes contents too, within a limit on its memory.
///
/// # Errors
/// Those of the arguments, and of opening it.
pub fn open_within(args: &Args, resources: &Resources) -> Result<OpenedImage, Failure> {
    open_keeping(args, packline::metadata_cache(resources.memory))
}

fn open_keeping(args: &Args, metadata: usize) -> Result<OpenedImage, Failure> {
    Ok(place(args)?.open(metadata)?)
}

/// Opens an image of a drop-in, which has no option for its offset.
///
/// # Errors
/// Those of opening it.
pub fn open_path(path: PathBuf) -> Result<OpenedImage, Failure> {
    Ok(ImagePlace::new(path).open(METADATA)?)
}

/// What the machine gives.
///
/// # Errors
/// [`Failure::Usage`] for values out of range.
pub fn resources(args: &Args, io: &Io) -> Result<Resources, Failure> {
    Ok(Resources {
        workers: args.number("jobs")?.map_or(io.host.processors, |jobs| jobs as usize),
        memory: args.size("mem")?.or(io.host.memory_limit),
        ..io.host.resources()
    })
}
