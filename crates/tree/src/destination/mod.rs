//! Creates files in a directory tree that an attacker may modify at the same time: by directory handles, one name at a time.
//!
//! The root is opened once, by the path the user typed. From there on every name is a single component (no slash, no `.`, no `..`) looked
//! up in an open [`Directory`] and never followed if it is a symbolic link, so nothing is ever created, changed or removed outside the
//! root. Attributes are set through open handles; for links and devices, which cannot be opened for that, through `O_PATH` handles.

mod attributes;
mod copy;
mod directory;
mod file;
mod refusal;
mod remove;
mod writable;

pub use attributes::{Attributes, XattrRefusal};
pub use directory::{Directory, FileId};
pub use file::{DestinationFile, DestinationNode};
pub use refusal::{DeviceRefused, OwnerRefused, Refusal};
pub use remove::remove_tree;
pub use writable::WritableDirectory;

#[cfg(test)]
mod tests;
