//! Packs trees and streams into compressed containers, and reads them back, on all processors.
//!
//! - [`Packer`] packs a directory, a tar, an image or a [`Tree`] that a program builds into a SquashFS image, an EROFS image, a tar or a
//!   .lrz file.
//! - [`Image`] reads a SquashFS or EROFS image: entries, contents, checks. [`Image::open_file`] opens a file in it, which any number of threads
//!   may read at any position.
//! - [`PlnReader`] reads the content of a .pln file at any position.
//! - [`Unpacker`] unpacks an image, a tar or a .lrz file to a directory or a tar.
//! - [`compress`] and [`decompress`] are for single files and streams: .lrz and .pln.
//! - [`Error::kind`] says what an error means to a program.
//! - [`requests`] has every option of every operation, as the commands of `packline` use them.
//!
//! The bytes of an output depend on the input and the options alone, never on [`Resources`]. An output file gets its name when it is
//! complete and synced. The library never reads the clock or the environment. It reads the number of processors for
//! [`Resources::default`], which all operations use by default.
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
//!     println!("{}", entry?.path().escape_ascii());
//! }
//! let mut content = Vec::new();
//! image.read("etc/os-release", &mut content)?;
//! let file = image.open_file("etc/os-release")?; // std::io::Read and Seek
//! assert_eq!(file.size(), content.len() as u64);
//! Unpacker::new("root.sqfs").to_tar("root.tar.zst")?;
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod container;
mod error;
mod error_kind;
mod pack;
mod sidecars;
mod sources;
mod streams;
mod text;
mod unpack;

pub use container::by_name::Container;
pub use container::entry::Entry;
pub use container::image::Image;
pub use container::image_file::ImageFile;
pub use container::input::Input;
pub use container::selection::Selection;
pub use error::{Error, StreamError};
pub use error_kind::ErrorKind;
pub use pack::packer::{Packed, Packer};
#[doc(inline)]
pub use packline_archives::{ContentOrder, FileList, RestOrder};
#[doc(inline)]
pub use packline_blocks::Layout;
#[doc(inline)]
pub use packline_cache::BlockCache;
pub use packline_engine::CancelToken;
#[doc(inline)]
pub use packline_image::{EntryFault, Output, RestoreAttributes};
/// Bytes that can be read at any offset, by several threads at once, for [`Input::custom`].
pub use packline_runtime::Input as ReadAt;
#[doc(inline)]
pub use packline_runtime::{
    EntryInfo, EntryKind, FormatFault, MemoryFault, Observer, Pass, Problem, Progress, Resources, StoredData,
    Unobserved,
};
#[doc(inline)]
pub use packline_tree::{Device, Kind, Meta, ReadErrors, Time, Xattr};
#[doc(inline)]
pub use packline_volume::{Finding, Severity};
#[cfg(feature = "verity")]
pub use sidecars::verity::{VerityOptions, VerityPlace};
pub use sources::source::Source;
pub use sources::tree::{Content, Tree, TreeEntry};
#[cfg(any(feature = "lrz", feature = "pln"))]
pub use streams::convert::{compress, decompress};
#[cfg(feature = "pln")]
pub use streams::encrypted::{Identities, Recipients};
#[cfg(feature = "pln")]
pub use streams::pln_reader::PlnReader;
#[cfg(any(feature = "lrz", feature = "pln"))]
pub use streams::request::StreamOptions;
pub use unpack::unpacker::{Unpacked, Unpacker};

/// Requests with every option, as the commands fill them. Their fields have types of the lower crates.
///
/// Operations on images alone are in `packline_image`.
pub mod requests {
    pub use crate::container::archive::{Archive, ArchiveOptions, OpenedTar, TarOrStream, TarWork};
    pub use crate::container::by_magic::ContentKind;
    pub use crate::container::file_kind::FileKind;
    pub use crate::container::image_place::{ErofsImage, ImagePlace, SquashFsImage, SuperblockChecksum};
    pub use crate::container::opened_file::OpenedFile;
    pub use crate::pack::bases::{BaseBlocks, BaseImage};
    pub use crate::pack::image_options::ImageOptions;
    #[cfg(feature = "pln")]
    pub use crate::pack::in_pln::{EnclosingPln, pack_in_pln};
    pub use crate::pack::prepended::Prepended;
    #[cfg(feature = "lrz")]
    pub use crate::pack::request::LrzRequest;
    pub use crate::pack::request::{EntryRequest, ImageRequest, PackContainer, PackRequest, TarRequest};
    pub use crate::pack::summary::{DryRun, ImageSummary, PackSummary, PackedTar, WrittenEnd, WrittenImage};
    pub use crate::pack::temporary::temporary_image;
    pub use crate::pack::{dry_run, pack};
    #[cfg(feature = "recovery")]
    pub use crate::sidecars::recovery::{
        ProtectRequest, RecoveryState, RepairRequest, examine, is_later, protect, recovery_at_end, recovery_info,
        repair, sidecar_of,
    };
    #[cfg(feature = "verity")]
    pub use crate::sidecars::verity::{
        AppendedTree, VerityCheck, VerityOptions, VerityPlace, VerityRequest, VeritySummary, appended_tree,
        read_signer, refuse_incomplete_tree, verity, verity_check,
    };
    pub use crate::sources::attribute_overrides::AttributeOverrides;
    pub use crate::sources::changes::limits::ChangedTimes;
    pub use crate::sources::changes::{Changes, EntryEdit, NewRoot, Unsupported};
    pub use crate::sources::directories::Part;
    pub use crate::sources::image::AppendTo;
    pub use crate::sources::listing::{Hints, List, hints_of};
    pub use crate::sources::planned::DEFAULT_META;
    pub use crate::sources::source::Stack;
    pub use crate::sources::survey::survey;
    #[cfg(feature = "pln")]
    pub use crate::streams::codecs::pln_codings;
    #[cfg(feature = "delta")]
    pub use crate::streams::delta::{DeltaRequest, PatchRequest, delta, delta_info, patch};
    #[cfg(feature = "pln")]
    pub use crate::streams::encrypted::Encryption;
    #[cfg(feature = "lrz")]
    pub use crate::streams::lrz::tree::lrz_unpack_tree;
    #[cfg(feature = "lrz")]
    pub use crate::streams::lrz::{
        LrzUnpackRequest, OpenedLrz, lrz_open, lrz_open_stream, lrz_pack, lrz_tar, lrz_unpack,
    };
    #[cfg(feature = "pln")]
    pub use crate::streams::pln::{
        PlnFinding, PlnInfo, PlnUnpackRequest, pln_compress, pln_info, pln_unpack, pln_verify,
    };
    #[cfg(any(feature = "lrz", feature = "pln"))]
    pub use crate::streams::request::CompressRequest;
    pub use crate::unpack::extraction::TarTreeCounts;
    pub use crate::unpack::tar_cat::tar_cat;
    pub use crate::unpack::{Destination, UnpackSummary, unpack, unpack_tar};
    #[cfg(feature = "oci")]
    pub use packline_archives::oci::{
        OciDetails, OciImage, OciLayer, OciOptions, OciPlace, Platform, RegistryClient, RegistryRoot, lacks_platform,
    };
    pub use packline_image::UnpackRequest;
}

/// The programs of the guide, which are compiled as documentation tests.
#[cfg(all(doctest, feature = "pln"))]
#[doc = include_str!("../../../docs/guide/src/library.md")]
struct GuidePrograms;

/// The examples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
