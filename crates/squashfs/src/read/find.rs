//! Finds the start of an image in its input.

use std::io;
use std::ops::Range;

use packline_runtime::Input;
use packline_volume::SuperblockSearch;

use crate::format::superblock::{MAGIC_BYTES, SUPERBLOCK_BYTES, Superblock};

/// Returns the offset of the first valid superblock within `range` of `input`, at any byte (an AppImage has one after its program).
///
/// # Errors
/// Errors of reading `input`.
pub fn find_superblock(input: &dyn Input, range: Range<u64>) -> io::Result<Option<u64>> {
    let is_sound = |bytes: &[u8], at: u64| {
        let superblock = bytes.first_chunk().and_then(|bytes| Superblock::decode(bytes).ok());
        superblock.is_some_and(|found| found.check_places(input.size() - at).is_ok())
    };
    let search = SuperblockSearch { magic: &MAGIC_BYTES, length: SUPERBLOCK_BYTES as usize, is_sound: &is_sound };
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
