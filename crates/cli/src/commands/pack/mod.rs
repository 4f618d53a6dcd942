//! `packline pack`: a directory, a tar or standard input becomes an image.

mod lrz;

use std::fs;
use std::path::PathBuf;

use packline::image::{CODECS, Fragments, Options, Stored, codec_help, parse_codec};
use packline::tree::{DirectoryOptions, MountPoints, Patterns};
use packline::{Changes, Format, NewRoot, PackRequest, Resources, SourceSpec};

use crate::args::Args;
use crate::args::patterns;
use crate::args::scheduling;
use crate::host::streams::STDIN;
use crate::table::options::{Applet, Manners, Operand, Opt, Takes};
use crate::ui::escape::Escape;
use crate::ui::failure::{EXIT_STATUS, Failure};
use crate::ui::io::Io;
use crate::ui::observer::{Manner, run_pack};

const COMPRESSION: &str = "Compression";
const LAYOUT: &str = "Image";
const ENTRIES: &str = "Entries";
const MACHINE: &str = "Machine";
const OUTPUT: &str = "Output";

const ANY_TIME: Takes = Takes::Number { least: 0, most: u32::MAX as i64 };
const ANY_ID: Takes = Takes::Number { least: 0, most: u32::MAX as i64 };
const PARTS: &str =
    "Store parts without compression: a comma separated list of inodes, data, fragments, xattrs, ids, all";

const COMPRESSION_OPTIONS: &[Opt] = &[
    Opt::with("codec", "CODEC", Takes::Text, "Codec with its parameters: NAME[:key=value,...]; NAME:help lists them")
        .short('c')
        .default("zstd")
        .group(COMPRESSION),
    Opt::with("block-size", "SIZE", Takes::Size { least: 4096, most: 1 << 20 }, "Block size, a power of two")
        .short('b')
        .default("128K")
        .group(COMPRESSION),
    Opt::with("stored", "PARTS", Takes::Text, PARTS).group(COMPRESSION),
];

const IMAGE_OPTIONS: &[Opt] = &[
    Opt::with(
        "fragments",
        "WHICH",
        Takes::Choice(&["always", "small", "never"]),
        "Which tail ends share fragment blocks: all, those of files smaller than a block, none",
    )
    .default("always")
    .group(LAYOUT),
    Opt::flag("no-fragments", "Same as --fragments=never").group(LAYOUT),
    Opt::flag("no-dedup", "Store equal files, tail ends and blocks each time").group(LAYOUT),
    Opt::flag("no-sparse", "Store blocks of zeros as data, not as holes").group(LAYOUT),
    Opt::flag("no-xattrs", "Leave extended attributes out").group(LAYOUT),
    Opt::flag("exportable", "Write an export table, for NFS").group(LAYOUT),
    Opt::with("pad", "SIZE", Takes::Size { least: 1, most: 1 << 30 }, "Pad the image to a multiple of this")
        .default("4K")
        .group(LAYOUT),
    Opt::flag("no-pad", "Same as --pad=1").group(LAYOUT),
    Opt::with(
        "time",
        "TIME",
        Takes::Text,
        "Time of the image, in seconds since 1970 or 'now'; later times of entries become this one. Without it, \
         SOURCE_DATE_EPOCH; without that, the image's time is 0 and entries keep theirs",
    )
    .group(LAYOUT),
];

const ENTRY_OPTIONS: &[Opt] = &[
    patterns::EXCLUDE.group(ENTRIES),
    Opt::with(
        "root-becomes",
        "DIR",
        Takes::Path,
        "Pack only what is below this directory of the source, which becomes the root",
    )
    .group(ENTRIES),
    Opt::flag("no-symlink-retarget", "With --root-becomes, leave links that point below DIR as they are")
        .group(ENTRIES),
    Opt::flag("one-file-system", "Do not enter other file systems: mount points become empty directories")
        .group(ENTRIES),
    Opt::flag("no-hard-links", "Pack each name of a file as a file of its own").group(ENTRIES),
    Opt::flag(
        "lenient",
        "Go on with a warning after a fault of a tar by which nothing is lost: an extended header without an entry before the \
         end mark, a directory without a name (it is the root), a time that is no number",
    )
    .group(ENTRIES),
    Opt::flag("all-root", "Same as --uid=0 --gid=0").group(ENTRIES),
    Opt::with("uid", "UID", ANY_ID, "Owner of everything").group(ENTRIES),
    Opt::with("gid", "GID", ANY_ID, "Group of everything").group(ENTRIES),
    Opt::with("mtime", "SECONDS", ANY_TIME, "Modification time of everything, seconds since 1970").group(ENTRIES),
];

