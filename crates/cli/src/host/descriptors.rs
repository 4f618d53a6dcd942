//! Descriptors that the caller opened for this process and names by number.
#![allow(unsafe_code, reason = "there is no safe way to turn a number into a descriptor")]

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::fcntl_dupfd_cloexec;

/// Returns a copy of a descriptor that this process was started with. The original stays open.
///
/// # Errors
/// The descriptor is not open.
pub fn inherited(number: u16) -> io::Result<OwnedFd> {
    // SAFETY: the borrow ends with the next call, which asks the kernel whether the number is open, and fails if it is not. No other
    // thread closes descriptors that the process was started with, and no number of 16 bits is -1.
    let given = unsafe { BorrowedFd::borrow_raw(i32::from(number)) };
    Ok(fcntl_dupfd_cloexec(given, 3)?)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn copies_open_descriptor_and_rejects_closed_one() {
        let (mut reader, writer) = io::pipe().unwrap();
        let copy = inherited(u16::try_from(writer.as_raw_fd()).unwrap()).unwrap();
        drop(writer);
        File::from(copy).write_all(b"x").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
        assert_eq!(inherited(60_000).unwrap_err().raw_os_error(), Some(9));
    }
}
