//! What the drop-ins of squashfs-tools-ng 1.3 share: options, their defaults, and what is printed.
//!
//! Options and defaults follow tar2sqfs(1) and gensquashfs(1) of that release. Where it takes nonsense for 0 (`-d uid=x`),
//! we refuse it.

pub mod gensquashfs;
pub mod options;
pub mod rdsquashfs;
pub mod sqfs2tar;
pub mod sqfsdiff;
pub mod tar2sqfs;

use packline::codec::Spec;
use packline::image::{DirectoryLinks, Fragments, Options};
use packline::tree::Meta;
use packline::{DEFAULT_META, PackSummary, Resources};

use crate::args::Args;
use crate::table::options::{Opt, Takes};
use crate::ui::failure::Failure;
use crate::ui::io::{Host, Io};
use crate::ui::size::{parse_number, show_bytes};

/// Compressors by the names that squashfs-tools-ng knows; the first is the default.
const COMPRESSORS: [&str; 6] = ["xz", "zstd", "gzip", "lz4", "lzo", "lzma"];
/// Worker threads at most.
const JOBS_MOST: i64 = 1024;

/// Options of compression and of the image's shape.
pub const IMAGE_OPTIONS: &[Opt] = &[
    Opt::with("compressor", "NAME", Takes::Choice(&COMPRESSORS), "Compressor of data and metadata").short('c').default("xz"),
    Opt::with("comp-extra", "OPTIONS", Takes::Text, "Comma separated options of the compressor; 'help' lists them").short('X'),
    Opt::with("num-jobs", "COUNT", ANY_NUMBER, "Number of compressing threads, at least 1 [default: processors]").short('j'),
    Opt::with(
        "queue-backlog",
        "COUNT",
        ANY_NUMBER,
        "Blocks under way at most, at least 3: a bound on memory; by default as many as keep all threads busy",
    )
    .short('Q'),
    Opt::with("block-size", "SIZE", Takes::Size { least: 4096, most: 1 << 20 }, "Block size, a power of two")
        .short('b')
        .default("128K"),
    Opt::with(
        "dev-block-size",
        "SIZE",
        Takes::Size { least: 1024, most: 1 << 30 },
        "The image is padded to a multiple of this",
    )
    .short('B')
    .default("4K"),
    Opt::with(
        "defaults",
        "LIST",
        Takes::Text,
        "Attributes of directories that are only implied, and of a root that is not described: a comma separated list of \
         uid=N, gid=N, mode=N and mtime=N; 0, 0, 0755 and SOURCE_DATE_EPOCH (or 0) where it says nothing",
    )
    .short('d'),
    Opt::flag("exportable", "Write an export table, for NFS").short('e'),
    Opt::flag("no-tail-packing", "Do not pack the tail ends of files larger than a block together").short('T'),
];

/// Options of the output.
pub const OUTPUT_OPTIONS: &[Opt] = &[
    Opt::flag("force", "Replace the output if it exists").short('f'),
    Opt::flag("quiet", "Print neither names nor statistics").short('q'),
];

const ANY_NUMBER: Takes = Takes::Number { least: i64::MIN, most: i64::MAX };

/// What the help says after the options.
pub fn details() -> String {
    format!(
        "Compressors: {} (default: {}).\nA value of --defaults that is empty or no number is an error (1.3.1 takes it for 0).\n\
         An image cannot go to standard output: ./- is a file called '-'.",
        COMPRESSORS.join(", "),
        COMPRESSORS[0]
    )
}

/// Answers `-X help`; true if that was asked.
///
/// # Errors
/// Those of printing.
pub fn answers_help(args: &Args, io: &mut Io) -> Result<bool, Failure> {
    if args.text("comp-extra")? != Some("help") {
        return Ok(false);
    }
    let name = args.text("compressor")?.unwrap_or(COMPRESSORS[0]);
    let help = Spec::help(name).map_err(|error| args.wrong("compressor", &error.to_string()))?;
    io.print(&help)?;
    Ok(true)
}

/// The image that the options describe. Directories count links as squashfs-tools-ng has them: 2 and all children.
///
/// # Errors
/// [`Failure::Usage`] for values out of range and for options that the compressor does not know.
pub fn image_options(args: &Args, defaults: Meta) -> Result<Options, Failure> {
    let name = args.text("compressor")?.unwrap_or(COMPRESSORS[0]);
    let codec = Spec::parse_with_name(name, args.text("comp-extra")?.unwrap_or(""));
    let mut image = Options::new(codec.map_err(|error| args.wrong("comp-extra", &error.to_string()))?);
    image.block_size = block_size(args)?;
    image.pad = args.size("dev-block-size")?.unwrap_or(4096) as u32;
    image.exportable = args.flag("exportable");
    image.created = defaults.mtime as u32;
    image.directory_links = DirectoryLinks::Children;
    if args.flag("no-tail-packing") {
        image.fragments = Fragments::SmallFiles;
    }
    Ok(image)
}

