//! Options of `packline pack`: compression, layout of the image, and selection of entries.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use packline::requests::{BaseBlocks, BaseImage, Changes, ImageOptions, ImagePlace, NewRoot};
use packline_archives::tar::TarOptions;
use packline_squashfs::{BlockSize, CODECS, Fragments, Stored, codec_help};
use packline_tree::{DirectoryOptions, MountPoints, Names, NotFollowed, Patterns, ReadErrors, Symlinks};

use super::erofs;
use crate::args::patterns::Exclude;
use crate::args::text_list::{Ending, TextList};
use crate::args::value::{block_size, codecs_help, number, one_of, size, text, text_or_help};
use crate::args::wrong;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::parse_size;

/// How contents are compressed.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Compression")]
pub struct Compression {
    /// Compress with this codec: NAME[:key=value,...]; NAME:help lists the parameters
    #[arg(short, long, default_value = "zstd", value_parser = text_or_help(help_request).words(codecs))]
    pub codec: String,
    /// Set the block size, a power of two. EROFS: at least 8K, and 64K by default with lz4
    #[arg(short, long, value_name = "SIZE", default_value = BlockSize::DEFAULT_TEXT, value_parser = block_size())]
    pub block_size: BlockSize,
    /// Leave these parts of a SquashFS image uncompressed: a comma-separated list of inodes, data, fragments, xattrs, ids, or all
    #[arg(long, alias = "stored", value_name = "PARTS", value_parser = text(uncompressed_parts))]
    no_compress: Option<Stored>,
    /// Make the smallest image with this codec and block size, however long it takes. Implies --order=similar
    #[arg(long, conflicts_with_all = ["no_compress", "fragments", "no_fragments", "layout", "no_dedup", "no_sparse", "continue_on_error"])]
    pub smallest: bool,
}

/// The parts of the image, and their layout.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Image")]
pub struct Layout {
    /// Share fragment blocks among the tail ends of all files, of files smaller than a block, or of none
    #[arg(long, value_name = "WHICH", default_value = "always")]
    #[arg(value_parser = one_of([("always", Fragments::Always), ("small", Fragments::SmallFiles), ("never", Fragments::Never)]))]
    fragments: Fragments,
    /// Same as --fragments=never
    #[arg(long, conflicts_with = "fragments")]
    no_fragments: bool,
    /// Choose the on-disk layout of a SquashFS image: compact, or stable[:align=SIZE] for smaller delta updates at 1 to 3% more size
    #[arg(long, value_name = "LAYOUT", default_value = "compact", value_parser = text(layout))]
    layout: packline_squashfs::Layout,
    /// Store equal files, tail ends and blocks again each time
    #[arg(long)]
    no_dedup: bool,
    /// Store blocks of zeros as data instead of holes
    #[arg(long)]
    pub no_sparse: bool,
    /// Leave out extended attributes
    #[arg(long)]
    pub no_xattrs: bool,
    /// Write an export table, which NFS needs (only SquashFS)
    #[arg(long)]
    exportable: bool,
    /// Pad the image to a multiple of SIZE
    #[arg(long, value_name = "SIZE", default_value = "4K", value_parser = size(1..=1 << 30))]
    pad: u64,
    /// Same as --pad=1; the image then has no checksum of its data (only SquashFS)
    #[arg(long, conflicts_with = "pad")]
    no_pad: bool,
    /// Begin the image at this byte of IMAGE. A file has zeros before it, a block device keeps its bytes
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = size(0..=1 << 50))]
    pub offset: u64,
    /// Write the bytes of FILE before the image, such as the runtime of an AppImage. 'keep' takes those before the image in SOURCE
    #[arg(long, value_name = "FILE|keep", value_hint = clap::ValueHint::FilePath, conflicts_with = "offset")]
    pub prepend: Option<PathBuf>,
    /// Set the creation time (seconds since 1970, or 'now'), and clamp newer times to it [default: SOURCE_DATE_EPOCH, or 0; EROFS: a usual time]
    #[arg(long, value_parser = text(time))]
    pub time: Option<Time>,
}

