//! `sqfs2tar`: an image becomes a tar on standard output, with the options and exit codes of squashfs-tools-ng 1.3.
//!
//! Differences, all on purpose: holes are written as holes (GNU sparse format 1.0) unless `--no-sparse` is given; what ustar has
//! no room for goes into PAX records, where that release writes GNU entries; user and group names are left empty; several
//! threads work; a tar is not written to a terminal; an empty `--subdir` (`/`, `.`) is everything.

use std::io;
use std::path::PathBuf;

use packline::codec::{StreamFormat, StreamSpec};
use packline::tree::path::canonical;
use packline::{
    Error, ImagePlace, Resources, Selection, TarOutRequest, TarRoot, TarScope, TarSummary, TarTarget, tar_out,
};

use crate::args::Args;
use crate::table::options::{Applet, Manners, Operand, Opt, Takes};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::watched;

const COMPRESSORS: &[&str] = &["gzip", "xz", "zstd", "bzip2"];

const OPTIONS: &[Opt] = &[
    Opt::with("compressor", "NAME", Takes::Choice(COMPRESSORS), "Compress the tar; by default it is not compressed")
        .short('c'),
    Opt::with(
        "subdir",
        "DIR",
        Takes::Path,
        "Only what is below this directory of the image, which becomes the root of the tar. Given several times, the names of \
         the directories stay",
    )
    .short('d')
    .repeats(),
    Opt::flag("keep-as-dir", "With a single --subdir, let its name stay before what is below it").short('k'),
    Opt::with(
        "root-becomes",
        "DIR",
        Takes::Path,
        "Put everything into this directory, which gets the attributes of the image's root; '.' puts './' before all names. \
         Without it the attributes of the root are lost",
    )
    .short('r'),
    Opt::flag("no-xattr", "Leave extended attributes out").short('X'),
    Opt::flag("no-hard-links", "Write each name of a file with its content, instead of hard links").short('L'),
    Opt::flag("no-skip", "Fail on what a tar cannot hold (sockets) instead of leaving it out").short('s'),
    Opt::flag("no-sparse", "Write holes as zeros, for readers that do not know GNU sparse files"),
    Opt::flag("continue", "Report what cannot be read and go on, with zeros in its place; the exit status is then 2"),
    Opt::with(
        "num-jobs",
        "COUNT",
        Takes::Number { least: 0, most: 1024 },
        "Threads that decompress and compress; 0 does it on the main thread [default: processors]",
    ),
    Opt::with(
        "mem",
        "SIZE",
        Takes::Size { least: 0, most: u64::MAX },
        "Most memory to use; if it is short fewer threads run, and what is needed again waits in TMPDIR or /var/tmp \
         [default: what the cgroup allows]",
    ),
    Opt::flag("serial", "Use the serial reference: no threads, no queues, the same bytes"),
];

/// The command's table.
pub const APPLET: Applet = Applet {
    name: "sqfs2tar",
    about: "Turn a SquashFS image into a tar on standard output (drop-in for squashfs-tools-ng)",
    details,
    options: &[OPTIONS],
    operands: &[Operand { name: "IMAGE", help: "The image", required: true, of: &[] }],
    manners: Manners::DropIn,
    run,
};

fn details() -> String {
    format!(
        "Compressors: {}, at levels 6, 6, 3 and 9. The bytes are the same for any number of threads.",
        COMPRESSORS.join(", ")
    )
}

fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    let request = request(args, io)?;
    let made: Result<TarSummary, Error> = watched(io, false, |observer| tar_out(request, observer));
    match made?.damaged {
        0 => Ok(()),
        _ => Err(Failure::Said(2)),
    }
}

fn request(args: &Args, io: &mut Io) -> Result<TarOutRequest, Failure> {
    let (compression, scope, root, resources) = (compression(args)?, scope(args)?, root(args)?, resources(args, io)?);
    let image = ImagePlace { path: args.required("IMAGE")?, offset: Some(0) };
    let request = TarOutRequest {
        compression,
        scope,
        root,
        xattrs: !args.flag("no-xattr"),
        hard_links: !args.flag("no-hard-links"),
        sparse: !args.flag("no-sparse"),
        keep_going: args.flag("continue"),
        refuse_missing: false,
        refuse_unstorable: args.flag("no-skip"),
        resources,
        temporaries: io.temporaries.clone(),
        ..TarOutRequest::new(image, TarTarget::Stream(PathBuf::new(), Box::new(io::sink())))
    };
    if io.out_terminal {
        return Err(Failure::failed("standard output is a terminal (expected a file or a pipe)"));
    }
    io.refuse_input(&request.image.path)?;
    Ok(TarOutRequest { target: io.stdout_target(), ..request })
}

fn compression(args: &Args) -> Result<Option<StreamSpec>, Failure> {
    let name = args.text("compressor")?;
    Ok(StreamFormat::ALL.into_iter().find(|format| Some(format.name()) == name).map(StreamSpec::new))
}

fn scope(args: &Args) -> Result<TarScope, Failure> {
    let directory = |raw: &std::ffi::OsString| {
        canonical(raw.as_encoded_bytes())
            .map_err(|fault| args.wrong("subdir", &format!("'{}': {fault}", raw.escaped())))
    };
    let directories = args.all("subdir").iter().map(directory).collect::<Result<Vec<_>, _>>()?;
    let keep = args.flag("keep-as-dir") || directories.len() > 1;
    Ok(match directories.is_empty() {
        true => TarScope::Selected(Selection::all()),
        false => TarScope::Below { directories, keep },
    })
}

fn root(args: &Args) -> Result<TarRoot, Failure> {
    let Some(raw) = args.raw("root-becomes") else { return Ok(TarRoot::Nothing) };
    let wrong = |what: &str| args.wrong("root-becomes", &format!("'{}': {what}", raw.escaped()));
    match raw.as_encoded_bytes() {
        b"." | b"./" => Ok(TarRoot::Becomes(b".".to_vec())),
        bytes => match canonical(bytes) {
            Ok(name) if !name.is_empty() => Ok(TarRoot::Becomes(name)),
            Ok(_) => Err(wrong("the name is empty (expected a path, or .)")),
            Err(fault) => Err(wrong(&fault.to_string())),
        },
    }
}

fn resources(args: &Args, io: &Io) -> Result<Resources, Failure> {
    let workers = args.number("num-jobs")?.map_or(io.host.processors, |jobs| jobs as usize);
    let memory = args.size("mem")?.or(io.host.memory_limit);
    let workers = if args.flag("serial") { 0 } else { workers };
    Ok(Resources { workers, memory, ..io.host.resources() })
}