const MACHINE_OPTIONS: &[Opt] = &[
    Opt::with(
        "jobs",
        "COUNT",
        Takes::Number { least: 0, most: 1024 },
        "Worker threads; 0 does everything on one thread. The image is the same [default: processors]",
    )
    .short('j')
    .group(MACHINE),
    Opt::with(
        "readers",
        "COUNT",
        Takes::Number { least: 0, most: 64 },
        "Threads that read a directory's files ahead [default: 4, or none with --jobs=0]",
    )
    .group(MACHINE),
    Opt::with(
        "mem",
        "SIZE",
        Takes::Size { least: 0, most: u64::MAX },
        "Most memory to use; fewer workers run if it is short. The image is the same [default: what the cgroup allows]",
    )
    .group(MACHINE),
    Opt::flag("serial", "Use the reference without threads and queues that all others must equal").group(MACHINE),
];

const OUTPUT_OPTIONS: &[Opt] = &[
    Opt::flag("force", "Replace an existing image, or overwrite a block device").short('f').group(OUTPUT),
    Opt::with("format", "FORMAT", Takes::Text, "Container, instead of the one that IMAGE's name says: squashfs, lrz")
        .group(OUTPUT),
    Opt::flag("quiet", "No progress bar and no summary").short('q').group(OUTPUT),
    Opt::flag("no-progress", "No progress bar").group(OUTPUT),
    Opt::flag("json", "Print the summary as JSON, to standard output").group(OUTPUT),
    Opt::flag("stats", "Add tables and counters of the workers to the summary").group(OUTPUT),
];

/// The command's table.
pub const APPLET: Applet = Applet {
    name: "pack",
    about: "Pack a directory, a tar or standard input into an image",
    details,
    options: &[COMPRESSION_OPTIONS, IMAGE_OPTIONS, ENTRY_OPTIONS, MACHINE_OPTIONS, scheduling::OPTIONS, OUTPUT_OPTIONS],
    operands: &[
        Operand {
            name: "SOURCE",
            help: "A directory, a tar file (plain or compressed), or - for a tar on standard input",
            required: true,
            of: &[],
        },
        Operand {
            name: "IMAGE",
            help: "The image to write: a file (.sqfs, .squashfs, .sfs, .snap, .img, or an ending that is of no other format), or a \
                   block device; or a .lrz file",
            required: true,
            of: &[],
        },
    ],
    manners: Manners::Packline,
    run,
};

fn details() -> String {
    format!(
        "Codecs: {}. Of a .lrz file, which holds a tar: none, gzip, bzip2, lzo, lzma, zpaq, each with level=1 to 9.\n\
         Sizes may end in K, M, G or T. The image appears under its name only when it is whole; a block device is written in place.\n\
         Only a .lrz file can go to standard output: --format lrz SOURCE -\n\
         {}\n\
         {EXIT_STATUS}\n\
         Examples: packline pack rootfs/ rootfs.sqfs\n          \
         packline pack rootfs/ rootfs.sqfs -x '*.pyc' -x '/var/{{cache,log}}/**'\n          \
         packline pack -c xz:x86 -b 1M rootfs.tar.gz rootfs.sqfs\n          \
         podman export x | packline pack --time 0 - x.sqfs",
        CODECS.join(", "),
        patterns::LANGUAGE
    )
}

fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    if let Some(name) = args.text("codec")?.and_then(|codec| codec.strip_suffix(":help")) {
        let help = codec_help(name).map_err(|error| args.wrong("codec", &error.to_string()))?;
        return io.print(&help);
    }
    if lrz::is_wanted(args)? {
        return lrz::run(args, io);
    }
    let manner = Manner::Packline {
        quiet: args.flag("quiet"),
        bar: !args.flag("no-progress"),
        json: args.flag("json"),
        stats: args.flag("stats"),
    };
    let watched = scheduling::read(args, io)?;
    let mut request = request(args, io)?;
    request.resources = watched.watching(request.resources);
    run_pack(request, manner, io)?;
    watched.write_beside(args, io);
    Ok(())
}

