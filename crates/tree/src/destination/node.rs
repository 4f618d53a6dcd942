//! A handle of a file that cannot be opened for writing: a symbolic link, a device, a pipe, a socket.

use std::fs::File;
use std::os::fd::OwnedFd;

use super::attributes::Attributes;

/// An `O_PATH` handle: opens no device, follows no link.
#[derive(Debug)]
pub struct DestinationNode {
    fd: File,
}

impl DestinationNode {
    pub(super) fn new(fd: OwnedFd) -> DestinationNode {
        DestinationNode { fd: fd.into() }
    }

    pub fn attributes(&self) -> Attributes<'_> {
        Attributes::place(&self.fd)
    }
}
