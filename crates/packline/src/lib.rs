//! Packs directories, tars and streams into compressed images: the library behind the `packline` command.
//!
//! A [`PackRequest`] says what goes where; [`pack`] does it and returns a [`PackSummary`]. The container follows the
//! output's name ([`Format`]). Nothing here reads the clock, the environment or the number of processors: a request says
//! it all.

mod attribute_overrides;
mod changes;
mod file_kind;
mod filtered;
mod format;
mod listing;
mod lrzip;
mod memory;
mod observed_source;
mod output_stream;
mod pack;
mod pln_file;
mod request;
mod source;
mod squashfs;
mod summary;
mod survey;

pub use attribute_overrides::AttributeOverrides;
pub use changes::{Changes, NewRoot, Unsupported};
pub use file_kind::FileKind;
pub use format::Format;
pub use listing::{List, hints_of, tar_entries};
pub use lrzip::{
    LrzRequest, LrzSource, LrzTreeCounts, LrzTreeRequest, LrzUnpackRequest, OpenedLrz, lrz_entries, lrz_open,
    lrz_open_stream, lrz_pack, lrz_unpack, lrz_unpack_tree,
};
pub use pack::pack;
pub use packline_codec as codec;
pub use packline_engine as engine;
pub use packline_engine::CancelToken;
pub use packline_image::{
    Compared, Container, DiffOrder, DiffPlace, DiffRequest, DiffSummary, Difference, Duplicates, Error, ImageEntries,
    ImageInfo, ImagePlace, MountFlag, MountFlags, MountRequest, Mounted, Omit, OpenedImage, OutputTarget, ReadDemand,
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
pub use pln_file::{PlnRequest, PlnSource, PlnUnpackRequest, pln_compress, pln_info, pln_unpack, pln_verify};
pub use request::{DEFAULT_META, Hints, PackRequest, SourceSpec};
pub use summary::PackSummary;
pub use survey::survey;
