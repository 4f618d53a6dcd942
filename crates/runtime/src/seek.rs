//! Seek positions of readers.

use std::io::{Error, ErrorKind, Result, SeekFrom};

/// The position after a seek from position `at` in `size` bytes. As in a file, it may be beyond the end, up to `i64::MAX`.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for a position before the start, or beyond `i64::MAX`.
pub fn seek_position(at: u64, size: u64, to: SeekFrom) -> Result<u64> {
    let position = match to {
        SeekFrom::Start(position) => Some(position),
        SeekFrom::Current(offset) => at.checked_add_signed(offset),
        SeekFrom::End(offset) => size.checked_add_signed(offset),
    };
    let message = "invalid seek (expected a position from 0 to 2^63 - 1)";
    position
        .filter(|&position| i64::try_from(position).is_ok())
        .ok_or_else(|| Error::new(ErrorKind::InvalidInput, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    #[test]
    fn positions_equal_those_of_a_file() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"packline").unwrap();
        let far = i64::MAX as u64;
        for to in [0, 3, 8, 9, far - 1, far, far + 1, u64::MAX].map(SeekFrom::Start) {
            assert_as_file(&mut file, to);
        }
        for offset in [0, 1, -1, 5, -5, -8, -9, i64::MIN, i64::MAX - 8, i64::MAX - 7] {
            assert_as_file(&mut file, SeekFrom::End(offset));
            file.seek(SeekFrom::Start(5)).unwrap();
            assert_as_file(&mut file, SeekFrom::Current(offset));
        }
    }

    fn assert_as_file(file: &mut std::fs::File, to: SeekFrom) {
        let found = seek_position(file.stream_position().unwrap(), 8, to);
        match (found, file.seek(to)) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{to:?}"),
            // Some file systems have a smaller maximum file size.
            (Ok(found), Err(_)) => assert!(found > 1 << 40, "{to:?}"),
            (found, expected) => assert!(found.is_err() && expected.is_err(), "{to:?}: {found:?}, {expected:?}"),
        }
    }
}
