//! The ustar header block: fields, octal numbers, checksum.

use super::super::header::BLOCK;

/// Bytes of the name field, and of the link field.
const NAME: usize = 100;
/// Bytes of the prefix field.
const PREFIX: usize = 155;

/// A header under construction. Fields that are not set are zeros, or the number 0.
pub(super) struct Header {
    bytes: [u8; BLOCK],
}

impl Header {
    pub(super) fn new(kind: u8) -> Header {
        let mut header = Header { bytes: [0; BLOCK] };
        header.bytes[156] = kind;
        header.bytes[257..265].copy_from_slice(b"ustar\x0000");
        header.owner(0, 0, 0);
        header.size(0);
        header.mtime(0);
        header.device(0, 0);
        header
    }

    /// Sets the name, split at a slash if needed. Returns false if it does not fit.
    pub(super) fn place(&mut self, name: &[u8]) -> bool {
        if name.len() <= NAME {
            self.put(0, name);
            return true;
        }
        let Some(slash) = split(name) else { return false };
        self.put(345, &name[..slash]);
        self.put(0, &name[slash + 1..]);
        true
    }

    /// Sets the part that fits of a name whose full form is in an extended header. Without trailing slash, which would turn a
    /// file into a directory.
    pub(super) fn cut_place(&mut self, name: &[u8]) {
        let cut = &name[..name.len().min(NAME)];
        let end = cut.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
        self.put(0, &cut[..end]);
    }

    /// Sets the target of a link. If it is too long, sets the part that fits and returns false.
    pub(super) fn link(&mut self, target: &[u8]) -> bool {
        self.put(157, &target[..target.len().min(NAME)]);
        target.len() <= NAME
    }

    /// Sets permissions and owners, at most 7 octal digits each.
    pub(super) fn owner(&mut self, mode: u16, uid: u64, gid: u64) {
        self.octal(100, 7, u64::from(mode));
        self.octal(108, 7, uid);
        self.octal(116, 7, gid);
    }

    /// Sets the size, at most 11 octal digits.
    pub(super) fn size(&mut self, size: u64) {
        self.octal(124, 11, size);
    }

    /// Sets the time, at most 11 octal digits.
    pub(super) fn mtime(&mut self, mtime: u64) {
        self.octal(136, 11, mtime);
    }

    /// Sets the device numbers, at most 7 octal digits each.
    pub(super) fn device(&mut self, major: u64, minor: u64) {
        self.octal(329, 7, major);
        self.octal(337, 7, minor);
    }

    /// Appends the block, with its checksum.
    pub(super) fn append_to(mut self, out: &mut Vec<u8>) {
        self.put(148, b"        ");
        let sum: u32 = self.bytes.iter().map(|&byte| u32::from(byte)).sum();
        self.octal(148, 6, u64::from(sum));
        self.bytes[154] = 0;
        out.extend_from_slice(&self.bytes);
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn octal(&mut self, at: usize, digits: usize, mut number: u64) {
        for digit in self.bytes[at..at + digits].iter_mut().rev() {
            *digit = b'0' + (number & 7) as u8;
            number >>= 3;
        }
    }
}

/// The position at which a long name is split: the first slash after which the rest fits, if the prefix then fits too. The
/// trailing slash of a directory's name is not considered.
fn split(name: &[u8]) -> Option<usize> {
    let first = name.len() - NAME - 1;
    let places = name.get(..name.len() - 1)?.get(first..)?;
    let slash = first + memchr::memchr(b'/', places)?;
    (1..=PREFIX).contains(&slash).then_some(slash)
}
