//! cpio archives as a source: the SVR4 forms of `newc` and `crc`, and the portable ASCII form `odc`.
//!
//! Formats: cpio(5) of FreeBSD, `Documentation/driver-api/early-userspace/buffer-format.rst` of Linux. The choices where programs differ:
//! - An entry named `TRAILER!!!` ends an archive. Zeros may follow, and then another archive, as in an initramfs. An archive without this
//!   entry is an error, because it was probably cut off.
//! - A compressed stream may follow the first archives; it holds all others. Further streams may follow it if they have the same
//!   compression ([`plain`]).
//! - Names of one regular file have the same device and inode number, and a link count of at least 2. In the newc forms, only one of them has
//!   content, usually the last. The entry with the content is the file, and the other names are hard links, which come after it. Names that have
//!   no content at all are links to the first. In odc, each name has the content, and the first is the file. A name with another size
//!   is a file of its own, and so is each name with the inode number 0. Further names of other kinds are entries of their own.
//! - The check field of `crc` is the sum of the bytes of the content, and is compared when a content is read.
//! - The old binary form is not read.

mod entry;
mod header;
mod joined;
mod links;
mod source;

pub use header::is_start;
pub use joined::{Plain, plain};
pub use source::CpioSource;

/// The name that ends an archive.
const TRAILER: &[u8] = b"TRAILER!!!";

#[cfg(test)]
mod tests;