/// Which entries are packed, and with which attributes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Entries")]
pub struct Entries {
    #[command(flatten)]
    pub exclude: Exclude,
    /// Pack only the entries listed in FILE, one path per line, relative to the directory SOURCE; - is standard input
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub files_from: Option<PathBuf>,
    /// Read names (--files-from) and patterns (--exclude-from) that end with a NUL byte instead of a line feed (find -print0)
    #[arg(short = '0', long)]
    null: bool,
    /// Pack only the contents of this directory of the source; the directory becomes the root
    #[arg(long, value_name = "DIR")]
    root_becomes: Option<OsString>,
    /// With --root-becomes=DIR, keep link targets /DIR/x instead of changing them to /x
    #[arg(long)]
    no_symlink_retarget: bool,
    /// Report what cannot be read, leave it out, and exit with status 3; a directory stays, but is empty
    #[arg(long = "continue")]
    continue_on_error: bool,
    /// Do not enter other file systems; mount points become empty directories
    #[arg(long)]
    one_file_system: bool,
    /// Follow symbolic links. A link that leads nowhere, or to a directory that contains the link, stays a link
    #[arg(long)]
    dereference: bool,
    /// Store each name of a file as a separate file
    #[arg(long)]
    no_hard_links: bool,
    /// Warn about faults of a tar that lose nothing, instead of failing
    #[arg(long)]
    lenient: bool,
    /// Continue after the end mark of a tar, so that concatenated tars are packed as one
    #[arg(long)]
    ignore_zeros: bool,
    /// Same as --uid=0 --gid=0
    #[arg(long)]
    all_root: bool,
    /// Set the owner of everything
    #[arg(long, value_parser = number::<u32>(0..=u32::MAX.into()))]
    uid: Option<u32>,
    /// Set the group of everything
    #[arg(long, value_parser = number::<u32>(0..=u32::MAX.into()))]
    gid: Option<u32>,
    /// Set the modification time of everything, in seconds since 1970
    #[arg(long, value_name = "SECONDS", value_parser = number::<i64>(0..=u32::MAX.into()))]
    mtime: Option<i64>,
}

/// `--base` and `--base-any`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cache")]
pub struct BaseOptions {
    /// Copy compressed blocks from this earlier image where the content is the same; the output has the same bytes as without --base
    #[arg(long, value_name = "IMAGE", value_hint = clap::ValueHint::FilePath, conflicts_with = "dry_run")]
    base: Vec<PathBuf>,
    /// Also copy blocks that other programs, versions or levels compressed; the bytes of the output may then differ (only SquashFS)
    #[arg(long)]
    base_any: bool,
}

impl BaseOptions {
    pub fn images(&self) -> Vec<BaseImage> {
        let blocks = if self.base_any { BaseBlocks::Any } else { BaseBlocks::Exact };
        let image = |path: &PathBuf| {
            let mut image = BaseImage::new(ImagePlace::new(path));
            image.blocks = blocks;
            image
        };
        self.base.iter().map(image).collect()
    }
}

pub fn codecs() -> Vec<String> {
    CODECS.iter().map(ToString::to_string).collect()
}

/// Returns the answer to `--codec help` and `--codec CODEC:help` of `pack`.
fn help_request(codec: &str) -> Option<Result<String, String>> {
    let answer = codec_help_request(codec)?;
    Some(if codec == "help" { answer.map(|help| help + erofs::CODECS_HELP) } else { answer })
}

/// Returns the answer to `--codec help` and `--codec CODEC:help`.
pub fn codec_help_request(codec: &str) -> Option<Result<String, String>> {
    if codec == "help" {
        return Some(Ok(codecs_help(CODECS.iter().copied())));
    }
    codec.strip_suffix(":help").map(|name| codec_help(name).map_err(|error| error.to_string()))
}

/// A value of `--time`.
#[derive(Debug, Clone, Copy)]
pub enum Time {
    Now,
    Seconds(u32),
}

fn time(text: &str) -> Result<Time, String> {
    let expected = || format!("'{text}' is not a time (expected 'now' or {})", seconds_expected());
    if text == "now" { Ok(Time::Now) } else { text.parse().map(Time::Seconds).map_err(|_| expected()) }
}

/// Returns the expected value of an option in seconds, for messages.
pub fn seconds_expected() -> String {
    format!("a number of seconds from 0 to {}", u32::MAX)
}

fn uncompressed_parts(text: &str) -> Result<Stored, String> {
    let mut parts = Stored::default();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        match part {
            "inodes" => parts.inodes = true,
            "data" => parts.data = true,
            "fragments" => parts.fragments = true,
            "xattrs" => parts.xattrs = true,
            "ids" => parts.ids = true,
            "all" => parts = Stored { inodes: true, data: true, fragments: true, xattrs: true, ids: true },
            _ => return Err(format!("unknown part '{part}' (expected inodes, data, fragments, xattrs, ids or all)")),
        }
    }
    Ok(parts)
}

