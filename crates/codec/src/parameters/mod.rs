//! Parameters of codecs: lists of `key=value`, and sets of named choices.

mod list;
mod set;

pub(crate) use list::{Item, ListWriter, items, no_items};
pub(crate) use set::find;
pub use set::{Choice, Set};
