//! Creates files in a directory tree that an attacker may modify at the same time: through directory handles, one name at a time.
//!
//! The root is opened once, by the user's path. After that every name is a single component (no slash, no `.`, no `..`) that is
//! looked up in an open [`Directory`]. A symbolic link is never followed, so nothing is created, changed or removed outside the
//! root. Only [`Directory::resolve`] reads links; it returns a path without links, below the root. Attributes are set through open handles, and through `O_PATH` handles for links and devices, which cannot be opened for
//! this.

mod attributes;
mod copy;
mod directory;
mod file;
mod refusal;
mod remove;
mod resolve;
mod writable;

pub use attributes::{Attributes, XattrRefusal};
pub use directory::{Directory, FileId};
pub use file::{DestinationFile, DestinationNode};
pub use refusal::{DeviceRefused, OwnerRefused, Refusal};
pub use remove::remove_tree;
pub use writable::WritableDirectory;

#[cfg(test)]
mod tests;
