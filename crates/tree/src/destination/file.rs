//! A regular file under construction: data at any offset, holes, shared blocks.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::SeekFrom;
use rustix::io::{Errno, retry_on_intr};

use super::attributes::Attributes;
use super::directory::FileId;
use super::refusal::{Refusal, Tried};

#[derive(Debug)]
pub struct DestinationFile {
    fd: File,
}

impl AsFd for DestinationFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl DestinationFile {
    pub(super) fn new(fd: OwnedFd) -> DestinationFile {
        DestinationFile { fd: fd.into() }
    }

    /// Writes all of `bytes` at the byte `offset`.
    ///
    /// # Errors
    /// The system call fails (no space, or too large for the file system).
    pub fn write_at(&self, mut bytes: &[u8], mut offset: u64) -> Result<(), Refusal> {
        while !bytes.is_empty() {
            let written = retry_on_intr(|| rustix::io::pwrite(&self.fd, bytes, offset)).tried("cannot write")?;
            if written == 0 {
                return Err(Refusal::Os("cannot write", Errno::IO));
            }
            bytes = &bytes[written..];
            offset += written as u64;
        }
        Ok(())
    }

    /// Sets the size in bytes. The added part is a hole.
    ///
    /// # Errors
    /// The system call fails (too large for the file system).
    pub fn set_size(&self, size: u64) -> Result<(), Refusal> {
        retry_on_intr(|| rustix::fs::ftruncate(&self.fd, size)).tried("cannot set the size")
    }

    /// Clones the content of `source`, sharing its blocks. Returns false if the file system does not support this.
    pub fn share(&self, source: &DestinationFile) -> Result<bool, Refusal> {
        match rustix::fs::ioctl_ficlone(&self.fd, &source.fd) {
            Ok(()) => Ok(true),
            Err(Errno::NOTSUP | Errno::NOTTY | Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::PERM) => Ok(false),
            Err(errno) => Err(Refusal::Os("cannot share blocks", errno)),
        }
    }

    /// Copies the content of `source` (`size` bytes) with its holes.
    pub fn copy(&self, source: &DestinationFile, size: u64) -> Result<(), Refusal> {
        let mut at = 0;
        while let Some((start, end)) = source.data_after(at, size)? {
            self.copy_range(source, start, end)?;
            at = end;
        }
        self.set_size(size)
    }

    /// The next range of data at or after an offset.
    fn data_after(&self, offset: u64, size: u64) -> Result<Option<(u64, u64)>, Refusal> {
        if offset >= size {
            return Ok(None);
        }
        match rustix::fs::seek(&self.fd, SeekFrom::Data(offset)) {
            Err(Errno::NXIO) => Ok(None),
            Err(Errno::INVAL) => Ok(Some((offset, size))),
            start => {
                let start = start.tried("cannot read")?;
                let end = rustix::fs::seek(&self.fd, SeekFrom::Hole(start)).tried("cannot read")?;
                Ok(Some((start, end.min(size))))
            }
        }
    }

    fn copy_range(&self, source: &DestinationFile, mut start: u64, end: u64) -> Result<(), Refusal> {
        let mut buffer = vec![0; 65_536];
        while start < end {
            let piece = (end - start).min(buffer.len() as u64) as usize;
            let read = retry_on_intr(|| rustix::io::pread(&source.fd, &mut buffer[..piece], start));
            let read = read.tried("cannot read")?;
            if read == 0 {
                return Err(Refusal::Replaced);
            }
            self.write_at(&buffer[..read], start)?;
            start += read as u64;
        }
        Ok(())
    }

    pub fn id(&self) -> Result<FileId, Refusal> {
        Ok(FileId::of(&rustix::fs::fstat(&self.fd).tried("cannot examine it")?))
    }

    pub fn attributes(&self) -> Attributes<'_> {
        Attributes::open(&self.fd)
    }
}

/// An `O_PATH` handle of a file that cannot be opened for writing: a symbolic link, a device, a pipe, a socket. It opens no device and follows
/// no link.
#[derive(Debug)]
pub struct DestinationNode {
    fd: File,
}

impl DestinationNode {
    pub(super) fn new(fd: OwnedFd) -> DestinationNode {
        DestinationNode { fd: fd.into() }
    }

    pub fn id(&self) -> Result<FileId, Refusal> {
        Ok(FileId::of(&rustix::fs::fstat(&self.fd).tried("cannot examine it")?))
    }

    pub fn attributes(&self) -> Attributes<'_> {
        Attributes::place(&self.fd)
    }
}
