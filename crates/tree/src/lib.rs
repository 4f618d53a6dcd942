//! Directories and tars as entries in one canonical order, independent of any container.
//!
//! A [`Source`] yields [`Entry`] values and the contents of regular files; [`Namespace`] collects entries into one tree in which the last of
//! two entries at one path wins and hard links are resolved.
//!
//! - Sources: tar in all dialects (`tar/`), a directory (`directory/`), a list, a pack file, a pseudo file, an mtree manifest.
//! - Destinations (`destination/`) are written through directory handles that follow no symbolic link.
//! - Owners and labels without root: `owner_map.rs`, `rootless.rs`, `selinux.rs`.
//! - Symbolic links of a directory are followed on request (`directory/follow.rs`), but never to a directory that contains the link, and with a
//!   limit.
//! - Layers: `stack.rs` lists all layers, merges them and applies whiteouts, then reads contents in the order of the result or in an order that was
//!   asked for (`content_order.rs`). `similarity.rs` finds neighbours by sketches of contents (docs/order.md). `oci.rs` finds the layers of a
//!   container image.
//! - `actions/` changes a complete list of entries as mksquashfs's actions say.

pub mod actions;
mod base64;
mod content_order;
mod contents;
pub mod decompress;
pub mod destination;
mod directory;
mod entry;
mod error;
mod ext_glob;
mod foreign;
mod glob;
mod keep;
mod list;
mod mode_change;
mod mtree;
mod names;
mod namespace;
#[cfg(feature = "oci")]
pub mod oci;
mod owner_map;
mod pack_file;
mod part;
pub mod path;
mod path_filter;
mod pattern;
mod patterns;
pub mod pipe;
mod pseudo_file;
mod rootless;
#[cfg(feature = "selinux")]
mod selinux;
mod similarity;
mod sort_file;
mod source;
mod stack;
pub mod tar;
pub mod threads;
mod xattr_file;

pub use content_order::{ContentOrder, FileList, RestOrder};
pub use contents::{Contents, Copied, CopyReader, Held};
pub use directory::{
    AHEAD_BYTES, DirectoryOptions, DirectorySource, FOLLOWED_MOST, ListedDirectory, MountPoints, NotFollowed,
    ReadErrors, Symlinks,
};
pub use entry::{Bytes, Device, Entry, Kind, Meta, Xattr};
pub use error::Error;
pub use ext_glob::ExtGlob;
pub use foreign::{FOREIGN_HEAD, foreign_format};
pub use glob::{Glob, Slash};
pub use keep::{Keep, KeepRule, keep_all};
pub use list::{HostFile, ListSource, scan};
pub use mode_change::ModeChange;
pub use mtree::{Mtree, MtreeSource};
pub use names::Names;
pub use namespace::{
    Content, Fault, InodeId, LINK_HOPS_MAX, Left, NAME_MAX, NO_XATTR, Namespace, NamespaceError, NodeId, PATH_MAX,
    Replaced, TARGET_MAX, Tree,
};
pub use owner_map::OwnerMap;
pub use pack_file::{GlobPattern, PackGlob, PackKind, PackLine, TypeSet, list_pack_file, parse_pack_file};
pub use packline_runtime::escape;
pub use part::Part;
pub use path_filter::PathFilter;
pub use pattern::{Pattern, PatternFault};
pub use patterns::Patterns;
pub use pseudo_file::{PSEUDO_DATA_HEAD, PseudoData, PseudoFile, PseudoHost, PseudoSource, pseudo_definition};
pub use rootless::{ROOTLESS_XATTR, take_rootless_owners};
#[cfg(feature = "selinux")]
pub use selinux::{FileContexts, SELINUX_XATTR, UNLABELED};
pub use sort_file::{Assigned, FileFlags, FilePlace, Matching, SortFile, SortRule, Sorted};
pub use source::{Bookmark, Extent, Source};
pub use stack::{Layer, StackOptions, StackSource, Whiteouts};
pub use xattr_file::{XattrFile, attribute_value};
