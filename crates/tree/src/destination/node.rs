//! A handle of something that cannot be opened for writing: a symbolic link, a device, a pipe, a socket.

use std::os::fd::{AsFd, OwnedFd};

use super::attributes::Attributes;

/// Something that was made, held as a place in the file system: no device is opened by it, no link followed.
#[derive(Debug)]
pub struct DestinationNode {
    fd: OwnedFd,
}

impl DestinationNode {
    pub(super) fn new(fd: OwnedFd) -> DestinationNode {
        DestinationNode { fd }
    }

    /// Its attributes, to be set.
    pub fn attributes(&self) -> Attributes<'_> {
        Attributes::place(self.fd.as_fd())
    }
}
