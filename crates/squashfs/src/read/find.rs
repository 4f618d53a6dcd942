//! Finds the start of an image in its input.

use std::io;

use memchr::memmem;
use packline_runtime::Input;

use crate::format::superblock::{MAGIC_BYTES, SUPERBLOCK_BYTES, Superblock};

/// Bytes that are searched at a time.
const SEARCH_BYTES: usize = 1 << 20;

/// Returns the offset of the first valid superblock at or after byte `from` of `input`, at any byte (an AppImage has one after its program).
///
/// # Errors
/// Errors of reading `input`.
pub(super) fn find_superblock(input: &dyn Input, from: u64) -> io::Result<Option<u64>> {
    let mut window = Vec::new();
    let mut at = from;
    while at + SUPERBLOCK_BYTES <= input.size() {
        window.resize((input.size() - at).min(SEARCH_BYTES as u64) as usize, 0);
        input.read_at(at, &mut window)?;
        if let Some(found) = find_in(&window, at, input.size()) {
            return Ok(Some(found));
        }
        // The next window contains all of a superblock across the window's end.
        at += window.len() as u64 - (SUPERBLOCK_BYTES - 1);
    }
    Ok(None)
}

/// Returns the first valid superblock that is completely in a window of the input.
fn find_in(window: &[u8], at: u64, size: u64) -> Option<u64> {
    let starts = memmem::find_iter(window, &MAGIC_BYTES);
    let mut sound = starts.filter(|&start| {
        let bytes = window[start..].first_chunk();
        let superblock = bytes.and_then(|bytes| Superblock::decode(bytes).ok());
        superblock.is_some_and(|found| found.check_places(size - at - start as u64).is_ok())
    });
    sound.next().map(|start| at + start as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_found_wherever_it_is() {
        let mut image = crate::format::superblock::tests::sound().encode();
        image.resize(4096, 0);
        for before in [0, 1, 95, SEARCH_BYTES - 1, SEARCH_BYTES - 95, SEARCH_BYTES - 96, SEARCH_BYTES, 3 << 20] {
            // The magic alone is not an image.
            let mut input = b"hsqs".repeat(before / 4 + 1);
            input.truncate(before);
            input.extend_from_slice(&image);
            assert_eq!(find_superblock(&input, 0).unwrap(), Some(before as u64), "{before}");
            assert_eq!(find_superblock(&input, before as u64).unwrap(), Some(before as u64), "{before}");
            assert_eq!(find_superblock(&input, before as u64 + 1).unwrap(), None, "{before}");
            input.truncate(before + 4095);
            assert_eq!(find_superblock(&input, 0).unwrap(), None, "{before}");
        }
    }
}
