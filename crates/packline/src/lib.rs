//! Packs trees and streams into compressed containers, and reads them back, on all processors.
//!
//! - [`Packer`] packs a directory or a tar into a SquashFS image or a .lrz file.
//! - [`Image`] reads an image: entries, contents, checks. [`Image::open_file`] opens a file in it for reading at any position.
//! - [`PlnReader`] reads the content of a .pln file at any position.
//! - [`Unpacker`] makes a directory or a tar of an image or a .lrz file.
//! - [`compress`] and [`decompress`] are for single files and streams: .lrz and .pln.
//! - [`requests`] has every option of every operation, as the commands of `packline` use them.
//!
//! The bytes of an output depend on the input and the options alone, never on [`Resources`]. An output that is a file has its
//! name only when it is whole and synced. Nothing here reads the clock or the environment; the number of processors is read for
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
//!     println!("{}", entry?.path.escape_ascii());
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

#[cfg(any(feature = "lrz", feature = "pln"))]
mod codecs;
mod container;
#[cfg(feature = "delta")]
mod delta_file;
#[cfg(feature = "pln")]
mod encrypted;
mod error;
mod input;
#[cfg(feature = "lrz")]
mod lrzip;
#[cfg(any(feature = "lrz", feature = "pln"))]
mod opened_input;
#[cfg(any(feature = "lrz", feature = "pln"))]
mod output_stream;
mod pack;
#[cfg(feature = "pln")]
mod pln_file;
#[cfg(feature = "pln")]
mod pln_reader;
#[cfg(feature = "recovery")]
mod recovery;
#[cfg(feature = "pln")]
mod resumed_sink;
mod sources;
#[cfg(any(feature = "lrz", feature = "pln"))]
mod stream;
#[cfg(feature = "pln")]
mod tail_stream;
mod tar_cat;
mod unpack;
mod unpacker;
#[cfg(feature = "verity")]
mod verity;

pub use container::by_name::Container;
pub use container::image::{Image, ImageFile};
#[cfg(feature = "pln")]
pub use encrypted::{Identities, Recipients};
pub use error::{Error, StreamError};
pub use input::Input;
pub use pack::{Packed, Packer};
pub use packline_engine::CancelToken;
#[doc(inline)]
pub use packline_image::{Output, RestoreAttributes, Selection};
#[doc(inline)]
pub use packline_runtime::{EntryInfo, EntryKind, Observer, Pass, Progress, Resources, StoredData, Unobserved};
#[cfg(feature = "pln")]
pub use pln_reader::PlnReader;
pub use sources::Source;
#[cfg(any(feature = "lrz", feature = "pln"))]
pub use stream::{StreamOptions, compress, decompress};
pub use unpacker::{Unpacked, Unpacker};

use container::by_magic::ContentKind;
use packline_image::OpenedImage;
#[cfg(any(feature = "lrz", feature = "delta", feature = "recovery"))]
use packline_runtime::must_differ;
use packline_runtime::{FileIdentity, Temporaries};
use requests::*;

/// Requests with every option, as the commands fill them; their fields are types of the crates of containers.
///
/// Operations on images alone are in `packline_image`.
pub mod requests {
    #[cfg(feature = "pln")]
    pub use crate::codecs::pln_codings;
    pub use crate::container::archive::{Archive, ArchiveOptions, OpenedTar, TarWork};
    pub use crate::container::by_magic::ContentKind;
    pub use crate::container::file_kind::FileKind;
    pub use crate::container::image_place::ImagePlace;
    pub use crate::container::opened_file::OpenedFile;
    #[cfg(feature = "delta")]
    pub use crate::delta_file::{DeltaRequest, PatchRequest, delta, delta_info, patch};
    #[cfg(feature = "pln")]
    pub use crate::encrypted::Encryption;
    #[cfg(feature = "lrz")]
    pub use crate::lrzip::{
        LrzTreeCounts, LrzUnpackRequest, OpenedLrz, lrz_open, lrz_open_stream, lrz_pack, lrz_unpack, lrz_unpack_tree,
    };
    #[cfg(feature = "lrz")]
    pub use crate::pack::LrzRequest;
    pub use crate::pack::{
        BaseBlocks, BaseImage, DEFAULT_META, DryRun, Hints, ImageRequest, ImageSummary, PackContainer, PackRequest,
        PackSummary, dry_run, pack,
    };
    #[cfg(feature = "pln")]
    pub use crate::pln_file::{PlnFinding, PlnInfo, PlnUnpackRequest, pln_compress, pln_info, pln_unpack, pln_verify};
    #[cfg(feature = "recovery")]
    pub use crate::recovery::{
        ProtectRequest, RecoveryState, RepairRequest, examine, protect, recovery_behind, recovery_info, repair,
        sidecar_of,
    };
    pub use crate::sources::{
        AppendTo, AttributeOverrides, Changes, EntryEdit, List, NewRoot, Part, Stack, Unsupported, hints_of, survey,
    };
    #[cfg(any(feature = "lrz", feature = "pln"))]
    pub use crate::stream::CompressRequest;
    pub use crate::tar_cat::tar_cat;
    pub use crate::unpack::{Destination, UnpackSummary, unpack};
    #[cfg(feature = "verity")]
    pub use crate::verity::{
        AppendedTree, VerityCheck, VerityOptions, VerityPlace, VerityRequest, VeritySummary, appended_tree,
        read_signer, refuse_incomplete_tree, verity, verity_check,
    };
    #[cfg(feature = "oci")]
    pub use packline_archives::oci::{OciImage, OciPlace, Platform};
    pub use packline_image::UnpackRequest;
}
