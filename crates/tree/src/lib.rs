//! Directories and tars as entries in one canonical order. Knows no container.
//!
//! A [`Source`] yields [`Entry`] values and the contents of regular files; [`Namespace`] gathers entries into one tree in
//! which the last of two entries at one path wins and hard links are resolved.

mod entry;
mod error;
mod namespace;
mod source;

pub use entry::{Bytes, Device, Entry, Kind, Meta, Xattr};
pub use error::Error;
pub use namespace::{
    Content, Fault, InodeId, LINK_HOPS_MAX, NAME_MAX, NO_XATTR, Namespace, NamespaceError, NodeId, PATH_MAX,
    TARGET_MAX, Tree,
};
pub use source::{Extent, Source};
