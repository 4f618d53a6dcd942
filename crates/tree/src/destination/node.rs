//! A handle of a file that cannot be opened for writing: a symbolic link, a device, a pipe, a socket.

use std::os::fd::{AsFd, OwnedFd};

use super::attributes::Attributes;

/// An `O_PATH` handle: opens no device, follows no link.
#[derive(Debug)]
pub struct DestinationNode {
    fd: OwnedFd,
}

impl DestinationNode {
    pub(super) fn new(fd: OwnedFd) -> DestinationNode {
        DestinationNode { fd }
    }

    pub fn attributes(&self) -> Attributes<'_> {
        Attributes::place(self.fd.as_fd())
    }
}
