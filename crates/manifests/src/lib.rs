//! Text files that describe the entries of an image, or change them.
//!
//! - Sources of entries: an mtree manifest (`mtree/`), a pack file (`pack_file/`), a pseudo file (`pseudo_file/`).
//! - Changes to entries: `actions/` changes a complete list of entries as mksquashfs's actions say, `sort_file/` orders contents,
//!   `xattr_file/` sets extended attributes, `mode_change.rs` changes permissions.
//! - Owners and labels without root: `owner_map.rs`, `rootless.rs`, `selinux/`.

pub mod actions;
mod ext_glob;
mod mode_change;
mod mtree;
mod owner_map;
mod pack_file;
mod pseudo_file;
mod rootless;
#[cfg(feature = "selinux")]
mod selinux;
mod sort_file;
mod xattr_file;

pub use ext_glob::ExtGlob;
pub use mode_change::ModeChange;
pub use mtree::{Mtree, MtreeSource};
pub use owner_map::OwnerMap;
pub use pack_file::{GlobPattern, PackGlob, PackKind, PackLine, TypeSet, list_pack_file, parse_pack_file};
pub use pseudo_file::{
    NoSource, PSEUDO_DATA_HEAD, PseudoData, PseudoFile, PseudoHost, PseudoSource, pseudo_definition,
};
pub use rootless::{ROOTLESS_XATTR, take_rootless_owners};
#[cfg(feature = "selinux")]
pub use selinux::{FileContexts, SELINUX_XATTR, UNLABELED};
pub use sort_file::{Assigned, FileFlags, Matching, SortFile, SortRule, SortSettings, Sorted};
pub use xattr_file::{XattrFile, attribute_value};