/// The pack that the arguments ask for.
pub(crate) fn request(args: &Args, io: &mut Io) -> Result<PackRequest, Failure> {
    let output = args.required("IMAGE")?;
    refuse_contradictions(args)?;
    let format = format(args, &output)?;
    let time = time(args, io)?;
    let image = image_options(args, time.unwrap_or(0))?;
    let resources = resources(args, io)?;
    let (source, exclude) = source(args, io, &resources)?;
    let changes = Changes { exclude, mtime_most: time.map(i64::from), ..changes(args)? };
    let request = PackRequest::new(source, output, image);
    Ok(PackRequest {
        format,
        force: args.flag("force"),
        lenient_tar: args.flag("lenient"),
        changes,
        resources,
        temporaries: io.temporaries.clone(),
        ..request
    })
}

/// An option that another one leaves without effect is a mistake, not something to ignore.
fn refuse_contradictions(args: &Args) -> Result<(), Failure> {
    for (one, other) in [("fragments", "no-fragments"), ("pad", "no-pad"), ("jobs", "serial")] {
        if args.given(one) && args.given(other) {
            return Err(args.wrong(one, &format!("cannot be used with --{other}")));
        }
    }
    if args.given("no-symlink-retarget") && !args.given("root-becomes") {
        return Err(args.wrong("no-symlink-retarget", "has no effect without --root-becomes"));
    }
    Ok(())
}

/// The container.
pub(crate) fn format(args: &Args, output: &std::path::Path) -> Result<Format, Failure> {
    match args.text("format")? {
        Some(name) => Format::named(name).map_err(|error| Failure::usage(error.to_string())),
        None => Format::of_path(output)
            .map_err(|error| Failure::usage(format!("{error}; --format chooses the container for any name"))),
    }
}

/// `--time`, or `SOURCE_DATE_EPOCH`.
fn time(args: &Args, io: &Io) -> Result<Option<u32>, Failure> {
    let epoch = io.host.source_date_epoch.as_deref().filter(|text| !text.is_empty());
    let expected = format!("a number of seconds from 0 to {}", u32::MAX);
    match (args.text("time")?, epoch) {
        (Some("now"), _) => Ok(Some(io.host.now)),
        (Some(text), _) => {
            let time = text
                .parse()
                .map_err(|_| args.wrong("time", &format!("'{text}' is no time (expected 'now' or {expected})")));
            time.map(Some)
        }
        (None, Some(text)) => {
            let time = text
                .parse()
                .map_err(|_| Failure::usage(format!("SOURCE_DATE_EPOCH={text} is no time (expected {expected})")));
            time.map(Some)
        }
        (None, None) => Ok(None),
    }
}

fn image_options(args: &Args, created: u32) -> Result<Options, Failure> {
    let codec = args.text("codec")?.unwrap_or_default();
    let mut image = Options::new(parse_codec(codec).map_err(|error| args.wrong("codec", &error.to_string()))?);
    image.block_size = block_size(args)?;
    image.codec.validate(image.block_size as usize).map_err(|error| args.wrong("codec", &error.to_string()))?;
    image.stored = stored(args)?;
    image.fragments = fragments(args)?;
    image.deduplicate = !args.flag("no-dedup");
    image.sparse = !args.flag("no-sparse");
    image.xattrs = !args.flag("no-xattrs");
    image.exportable = args.flag("exportable");
    image.pad = if args.flag("no-pad") { 1 } else { args.size("pad")?.unwrap_or(4096) as u32 };
    image.created = created;
    Ok(image)
}

fn block_size(args: &Args) -> Result<u32, Failure> {
    let size = args.size("block-size")?.unwrap_or(128 << 10);
    if size.is_power_of_two() {
        return Ok(size as u32);
    }
    Err(args.wrong("block-size", &format!("{size} is not a power of two")))
}

fn fragments(args: &Args) -> Result<Fragments, Failure> {
    let which = args.text("fragments")?;
    Ok(match (args.flag("no-fragments"), which) {
        (true, _) | (_, Some("never")) => Fragments::Never,
        (_, Some("small")) => Fragments::SmallFiles,
        _ => Fragments::Always,
    })
}

