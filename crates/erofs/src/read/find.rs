//! Finds the start of an image in its input.

use std::io;
use std::ops::Range;

use packline_runtime::Input;
use packline_volume::SuperblockSearch;

use super::image::superblock_at;
use crate::format::superblock::{MAGIC_BYTES, SUPERBLOCK_START};

/// Returns the start of the first image with a valid superblock that starts within `range` of `input`, at any byte.
///
/// # Errors
/// Errors of reading `input`.
pub fn find_image(input: &dyn Input, range: Range<u64>) -> io::Result<Option<u64>> {
    let is_sound = |_: &[u8], at: u64| superblock_at(input, at - SUPERBLOCK_START).is_ok();
    let search = SuperblockSearch { magics: &[MAGIC_BYTES], length: MAGIC_BYTES.len(), is_sound: &is_sound };
    let superblocks = range.start.saturating_add(SUPERBLOCK_START)..range.end.saturating_add(SUPERBLOCK_START);
    Ok(search.find(input, superblocks)?.map(|at| at - SUPERBLOCK_START))
}
