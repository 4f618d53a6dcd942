//! The options of mkfs.erofs.

use std::ffi::OsString;
use std::path::PathBuf;

use packline_verity::Uuid;

use super::compression::{self, Algorithm};
use super::extended::{self, TypedWord};
use crate::args::value::{List, number, one_of, text};
use crate::compat::erofs_utils::c_number;

/// The longest label in bytes.
const LABEL_MOST: usize = 15;

/// Options of the image's format.
#[derive(Debug, clap::Args)]
pub struct FormatOptions {
    /// Set the size of blocks, which is rounded down to a power of two; only 4096 is supported, and 512 with --tar=i, which always has it
    #[arg(short = 'b', value_name = "BYTES", value_parser = text(compression::parse_block))]
    pub block_size: Option<u64>,
    /// Compress with NAME: lz4, lz4hc, lzma, deflate, libdeflate or zstd; LIST is a level, or level=N and for lzma lc=N, lp=N, pb=N.
    /// Without -z, nothing is compressed
    #[arg(short = 'z', value_name = "NAME[,LIST]", value_parser = text(compression::parse))]
    pub algorithm: Option<Algorithm>,
    /// Set the size of compressed clusters. Four times as much content is compressed together, at most 1 MiB
    #[arg(short = 'C', value_name = "BYTES", default_value = "4096", value_parser = text(compression::parse_cluster))]
    pub cluster: u64,
    /// Compress at most this much content together
    #[arg(long, value_name = "BYTES", value_parser = text(compression::parse_extent))]
    pub max_extent_bytes: Option<u64>,
    /// Store the content of files in FILE instead of the image, which then has only metadata. FILE is a device for mount -o device=FILE. Needs
    /// --chunksize
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub blobdev: Option<PathBuf>,
    /// Store content in chunks of this many bytes, a power of two, without compression. Equal chunks are stored once; larger chunks are compared in
    /// pieces of 1 MiB
    #[arg(long = "chunksize", value_name = "BYTES", value_parser = text(compression::parse_chunk))]
    pub chunk: Option<u64>,
    /// Start the data of each file at a multiple of this many blocks
    #[arg(long, value_name = "BLOCKS", default_value = "0", value_parser = number::<u32>(0..=1 << 18))]
    pub dsunit: u32,
    /// Read from FILE which files are compressed: lines of a cluster size (0: not compressed), optionally the number of an algorithm (only 0),
    /// and a POSIX extended regular expression of a path. The first match counts; a size other than 0 is -C
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub compress_hints: Option<PathBuf>,
    /// Set features of the format, separated by commas; see below
    #[arg(short = 'E', value_name = "WORDS", value_parser = crate::args::value::list(extended::parse))]
    pub extended: Vec<List<TypedWord>>,
    /// Set features by bits, the lowest first: legacy-compress, ztailpacking, fragments, all-fragments, dedupe, fragdedupe, 48bit, dot-omitted
    #[arg(long, value_name = "BITS", value_parser = c_number().and_then(|bits| extended::parse_bits(bits).map(List)))]
    pub zfeature_bits: Option<List<TypedWord>>,
    /// Compress directories too; needs -z and Linux 6.1; 0 leaves them as they are (default)
    #[arg(long = "zD", value_name = "0|1", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    #[arg(value_parser = one_of([("0", false), ("1", true)]))]
    pub compressed_directories: Option<bool>,
    /// Set the label, at most 15 bytes
    #[arg(short = 'L', value_name = "LABEL", value_parser = text(label))]
    pub label: Option<String>,
    /// Set the UUID; 'clear' is all zeros, 'random' is derived from the content [default: derived from the content]
    #[arg(short = 'U', value_name = "UUID", value_parser = text(uuid))]
    pub uuid: Option<ImageUuid>,
    /// Store this start of names of extended attributes, such as trusted.overlay., once for all names; needs Linux 6.4
    #[arg(long, value_name = "PREFIX")]
    pub xattr_prefix: Vec<OsString>,
    /// Pad the image to a multiple of this many blocks
    #[arg(long, value_name = "BLOCKS", default_value = "1", value_parser = number::<u32>(0..=1 << 18))]
    pub fsalignblks: u32,
    /// Write the image at this byte of FILE
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = c_number())]
    pub offset: u64,
}

