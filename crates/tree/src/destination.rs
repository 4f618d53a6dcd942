//! Makes things in a directory tree that others may have planted traps in: by directory handles, one name at a time.
//!
//! The root is opened once, by whatever path the user typed. From there on every name is a single component (no slash, no
//! `.`, no `..`) looked up in an open [`Directory`] and never followed if it is a symbolic link, so nothing is ever made,
//! changed or removed outside the root, whoever made the links. Attributes are set through open handles; of what cannot be
//! opened for that (links, devices) through a handle that is only a place (`O_PATH`).

mod attributes;
mod directory;
mod file;
mod node;
mod refusal;
mod remove;

pub use attributes::{Attributes, XattrRefusal};
pub use directory::{Directory, FileId};
pub use file::DestinationFile;
pub use node::DestinationNode;
pub use refusal::Refusal;
pub use remove::remove_tree;

#[cfg(test)]
mod tests;