fn layout(text: &str) -> Result<packline_squashfs::Layout, String> {
    let align = match text {
        "compact" => return Ok(packline_squashfs::Layout::Compact),
        "stable" => return Ok(packline_squashfs::Layout::STABLE),
        _ => text.strip_prefix("stable:align=").and_then(|size| parse_size(OsStr::new(size)).ok()),
    };
    match align.and_then(|size| u32::try_from(size).ok()) {
        Some(align) if align.is_power_of_two() && (512..=1 << 20).contains(&align) => {
            Ok(packline_squashfs::Layout::Stable { align })
        }
        _ => Err(format!(
            "'{text}' is not a layout (expected compact, stable, or stable:align=SIZE with a power of two from 512 to 1M)"
        )),
    }
}

impl Layout {
    /// Sets all options of an image created at `time`, except the codec, the block size and the options of EROFS.
    pub fn apply(&self, compression: &Compression, time: u32, image: &mut ImageOptions) {
        if let ImageOptions::SquashFs(image) = image {
            image.stored = compression.no_compress.unwrap_or_default();
            image.exportable = self.exportable;
            image.layout = self.layout;
        }
        let (ImageOptions::SquashFs(packline_squashfs::Options {
            fragments,
            deduplicate,
            sparse,
            xattrs,
            pad,
            created,
            ..
        })
        | ImageOptions::Erofs(packline_erofs::Options {
            fragments, deduplicate, sparse, xattrs, pad, created, ..
        })) = image;
        *fragments = if self.no_fragments { Fragments::Never } else { self.fragments };
        *deduplicate = !self.no_dedup;
        *sparse = !self.no_sparse;
        *xattrs = !self.no_xattrs;
        *pad = if self.no_pad { 1 } else { self.pad as u32 };
        *created = time;
    }
}

impl Entries {
    /// Returns the changes of entries.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a new root that is not below the old one.
    pub fn changes(&self) -> Result<Changes, Failure> {
        let root_only = self.all_root.then_some(0);
        let new_root = |path: &OsString| NewRoot::new(path.as_encoded_bytes(), !self.no_symlink_retarget);
        Ok(Changes {
            uid: self.uid.or(root_only),
            gid: self.gid.or(root_only),
            mtime: self.mtime,
            root: self.root_becomes.as_ref().map(new_root).transpose().map_err(|error| wrong("root-becomes", error))?,
            ..Changes::default()
        })
    }

    /// Returns the patterns of excluded entries.
    ///
    /// # Errors
    /// [`Failure::Usage`] for `--null` without a list, and for an invalid pattern.
    pub fn excludes(&self, io: &mut Io) -> Result<Patterns, Failure> {
        if self.null && self.files_from.is_none() && !self.exclude.has_files() {
            return Err(wrong("null", "has no effect without --files-from or --exclude-from"));
        }
        self.exclude.patterns(Ending::of(self.null), io)
    }

    /// Returns the entries of the directory `root` that a file names, or `None` if all are packed.
    ///
    /// # Errors
    /// [`Failure::Failed`] if the file cannot be read, or if a name does not exist in the directory.
    pub fn names(&self, root: &Path, io: &mut Io) -> Result<Option<Names>, Failure> {
        let Some(path) = &self.files_from else { return Ok(None) };
        let list = TextList::read(path, Ending::of(self.null), io)?;
        Names::existing(root, &list.name, list.items()).map(Some).map_err(Failure::failed)
    }

    /// Returns whether entries that cannot be read are left out.
    pub fn leaves_out(&self) -> bool {
        self.continue_on_error
    }

    pub fn tar(&self) -> TarOptions {
        TarOptions { lenient: self.lenient, ignore_zeros: self.ignore_zeros, ..TarOptions::default() }
    }

    /// Returns the option that reads names or patterns from standard input.
    pub fn stdin_option(&self) -> Option<&'static str> {
        let names = self.files_from.as_ref().is_some_and(|path| path.as_os_str() == "-");
        if names { Some("files-from") } else { self.exclude.takes_stdin().then_some("exclude-from") }
    }

    /// Returns how a directory is read, apart from its names, patterns and threads.
    pub fn directory_options(&self, layout: &Layout) -> DirectoryOptions {
        let mut options = DirectoryOptions::default();
        options.xattrs = !layout.no_xattrs;
        options.hard_links = !self.no_hard_links;
        if self.continue_on_error {
            options.errors = ReadErrors::LeaveOut;
        }
        options.mount_points = if self.one_file_system { MountPoints::Empty } else { MountPoints::Enter };
        options.symlinks = if self.dereference { Symlinks::Followed(NotFollowed::Kept) } else { Symlinks::Kept };
        options
    }
}