fn block_size(args: &Args) -> Result<u32, Failure> {
    let size = args.size("block-size")?.unwrap_or(128 << 10);
    if size.is_power_of_two() {
        Ok(size as u32)
    } else {
        Err(args.wrong("block-size", &format!("{size} is not a power of two")))
    }
}

/// What the machine gives. A backlog becomes a bound in bytes on what is under way.
///
/// # Errors
/// [`Failure::Usage`] for what is no number, and for more threads than anyone can use.
pub fn resources(args: &Args, host: &Host) -> Result<Resources, Failure> {
    let jobs = args.number("num-jobs")?.map_or(host.processors as i64, |jobs| jobs.max(1));
    if jobs > JOBS_MOST {
        return Err(args.wrong("num-jobs", &format!("{jobs} is out of range (expected at most {JOBS_MOST})")));
    }
    let backlog = args.number("queue-backlog")?.filter(|backlog| *backlog >= 1);
    let block = u64::from(block_size(args)?);
    Ok(Resources {
        workers: jobs as usize,
        memory: host.memory_limit,
        scratch: Some(host.scratch.clone()),
        window: backlog.map(|blocks| (blocks.max(3) as u64).saturating_mul(block)),
        ..Resources::default()
    })
}

/// Attributes of what the source does not describe.
///
/// # Errors
/// [`Failure::Usage`] for a key that is unknown and a value that is no number or out of range.
pub fn defaults(args: &Args, io: &mut Io) -> Result<Meta, Failure> {
    let mut meta = Meta { mtime: i64::from(source_date_epoch(io)), ..DEFAULT_META };
    for item in args.text("defaults")?.unwrap_or("").split(',').filter(|item| !item.is_empty()) {
        set_default(&mut meta, item).map_err(|what| args.wrong("defaults", &what))?;
    }
    Ok(meta)
}

fn set_default(meta: &mut Meta, item: &str) -> Result<(), String> {
    let (key, value) = item.split_once('=').ok_or_else(|| format!("'{item}' has no value"))?;
    let number = |most: i64| match parse_number(value.as_ref())? {
        number if (0..=most).contains(&number) => Ok(number),
        number => Err(format!("{key}={number} is out of range (expected 0 to {most})")),
    };
    match key {
        "uid" => meta.uid = number(i64::from(u32::MAX))? as u32,
        "gid" => meta.gid = number(i64::from(u32::MAX))? as u32,
        "mode" => meta.mode = number(0o7777)? as u16,
        "mtime" => meta.mtime = number(i64::from(u32::MAX))?,
        _ => return Err(format!("unknown key '{key}' (expected uid, gid, mode or mtime)")),
    }
    Ok(())
}

/// `SOURCE_DATE_EPOCH`, or 0 with a warning where it is no number of 32 bits.
fn source_date_epoch(io: &mut Io) -> u32 {
    match io.host.source_date_epoch.clone() {
        Some(text) if !text.is_empty() => text.parse().unwrap_or_else(|_| {
            io.say(&format!("WARNING: SOURCE_DATE_EPOCH={text} is not a number from 0 to {}", u32::MAX));
            0
        }),
        _ => 0,
    }
}

/// Statistics of an image, as text.
pub fn statistics(summary: &PackSummary) -> String {
    let image = &summary.image;
    let (counts, saved) = (&image.counts, &image.saved);
    let ratio = (image.data_bytes * 100).checked_div(image.content_bytes).unwrap_or(100);
    let lines = [
        ("Data bytes read", show_bytes(image.content_bytes)),
        ("Data bytes written", show_bytes(image.data_bytes)),
        ("Data compression ratio", format!("{ratio}%")),
        ("Files", counts.files.to_string()),
        ("Directories", counts.directories.to_string()),
        ("Device files, pipes and sockets", counts.special.to_string()),
        ("Hard links", counts.hard_links.to_string()),
        ("Soft links", counts.symlinks.to_string()),
        ("Data blocks written", image.blocks.to_string()),
        ("Fragment blocks written", image.fragments.to_string()),
        ("Duplicate files omitted", saved.duplicate_files.to_string()),
        ("Duplicate blocks omitted", (saved.duplicate_blocks - saved.copied_blocks).to_string()),
        ("Duplicate fragments omitted", saved.duplicate_tails.to_string()),
        ("Bytes of holes omitted", saved.sparse_bytes.to_string()),
        ("Total number of inodes", image.end.inodes.to_string()),
        ("Number of unique group/user IDs", image.end.ids.to_string()),
    ];
    lines.iter().map(|(what, value)| format!("{what}: {value}\n")).collect()
}
