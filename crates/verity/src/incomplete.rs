//! The mark of a tree that is being appended to an image. It is at the place of the superblock until everything else is written.
//!
//! The mark is written before the file grows further. If a run is killed, the length of the file tells where the mark is.

use packline_runtime::Input;

use crate::Error;
use crate::layout::{BLOCK, BLOCK_BYTES, blocks_before_tree};

const MAGIC: &[u8; 32] = b"packline: incomplete hash tree\n\0";
/// Bytes of the mark. The rest of its block is zero, as after a superblock. Storage writes a sector completely or not at all.
const SIZE: usize = MAGIC.len() + 8;

/// The block that is written first after an image of `image` bytes.
pub fn incomplete_mark(image: u64) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..MAGIC.len()].copy_from_slice(MAGIC);
    block[MAGIC.len()..SIZE].copy_from_slice(&image.to_le_bytes());
    block
}

/// Returns the end of the image if an incomplete tree follows it.
///
/// # Errors
/// The input cannot be read.
pub fn find_incomplete(input: &dyn Input) -> Result<Option<u64>, Error> {
    let size = input.size();
    // The file has its full length, or ends after the mark.
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

/// Rejects a file with an incomplete tree after its image.
///
/// # Errors
/// The input cannot be read; [`Error::Superblock`] if there is an incomplete tree.
pub fn refuse_incomplete(input: &dyn Input) -> Result<(), Error> {
    let Some(at) = find_incomplete(input)? else { return Ok(()) };
    let what = format!(
        "has an incomplete hash tree from byte {at} on, left by a run that was stopped; appending a hash tree removes it"
    );
    Err(Error::Superblock { what, expected: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree_size;

    #[test]
    fn finds_incomplete_trees_by_the_file_size() {
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
