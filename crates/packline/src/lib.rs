//! Packs directories, tars and streams into compressed images: the library behind the `packline` command.
//!
//! A [`PackRequest`] says what goes where; [`pack`] does it and returns a [`PackSummary`]. The container follows the
//! output's name ([`Format`]). Nothing here reads the clock, the environment or the number of processors: a request says
//! it all.

mod cat;
mod changes;
mod container;
mod diff;
mod dress;
mod error;
mod file_kind;
mod filtered;
mod follow;
mod format;
mod info;
mod list;
mod listing;
mod lrzip;
mod memory;
mod mount;
mod opened;
mod output_stream;
mod pack;
mod pln_file;
mod read_plan;
mod request;
mod selection;
mod source;
mod squashfs;
mod summary;
mod survey;
mod tar_out;
mod unpack;
mod verify;
mod watched;

pub use cat::cat;
pub use changes::{Changes, NewRoot, Unsupported};
pub use container::Container;
pub use diff::{Compared, DiffOrder, DiffPlace, DiffRequest, DiffSummary, Difference, What, diff};
pub use dress::Dress;
pub use error::Error;
pub use file_kind::FileKind;
pub use format::Format;
pub use info::{ImageInfo, TreeCounts};
pub use list::ImageEntries;
pub use listing::{List, hints_of, tar_entries};
pub use lrzip::{
    LrzRequest, LrzSource, LrzTreeCounts, LrzTreeRequest, LrzUnpackRequest, OpenedLrz, lrz_entries, lrz_open,
    lrz_open_stream, lrz_pack, lrz_unpack, lrz_unpack_tree,
};
pub use mount::{MountFlag, MountFlags, MountRequest, Mounted, Unmounter, mount};
pub use opened::{ImagePlace, OpenedImage};
pub use pack::pack;
pub use packline_codec as codec;
pub use packline_engine as engine;
pub use packline_engine::CancelToken;
pub use packline_lrz as lrz;
pub use packline_pln as pln;
pub use packline_runtime as runtime;
pub use packline_runtime::{
    EntryInfo, EntryKind, FileIdentity, Observer, Progress, Resources, Temporaries, Unobserved, all_must_differ,
    check_writable, must_differ, unsynced, write_file,
};
pub use packline_squashfs as image;
pub use packline_tree as tree;
pub use pln_file::{PlnRequest, PlnSource, PlnUnpackRequest, pln_compress, pln_info, pln_unpack, pln_verify};
pub use read_plan::{ReadDemand, ReadPlan, metadata_cache};
pub use request::{DEFAULT_META, Hints, PackRequest, SourceSpec};
pub use selection::{Omit, SelectedWalk, Selection};
pub use summary::PackSummary;
pub use survey::survey;
pub use tar_out::{TarOutRequest, TarRoot, TarScope, TarSummary, TarTarget, tar_out};
pub use unpack::{Duplicates, Kept, UnpackCounts, UnpackRequest, UnpackSummary, unpack};
pub use verify::verify;
