//! The sources of a pack. A [`Source`] describes one. [`examine`] finds out what it is and returns a [`PlannedSource`], which says how much
//! memory the source needs and opens it within its share of the memory.

pub(crate) mod attribute_overrides;
pub(crate) mod changes;
pub(crate) mod directories;
pub(crate) mod directory;
pub(crate) mod examine;
pub(crate) mod filtered;
pub(crate) mod image;
pub(crate) mod inputs;
pub(crate) mod listing;
pub(crate) mod observed;
pub(crate) mod plain_file;
pub(crate) mod planned;
pub(crate) mod selected;
pub(crate) mod source;
mod stack;
mod store;
pub(crate) mod survey;
pub(crate) mod tar;
pub(crate) mod tree;
mod zip;

#[cfg(doc)]
use examine::examine;
#[cfg(doc)]
use planned::PlannedSource;
#[cfg(doc)]
use source::Source;