fn stored(args: &Args) -> Result<Stored, Failure> {
    let mut stored = Stored::default();
    for part in args.text("stored")?.unwrap_or("").split(',').filter(|part| !part.is_empty()) {
        match part {
            "inodes" => stored.inodes = true,
            "data" => stored.data = true,
            "fragments" => stored.fragments = true,
            "xattrs" => stored.xattrs = true,
            "ids" => stored.ids = true,
            "all" => stored = Stored { inodes: true, data: true, fragments: true, xattrs: true, ids: true },
            _ => {
                let what = format!("unknown part '{part}' (expected inodes, data, fragments, xattrs, ids or all)");
                return Err(args.wrong("stored", &what));
            }
        }
    }
    Ok(stored)
}

/// What the machine gives.
pub(crate) fn resources(args: &Args, io: &Io) -> Result<Resources, Failure> {
    let wanted = args.number("jobs")?.map_or(io.host.processors, |jobs| jobs as usize);
    let workers = if args.flag("serial") { 0 } else { wanted };
    Ok(Resources {
        workers,
        memory: args.size("mem")?.or(io.host.memory_limit),
        scratch: Some(io.host.scratch.clone()),
        ..Resources::default()
    })
}

fn changes(args: &Args) -> Result<Changes, Failure> {
    let root_only = args.flag("all-root").then_some(0);
    let id = |long| Ok::<_, Failure>(args.number(long)?.map(|id| id as u32).or(root_only));
    let retarget = !args.flag("no-symlink-retarget");
    let root = args.raw("root-becomes").map(|path| NewRoot::new(path.as_encoded_bytes(), retarget)).transpose();
    Ok(Changes {
        uid: id("uid")?,
        gid: id("gid")?,
        mtime: args.number("mtime")?,
        root: root.map_err(|error| args.wrong("root-becomes", &error.to_string()))?,
        ..Changes::default()
    })
}

/// The source, and what is to be left out of it on the way because it does not see to that itself.
/// What is packed, and what is left out of a tar.
pub(crate) fn source(args: &Args, io: &mut Io, resources: &Resources) -> Result<(SourceSpec, Patterns), Failure> {
    let (path, output) = (args.required("SOURCE")?, args.required("IMAGE")?);
    let excludes = patterns::excludes(args)?;
    let readers = readers(args, resources)?;
    let options = DirectoryOptions {
        xattrs: !args.flag("no-xattrs"),
        hard_links: !args.flag("no-hard-links"),
        mount_points: if args.flag("one-file-system") { MountPoints::Empty } else { MountPoints::Enter },
        excludes: excludes.clone(),
        readers,
        ..DirectoryOptions::default()
    };
    if path.as_os_str() == "-" {
        refuse_for_tar(args)?;
        let stream = io.take_stdin(Some(&output))?;
        return Ok((SourceSpec::TarStream { name: STDIN.to_string(), stream }, excludes));
    }
    if is_directory(&path)? {
        refuse_for_directory(args)?;
        return Ok((SourceSpec::Directory { path, options }, Patterns::new()));
    }
    refuse_for_tar(args)?;
    packline::must_differ(&path, &output)?;
    Ok((SourceSpec::TarFile { path }, excludes))
}

fn readers(args: &Args, resources: &Resources) -> Result<usize, Failure> {
    let default = if resources.workers == 0 { 0 } else { 4 };
    Ok(args.number("readers")?.map_or(default, |readers| readers as usize))
}

/// Options that only a directory can honour are not ignored for a tar.
fn refuse_for_tar(args: &Args) -> Result<(), Failure> {
    for long in ["one-file-system", "no-hard-links", "readers"] {
        if args.given(long) {
            return Err(args.wrong(long, "only a directory can be packed so (the source is a tar)"));
        }
    }
    Ok(())
}

/// Nor those that only a tar can for a directory.
fn refuse_for_directory(args: &Args) -> Result<(), Failure> {
    match args.given("lenient") {
        true => Err(args.wrong("lenient", "only a tar can be packed so (the source is a directory)")),
        false => Ok(()),
    }
}

fn is_directory(path: &PathBuf) -> Result<bool, Failure> {
    let found =
        fs::metadata(path).map_err(|cause| Failure::failed(format!("{}: cannot open: {cause}", path.escaped())))?;
    Ok(found.is_dir())
}
