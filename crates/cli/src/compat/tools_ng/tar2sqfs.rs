//! `tar2sqfs`: a tar on standard input becomes an image, with the options, defaults and exit codes of squashfs-tools-ng 1.3.
//!
//! Differences, all on purpose: a path that comes twice is no error, the last wins; hard links may come in any order; lz4,
//! lzip and lzma inputs are taken as well; with `-r`, links that do not point below the new root stay byte for byte as
//! they are; an input without a single block, of which that release makes an empty image, is an error. Faults of a tar by which
//! nothing is lost are warnings here (see `docs/format/tar.md`), unless `-s` is given.

use packline::tree::path::canonical;
use packline::tree::{Glob, Slash};
use packline::{Changes, NewRoot, PackRequest, SourceSpec, Unsupported};

use crate::args::Args;
use crate::compat::tools_ng;
use crate::host::streams::STDIN;
use crate::table::options::{Applet, Manners, Operand, Opt, Takes};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::{Manner, run_pack};

const TAR_OPTIONS: &[Opt] = &[
    Opt::with(
        "root-becomes",
        "DIR",
        Takes::Path,
        "Pack only what is below this directory of the tar, which becomes the root. Without it, an entry for './' or '/' \
         describes the root",
    )
    .short('r'),
    Opt::flag(
        "no-symlink-retarget",
        "With --root-becomes, leave symbolic links as they are; else those that point below DIR are adjusted",
    )
    .short('S'),
    Opt::flag("no-skip", "Fail on what cannot be stored (attributes with an unknown prefix) and on any fault of the tar instead of going on")
        .short('s'),
    Opt::flag("no-xattr", "Leave extended attributes out").short('x'),
    Opt::flag("no-keep-time", "Set the default time on everything instead of the times of the tar").short('k'),
    Opt::with("exclude-dir", "GLOB", Takes::Text, "Leave out entries whose whole path matches; '*' matches slashes too")
        .short('E')
        .repeats(),
];

/// The command's table.
pub const APPLET: Applet = Applet {
    name: "tar2sqfs",
    about: "Turn a tar on standard input into a SquashFS image (drop-in for squashfs-tools-ng)",
    details: || {
        format!(
            "{} The tar may be compressed with gzip, xz, zstd, bzip2, lz4, lzip or lzma.\n\
             An input that ends before its first block is an error, here only: the program that writes it has failed.\n\
             --queue-backlog counts blocks; it bounds the memory for blocks under way to COUNT times the block size.",
            tools_ng::details()
        )
    },
    options: &[TAR_OPTIONS, tools_ng::IMAGE_OPTIONS, tools_ng::OUTPUT_OPTIONS],
    operands: &[Operand { name: "IMAGE", help: "The image to write", required: true, of: &[] }],
    manners: Manners::DropIn,
    run,
};

fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    if tools_ng::answers_help(args, io)? {
        return Ok(());
    }
    let request = request(args, io)?;
    run_pack(request, Manner::ToolsNg { quiet: args.flag("quiet") }, io)
}

/// The pack that the arguments ask for.
fn request(args: &Args, io: &mut Io) -> Result<PackRequest, Failure> {
    let defaults = tools_ng::defaults(args, io)?;
    let mut image = tools_ng::image_options(args, defaults)?;
    image.xattrs = !args.flag("no-xattr");
    let output = args.required("IMAGE")?;
    let changes = changes(args, defaults.mtime)?;
    let resources = tools_ng::resources(args, &io.host)?;
    let stream = io.take_stdin(Some(&output))?;
    let source = SourceSpec::TarStream { name: STDIN.to_string(), stream };
    Ok(PackRequest {
        source,
        output,
        force: args.flag("force"),
        format: packline::Format::SquashFs,
        lenient_tar: !args.flag("no-skip"),
        image,
        changes,
        defaults,
        hints: None,
        resources,
        temporaries: io.temporaries.clone(),
    })
}

fn changes(args: &Args, default_time: i64) -> Result<Changes, Failure> {
    let retarget = !args.flag("no-symlink-retarget");
    let root = args.raw("root-becomes").map(|path| NewRoot::new(path.as_encoded_bytes(), retarget)).transpose();
    let root = root.map(|root| root.map(|root| NewRoot { required: false, ..root }));
    Ok(Changes {
        root: root.map_err(|error| args.wrong("root-becomes", &error.to_string()))?,
        mtime: args.flag("no-keep-time").then_some(default_time),
        drop: excluded(args)?,
        unsupported: if args.flag("no-skip") { Unsupported::Refuse } else { Unsupported::Skip },
        ..Changes::default()
    })
}

/// Patterns are brought into the form of the paths they are compared with.
fn excluded(args: &Args) -> Result<Vec<Glob>, Failure> {
    let compile = |raw: &std::ffi::OsString| match canonical(raw.as_encoded_bytes()) {
        Ok(pattern) => Ok(Glob::new(&pattern, Slash::Plain)),
        Err(fault) => Err(args.wrong("exclude-dir", &format!("'{}': {fault}", raw.escaped()))),
    };
    args.all("exclude-dir").iter().map(compile).collect()
}
