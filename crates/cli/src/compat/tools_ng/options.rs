//! The options that tar2sqfs and gensquashfs share, with the defaults of squashfs-tools-ng 1.3.

use std::path::Path;

use packline::requests::{DEFAULT_META, ImageRequest, PackRequest};
use packline::{Resources, Source};
use packline_codec::Spec;
use packline_squashfs::{BlockSize, DirectoryLinks, Fragments, Options};
use packline_tree::{Meta, Time};

use crate::args::cache::CacheOptions;
use crate::args::value::{block_size, number, one_of, size, text_or_help};
use crate::args::wrong;
use crate::host::Host;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::parse_number;
use crate::ui::target;

/// The compressors by their names in squashfs-tools-ng; the first is the default.
const COMPRESSORS: [&str; 6] = ["xz", "zstd", "gzip", "lz4", "lzo", "lzma"];
/// The maximum number of worker threads.
const JOBS_MOST: i64 = 1024;

/// Options of compression and of the image's layout.
#[derive(Debug, clap::Args)]
pub struct ImageOptions {
    /// Compress data and metadata with this compressor
    #[arg(short, long, value_name = "NAME", default_value = COMPRESSORS[0])]
    #[arg(value_parser = one_of(COMPRESSORS.map(|name| (name, name))))]
    compressor: &'static str,
    /// Set options of the compressor, separated by commas; 'help' lists them
    #[arg(short = 'X', long, value_name = "OPTIONS", value_parser = text_or_help(help))]
    comp_extra: Option<String>,
    /// Run this many compressing threads, at least 1 [default: number of CPUs]
    #[arg(short = 'j', long, value_name = "COUNT", value_parser = number::<i64>(i64::MIN..=i64::MAX).and_then(jobs))]
    num_jobs: Option<usize>,
    /// Limit the blocks in flight, at least 3, and so the memory; by default enough for all threads
    #[arg(short = 'Q', long, value_name = "COUNT", value_parser = number::<i64>(i64::MIN..=i64::MAX))]
    queue_backlog: Option<i64>,
    /// Set the block size, a power of two
    #[arg(short, long, value_name = "SIZE", default_value = BlockSize::DEFAULT_TEXT, value_parser = block_size())]
    block_size: BlockSize,
    /// Pad the image to a multiple of this size
    #[arg(short = 'B', long, value_name = "SIZE", default_value = "4K", value_parser = size(1 << 10..=1 << 30))]
    dev_block_size: u64,
    /// Set attributes of implied directories, and of a root that is not described: a comma-separated list of uid=N, gid=N, mode=N and
    /// mtime=N [default: 0, 0, 0755, and SOURCE_DATE_EPOCH or 0]
    #[arg(short, long, value_name = "LIST")]
    defaults: Option<String>,
    /// Write an export table, which NFS needs
    #[arg(short, long)]
    exportable: bool,
    /// Do not pack the tail ends of files larger than a block together
    #[arg(short = 'T', long)]
    no_tail_packing: bool,
}

/// Options of the output.
#[derive(Debug, clap::Args)]
pub struct OutputOptions {
    /// Replace an existing output
    #[arg(short, long)]
    pub force: bool,
    /// Print neither names nor statistics
    #[arg(short, long)]
    pub quiet: bool,
    /// Read the image back before it gets its name, and compare each block with the content that was packed
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    cache: CacheOptions,
}

impl OutputOptions {
    /// Returns the request to pack `source` into an image at `path`.
    pub fn request(
        &self,
        source: Source,
        path: &Path,
        mut image: ImageRequest,
        io: &mut Io,
    ) -> Result<PackRequest, Failure> {
        let target = target::image(path, self.force, io)?;
        image.verify = self.verify;
        image.cache = self.cache.open(true, io)?;
        let mut request = PackRequest::new(source, target, image);
        request.temporaries = io.temporaries.clone();
        Ok(request)
    }
}

/// Returns the help after the options.
pub fn details() -> String {
    format!(
        "Compressors: {} (default: {}).\nA --defaults value that is empty or not a number is an error (1.3.1 uses 0).\n\
         An image for standard output (-) or a pipe is written when it is complete; names and statistics then go to standard error.",
        COMPRESSORS.join(", "),
        COMPRESSORS[0]
    )
}

fn jobs(jobs: i64) -> Result<usize, String> {
    match jobs.max(1) {
        jobs if jobs > JOBS_MOST => Err(format!("{jobs} is out of range (expected at most {JOBS_MOST})")),
        jobs => Ok(jobs as usize),
    }
}

/// Returns the text of `-X help`: the options of every compressor.
fn help(text: &str) -> Option<Result<String, String>> {
    let all = || COMPRESSORS.into_iter().map(Spec::help).collect::<Result<Vec<_>, _>>();
    (text == "help").then(|| all().map(|texts| texts.join("\n")).map_err(|error| error.to_string()))
}

impl ImageOptions {
    /// Returns the options of the image. Directories count links as in squashfs-tools-ng: 2 and all children.
    pub fn image(&self, defaults: Meta) -> Result<Options, Failure> {
        let codec = Spec::parse_with_name(self.compressor, self.comp_extra.as_deref().unwrap_or(""));
        let mut image = Options::new(codec.map_err(|error| wrong("comp-extra", error))?);
        image.block_size = self.block_size;
        image.pad = self.dev_block_size as u32;
        image.exportable = self.exportable;
        image.created = defaults.mtime.seconds() as u32;
        image.directory_links = DirectoryLinks::Children;
        if self.no_tail_packing {
            image.fragments = Fragments::SmallFiles;
        }
        Ok(image)
    }

    /// Returns workers and memory. A backlog becomes a limit in bytes on content in flight.
    pub fn resources(&self, host: &Host) -> Resources {
        let backlog = self.queue_backlog.filter(|backlog| *backlog >= 1);
        let mut resources = host.resources_or(self.num_jobs, None);
        resources.window = backlog.map(|blocks| (blocks.max(3) as u64).saturating_mul(self.block_size.into()));
        resources
    }

    /// Returns the attributes of entries that the source does not describe.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an unknown key, and for a value that is not a number or out of range.
    pub fn defaults(&self, io: &mut Io) -> Result<Meta, Failure> {
        let mut meta = Meta { mtime: Time::from_seconds(source_date_epoch(io).into()), ..DEFAULT_META };
        for item in self.defaults.as_deref().unwrap_or("").split(',').filter(|item| !item.is_empty()) {
            set_default(&mut meta, item).map_err(|what| wrong("defaults", what))?;
        }
        Ok(meta)
    }
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
        "mtime" => meta.mtime = Time::from_seconds(number(i64::from(u32::MAX))?),
        _ => return Err(format!("unknown key '{key}' (expected uid, gid, mode or mtime)")),
    }
    Ok(())
}

/// Returns `SOURCE_DATE_EPOCH`, or 0 with a warning if it is not a 32-bit number.
fn source_date_epoch(io: &mut Io) -> u32 {
    match io.host.source_date_epoch.clone() {
        Some(text) if !text.is_empty() => text.parse().unwrap_or_else(|_| {
            io.eprintln(&format!("WARNING: SOURCE_DATE_EPOCH={text} is not a number from 0 to {}", u32::MAX));
            0
        }),
        _ => 0,
    }
}
