//! Files next to another file, or data after its end, that protect it: recovery data and hash trees.

#[cfg(feature = "recovery")]
pub(crate) mod recovery;
#[cfg(feature = "verity")]
pub(crate) mod verity;
