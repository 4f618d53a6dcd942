//! Finds the start of an image in its input.

use std::io;

use memchr::memmem;
use packline_runtime::Input;

use super::image::superblock_at;
use crate::format::superblock::{MAGIC_BYTES, SUPERBLOCK_START};

/// Bytes that are searched at a time.
const SEARCH_BYTES: usize = 1 << 20;

/// Returns the start of the first image at or after byte `from` of `input` whose superblock is valid.
///
/// # Errors
/// Errors of reading `input`.
pub(super) fn find_image(input: &dyn Input, from: u64) -> io::Result<Option<u64>> {
    let mut window = Vec::new();
    let mut at = from.saturating_add(SUPERBLOCK_START);
    while at < input.size() {
        window.resize((input.size() - at).min(SEARCH_BYTES as u64) as usize, 0);
        input.read_at(at, &mut window)?;
        for start in memmem::find_iter(&window, &MAGIC_BYTES) {
            let image = at + start as u64 - SUPERBLOCK_START;
            if superblock_at(input, image).is_ok() {
                return Ok(Some(image));
            }
        }
        // The next window contains all of a magic across the window's end.
        let overlap = MAGIC_BYTES.len() - 1;
        if window.len() <= overlap {
            break;
        }
        at += (window.len() - overlap) as u64;
    }
    Ok(None)
}
