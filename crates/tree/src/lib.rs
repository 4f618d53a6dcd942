//! Entries of directories in one canonical order, independent of any container.
//!
//! A [`Source`] yields [`Entry`] values and the contents of regular files. [`Namespace`] collects entries into one tree, keeps
//! the last of two entries at one path, and resolves hard links.
//!
//! - Sources are a directory (`directory/`) and a list of entries with local files (`list.rs`). The crate `archives` has tars and
//!   layers, and the crate `manifests` has text files.
//! - Destinations (`destination/`) are written through directory handles that never follow a symbolic link.
//! - Symbolic links in a directory are followed on request (`directory/scan/frame.rs`), but never to a directory that contains
//!   the link, and only up to a limit.
//! - Rules decide which entries are packed or unpacked: `patterns.rs`, `names.rs`, `filter.rs`.
//! - `text.rs` reads users' text files line by line, for the crates that interpret them.

mod contents;
pub mod destination;
mod directory;
mod entry;
mod error;
mod filter;
mod glob;
mod list;
mod names;
mod namespace;
pub mod path;
mod pattern;
mod patterns;
mod source;
pub mod text;
mod time;

pub use contents::{Contents, Copied, CopyReader, Held};
pub use directory::{
    AHEAD_BYTES, DirectoryOptions, DirectorySource, FOLLOWED_MOST, ListedDirectory, MountPoints, NotFollowed,
    ReadErrors, ScannedEntry, Scanner, Symlinks, XattrReader,
};
pub use entry::{Bytes, Device, Entry, Kind, Meta, Xattr};
pub use error::Error;
pub use filter::{Keep, KeepRule, PathFilter, keep_all};
pub use glob::{Glob, Slash};
pub use list::{HostFile, ListItem, ListSource, scan};
pub use names::Names;
pub use namespace::{
    Content, Fault, InodeId, LINK_HOPS_MAX, Left, NAME_MAX, NO_XATTR, Namespace, NamespaceError, NodeId, PATH_MAX,
    Replaced, TARGET_MAX, Tree,
};
pub use pattern::{Pattern, PatternFault};
pub use patterns::Patterns;
pub use source::{Bookmark, ContentEnd, Extent, OpaqueBookmark, SharedContent, Source, UnreadPart};
pub use time::Time;
