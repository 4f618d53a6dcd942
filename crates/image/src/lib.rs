//! Operations on an open image: list, read, compare, verify, unpack, turn into a tar, mount, account for its bytes.
//!
//! All operations except [`verify`], [`ImageInfo`] and [`Usage`] read through [`OpenedImage::volume`], which each file system implements. These
//! three need [`OpenedImage::file_system`].
//!
//! Each operation takes an open image ([`OpenedImage`]) and [`Resources`]: workers and a memory limit, from which [`ReadDemand::plan`] computes
//! the sizes of windows and caches.

#![warn(missing_docs)]

mod cat;
mod diff;
mod error;
mod file_system;
mod follow;
mod image_file;
mod info;
mod largest_unit;
mod links;
mod list;
#[cfg(feature = "mount")]
mod mount;
mod opened;
mod pseudo_out;
mod read_plan;
mod selection;
mod source;
mod streamed;
mod tar_out;
mod unpack;
mod usage;
mod verify;

use packline_runtime::{EntryInfo, EntryKind, FileIdentity, Observer, Progress, Resources, Temporaries, must_differ};

pub use cat::{cat, cat_files};
pub use diff::{Compared, DIFF_METADATA, DiffOrder, DiffPlace, DiffRequest, DiffSummary, Difference, What, diff};
pub use error::{EntryFault, Error};
pub use file_system::FileSystem;
pub use image_file::ImageFile;
pub use info::{ImageInfo, Structures, TreeCounts};
pub use list::ImageEntries;
#[cfg(feature = "mount")]
pub use mount::{MountFlag, MountFlags, MountRequest, Mounted, Unmounter, mount, unmount};
pub use opened::OpenedImage;
pub use pseudo_out::{EmptyXattrs, PseudoOutRequest, pseudo_out};
pub use read_plan::{ReadDemand, ReadPlan, metadata_cache};
pub use selection::{Omit, SelectedWalk, Selection, idle_exclude};
pub use source::{ImageSource, SourceDemand, SourcePlan};
pub use streamed::restore_superblock;
pub use tar_out::{
    Output, TarDestination, TarOutRequest, TarRoot, TarScope, TarSink, TarSinkSettings, TarSummary, tar_out,
    tar_sink_demand,
};
pub use unpack::{
    AttributeRules, Duplicates, RestoreAttributes, StagingDir, Topic, UnpackCounts, UnpackRequest, UnpackSummary,
    Warning, unpack,
};
pub use usage::{SizesOfEntries, Structure, Usage, UsageById, UsageEntry, Use};
pub use verify::{PartScope, Sha256Hash, verify, verify_part};
