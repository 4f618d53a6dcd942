//! Finds the start of an image in its input.

use std::io;
use std::ops::Range;

use packline_runtime::Input;
use packline_volume::SuperblockSearch;

use crate::format::head::{Head, LONGEST_SUPERBLOCK};
use crate::format::layout::Layout;
use crate::format::superblock::MAGICS;

/// Returns the offset of the first valid superblock within `range` of `input`, at any byte (an AppImage has one after its program).
///
/// # Errors
/// Errors of reading `input`.
pub fn find_superblock(input: &dyn Input, range: Range<u64>) -> io::Result<Option<u64>> {
    find_wanted(input, range, |_| true)
}

/// As [`find_superblock`], for layouts that are wanted.
pub(super) fn find_wanted(
    input: &dyn Input,
    range: Range<u64>,
    is_wanted: fn(&Layout) -> bool,
) -> io::Result<Option<u64>> {
    let is_sound = |bytes: &[u8], at: u64| {
        let head =
            bytes.first_chunk().and_then(|bytes| Head::decode(bytes).ok()).filter(|head| is_wanted(&head.layout));
        head.is_some_and(|found| found.superblock.check_places(input.size() - at, &found.layout).is_ok())
    };
    let search = SuperblockSearch { magics: &MAGICS, length: LONGEST_SUPERBLOCK, is_sound: &is_sound };
    search.find(input, range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_superblock_counts_only_if_its_image_is_complete() {
        let mut image = crate::format::superblock::tests::sound().encode();
        image.resize(4096, 0);
        let mut input = [b"hsqs".repeat(100), image].concat();
        assert_eq!(find_superblock(&input, 0..u64::MAX).unwrap(), Some(400));
        assert_eq!(find_superblock(&input, 401..u64::MAX).unwrap(), None);
        input.truncate(400 + 4095);
        assert_eq!(find_superblock(&input, 0..u64::MAX).unwrap(), None);
    }
}
