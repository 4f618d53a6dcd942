//! Packs trees and streams into compressed containers, and reads them back, on all processors.
//!
//! - [`Packer`] packs a directory or a tar into a SquashFS image or a .lrz file.
//! - [`Image`] reads an image: entries, contents, checks.
//! - [`Unpacker`] makes a directory or a tar of an image or a .lrz file.
//! - [`compress`] and [`decompress`] are for single files and streams: .lrz and .pln.
//! - [`requests`] has every option of every operation, as the commands of `packline` use them.
//!
//! The bytes of an output depend on the input and the options alone, never on [`Resources`]. An output that is a file has its
//! name only when it is whole and synced. Nothing here reads the clock, the environment or the number of processors.
//!
//! ```
//! use packline::{Image, Packer, Resources, Selection, Source, Unpacker};
//!
//! # fn main() -> Result<(), packline::Error> {
//! # let top = tempfile::tempdir().unwrap();
//! # std::env::set_current_dir(top.path()).unwrap();
//! # std::fs::create_dir_all("rootfs/etc").unwrap();
//! # std::fs::write("rootfs/etc/os-release", "x").unwrap();
//! let resources = Resources::new(4).memory_limit(256 << 20);
//! Packer::new(Source::directory("rootfs")).codec("zstd:level=19").resources(resources).write_to("root.sqfs")?;
//!
//! let image = Image::open("root.sqfs")?;
//! for entry in image.entries(&Selection::pattern("etc/**")?) {
//!     println!("{}", entry?.path.escape_ascii());
//! }
//! let mut content = Vec::new();
//! image.read("etc/os-release", &mut content)?;
//! Unpacker::new("root.sqfs").to_tar("root.tar.zst")?;
//! # Ok(())
//! # }
//! ```

mod attribute_overrides;
mod changes;
mod codecs;
mod container;
mod file_kind;
mod filtered;
mod listing;
mod lrzip;
mod memory;
mod observed_source;
mod output_stream;
mod pack;
mod packer;
mod pln_file;
mod request;
mod source;
mod squashfs;
mod stream;
mod summary;
mod survey;
mod unpacker;

pub use attribute_overrides::AttributeOverrides;
pub use changes::{Changes, NewRoot, Unsupported};
pub use codecs::{lrz_options, pln_codings};
pub use container::Container;
pub use file_kind::FileKind;
pub use listing::{List, hints_of, tar_entries};
pub use lrzip::{
    LrzRequest, LrzSource, LrzTreeCounts, LrzTreeRequest, LrzUnpackRequest, OpenedLrz, lrz_entries, lrz_open,
    lrz_open_stream, lrz_pack, lrz_unpack, lrz_unpack_tree,
};
pub use pack::pack;
pub use packer::{Packed, Packer};
pub use packline_codec as codec;
pub use packline_engine as engine;
pub use packline_engine::CancelToken;
#[doc(inline)]
pub use packline_image::OpenedImage as Image;
pub use packline_image::{
    Compared, ContentKind, DiffOrder, DiffPlace, DiffRequest, DiffSummary, Difference, Duplicates, Error, ImageEntries,
    ImageInfo, ImagePlace, MountFlag, MountFlags, MountRequest, Mounted, Omit, OpenedImage, Output, ReadDemand,
    ReadPlan, RestoreAttributes, SelectedWalk, Selection, TarOutRequest, TarRoot, TarScope, TarSummary, TreeCounts,
    Unmounter, UnpackCounts, UnpackRequest, UnpackSummary, What, cat, diff, metadata_cache, mount, tar_out, unpack,
    verify,
};
pub use packline_lrz as lrz;
pub use packline_pln as pln;
pub use packline_runtime as runtime;
pub use packline_runtime::{
    EntryInfo, EntryKind, FileIdentity, Observer, Progress, Resources, Temporaries, Unobserved, all_must_differ,
    check_writable, must_differ, unsynced, write_file,
};
pub use packline_squashfs as image;
pub use packline_tree as tree;
pub use pln_file::{PlnRequest, PlnUnpackRequest, pln_compress, pln_info, pln_unpack, pln_verify};
pub use request::{DEFAULT_META, Hints, PackRequest, Source};
pub use stream::{Input, StreamOptions, compress, decompress};
pub use summary::PackSummary;
pub use survey::survey;
pub use unpacker::{Unpacked, Unpacker};