/// What -U asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageUuid {
    Derived,
    Given([u8; 16]),
}

/// The times of the image and of its entries.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Times")]
pub struct TimeOptions {
    /// Set the time of the image, and of all entries, in seconds since 1970 [default: now for the image]
    #[arg(short = 'T', value_name = "TIME", value_parser = c_number().and_then(time))]
    pub time: Option<u32>,
    /// Set only the time of the image
    #[arg(long, overrides_with = "all_time")]
    pub mkfs_time: bool,
    /// Set the time of all entries too, with -T (default)
    #[arg(long, overrides_with = "mkfs_time")]
    pub all_time: bool,
    /// Give all entries the time of the image
    #[arg(long, overrides_with = "preserve_mtime")]
    pub ignore_mtime: bool,
    /// Keep the times of entries (default)
    #[arg(long, overrides_with = "ignore_mtime")]
    pub preserve_mtime: bool,
}

/// Owners, attributes and links of entries.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Attributes")]
pub struct AttributeOptions {
    /// Set owner and group of everything to 0
    #[arg(long, overrides_with_all = ["force_uid", "force_gid"])]
    pub all_root: bool,
    /// Set the owner of everything
    #[arg(long, value_name = "UID", value_parser = c_number().and_then(id))]
    pub force_uid: Option<u32>,
    /// Set the group of everything
    #[arg(long, value_name = "GID", value_parser = c_number().and_then(id))]
    pub force_gid: Option<u32>,
    /// Add a number to all owners
    #[arg(long, value_name = "NUMBER", default_value = "0", value_parser = c_number().and_then(id))]
    pub uid_offset: u32,
    /// Add a number to all groups
    #[arg(long, value_name = "NUMBER", default_value = "0", value_parser = c_number().and_then(id))]
    pub gid_offset: u32,
    /// Leave out extended attributes if NUMBER is negative. Otherwise sets that repeat are shared, whatever NUMBER is
    #[arg(short = 'x', value_name = "NUMBER", default_value = "2", value_parser = number::<i64>(i64::MIN..=i64::MAX))]
    pub xattr_tolerance: i64,
    /// Set SELinux labels by this file, which has the format of selabel_file(5)
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file_contexts: Option<PathBuf>,
    /// Set owners, permissions and capabilities by this file, as Android's fs_config: a path, UID, GID, mode and capabilities=N on each line
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub fs_config_file: Option<PathBuf>,
    /// Look up paths in --file-contexts and --fs-config-file below this directory
    #[arg(long, value_name = "DIR")]
    pub mount_point: Option<OsString>,
    /// Store each name of a file as a separate file
    #[arg(long)]
    pub hard_dereference: bool,
}

