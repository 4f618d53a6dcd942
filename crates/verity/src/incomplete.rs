//! The mark of a tree that is being appended to an image: it is where the superblock will be, until all else is written.
//!
//! It is written before the file grows further, so that a run which is killed leaves a file whose length tells where the mark is.

use packline_runtime::Input;

use crate::Error;
use crate::layout::{BLOCK, BLOCK_BYTES, blocks_before_tree};

const MAGIC: &[u8; 32] = b"packline: incomplete hash tree\n\0";
/// Bytes of the mark; the rest of its block is zero, as that of a superblock. A medium writes a sector whole or not at all.
const SIZE: usize = MAGIC.len() + 8;

/// The block that is written behind an image of so many bytes first.
pub fn incomplete_mark(image: u64) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..MAGIC.len()].copy_from_slice(MAGIC);
    block[MAGIC.len()..SIZE].copy_from_slice(&image.to_le_bytes());
    block
}

/// Where the image of a file ends behind which there is a part of a tree: its writing was stopped.
///
/// # Errors
/// Those of reading.
pub fn find_incomplete(input: &dyn Input) -> Result<Option<u64>, Error> {
    let size = input.size();
    // The file has all of its length, or only the mark.
    let grown = blocks_before_tree(size).map(|blocks| blocks * BLOCK_BYTES);
    let marked = size.checked_sub(BLOCK_BYTES);
    for at in [grown, marked].into_iter().flatten() {
        let mut bytes = [0; SIZE];
        input.read_at(at, &mut bytes).map_err(Error::Tree)?;
        if bytes[..] == incomplete_mark(at)[..SIZE] {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Refuses a file with a part of a tree behind its image.
///
/// # Errors
/// Those of reading, and [`Error::Superblock`].
pub fn refuse_incomplete(input: &dyn Input) -> Result<(), Error> {
    let Some(at) = find_incomplete(input)? else { return Ok(()) };
    let what = format!("has an incomplete hash tree from byte {at} on, whose writing was stopped");
    let expected = "a whole one, or an image that ends there; appending a hash tree removes it".to_string();
    Err(Error::Superblock { what, expected })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree_size;

    #[test]
    fn a_part_of_a_tree_is_found_by_the_length_of_the_file() {
        for blocks in [1, 2, 128, 129, 300] {
            let size = blocks * BLOCK_BYTES;
            let mut bytes = vec![7; size as usize];
            assert_eq!(find_incomplete(&bytes).unwrap(), None);
            bytes.extend_from_slice(&incomplete_mark(size));
            assert_eq!(find_incomplete(&bytes).unwrap(), Some(size));
            bytes.resize((size + tree_size(size).unwrap()) as usize, 0);
            assert_eq!(find_incomplete(&bytes).unwrap(), Some(size));
            bytes[size as usize + SIZE - 1] = 1;
            assert_eq!(find_incomplete(&bytes).unwrap(), None);
        }
        assert_eq!(find_incomplete(&Vec::new()).unwrap(), None);
        assert_eq!(find_incomplete(&vec![0; BLOCK - 1]).unwrap(), None);
    }
}
