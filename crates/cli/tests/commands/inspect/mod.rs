//! Tests of `list`, `cat`, `info`, `verify` and `diff`.

mod archives;
mod diff;
mod list;
pub(crate) mod support;