/// Which entries are read, and from what.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Sources")]
pub struct SourceOptions {
    /// Leave out this path, relative to the source, and everything below it
    #[arg(long, value_name = "PATH")]
    pub exclude_path: Vec<OsString>,
    /// Leave out the paths that match a POSIX extended regular expression, and everything below them
    #[arg(long, value_name = "REGEX")]
    pub exclude_regex: Vec<OsString>,
    /// Read a tar, from SOURCE or standard input. 'f' (default) stores its content. 'i' stores only metadata, and the tar is the device: appended to
    /// the image, or named by mount -o device=TAR. 'headerball' is not supported yet
    #[arg(long, value_name = "MODE", require_equals = true)]
    pub tar: Option<Option<String>>,
    /// Turn the whiteouts of AUFS in a tar into those of overlayfs, and leave out other attributes of overlayfs
    #[arg(long)]
    pub aufs: bool,
    /// Leave out whiteouts and opaque marks; 0 keeps them
    #[arg(long, value_name = "0|1", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    #[arg(value_parser = one_of([("0", false), ("1", true)]))]
    pub ovlfs_strip: Option<bool>,
    /// Store contents of a tar in the order of paths, or of the tar (none) [default: none]
    #[arg(long, value_name = "ORDER", value_parser = one_of([("path", true), ("none", false)]))]
    pub sort: Option<bool>,
    /// Write the plain tar to FILE. The compression of a tar is always detected
    #[arg(long, visible_alias = "gzip", value_name = "FILE", require_equals = true)]
    pub ungzip: Option<Option<PathBuf>>,
    /// Same as --ungzip
    #[arg(long, visible_alias = "unlzma", value_name = "FILE", require_equals = true)]
    pub unxz: Option<Option<PathBuf>>,
    /// Write all data, the default; 'rvsp' and '0' are not supported yet
    #[arg(long, value_name = "MODE", require_equals = true, overrides_with = "incremental")]
    pub clean: Option<Option<String>>,
    /// Add the source to the image FILE, as a layer over it, and write the result to FILE. Options apply to all entries. 'rvsp' and '0' are not
    /// supported yet
    #[arg(long, value_name = "MODE", require_equals = true, overrides_with = "clean")]
    pub incremental: Option<Option<String>>,
}

/// Output, and the machine.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct RunOptions {
    /// Print only warnings and errors if LEVEL is 0
    #[arg(short = 'd', value_name = "LEVEL", default_value = "2", value_parser = number::<u8>(0..=9))]
    pub level: u8,
    /// Print only warnings and errors
    #[arg(long)]
    pub quiet: bool,
    /// Run this many worker threads, or none with 0 [default: number of CPUs]
    #[arg(long, value_name = "N", value_parser = number::<usize>(0..=i64::from(i32::MAX)))]
    pub workers: Option<usize>,
}

/// Options without effect here.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Without effect")]
pub struct IdleOptions {
    /// Accepted without effect: memory limits the queues. A NUMBER that is neither 0 nor a power of two is an error
    #[arg(long, value_name = "NUMBER", value_parser = text(compression::parse_queue))]
    async_queue_limit: Option<u64>,
    /// Accepted without effect: all metadata is in one zone
    #[arg(long = "MZ", value_name = "PARTS", num_args = 0..=1, require_equals = true, value_parser = text(zones))]
    metadata_zone: Option<()>,
    /// Accepted without effect: --incremental writes a complete image, so no space is reserved in the root
    #[arg(long, value_name = "BYTES", value_parser = c_number())]
    root_xattr_isize: Option<u64>,
}

/// Parses a label.
fn label(text: &str) -> Result<String, String> {
    let expected = format!("expected at most {LABEL_MOST} bytes");
    if text.len() > LABEL_MOST { Err(format!("invalid volume label ({expected})")) } else { Ok(text.to_string()) }
}

fn uuid(text: &str) -> Result<ImageUuid, String> {
    match text {
        "clear" => Ok(ImageUuid::Given([0; 16])),
        "random" => Ok(ImageUuid::Derived),
        _ => text.parse().map(|Uuid(bytes)| ImageUuid::Given(bytes)),
    }
}

fn time(seconds: u64) -> Result<u32, String> {
    u32::try_from(seconds).map_err(|_| format!("invalid UNIX timestamp {seconds} (expected 0 to 2^32-1)"))
}

/// Parses an owner or a group, or a number that is added to it.
fn id(number: u64) -> Result<u32, String> {
    let id = u32::try_from(number).ok().filter(|id| *id != u32::MAX);
    id.ok_or_else(|| format!("invalid uid or gid {number} (expected 0 to 2^32-2)"))
}

fn zones(text: &str) -> Result<(), String> {
    let is_known = text == "0" || text.bytes().all(|letter| matches!(letter, b'i' | b'd'));
    if is_known { Ok(()) } else { Err(format!("invalid metazone flags '{text}' (expected 0, i, d or id)")) }
}
