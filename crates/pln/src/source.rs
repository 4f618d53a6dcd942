//! Where bytes come from.

use std::io;
use std::sync::Arc;

use crate::Input;

/// Content to be compressed, or a .pln file to be read. Which kind it is changes no byte of what comes of it.
pub enum Source<'a> {
    /// Something with offsets, which workers read for themselves. How long it is, is asked once.
    At(Arc<dyn Input>),
    /// Something that is read from front to back.
    Stream(&'a mut dyn io::Read),
}
