//! Reads all inodes of an image in the order of the inode table, whether a directory lists them or not.

use packline_engine::CancelToken;
use packline_runtime::unless_cancelled;

use super::metadata::{Cursor, MetaPlace};
use super::{Image, Inode, InodeRef, Node, ReadError};

/// Inodes between two checks for cancellation.
const CANCEL_INTERVAL: u64 = 1 << 12;

/// Calls `visit` with each inode of the table and the offset of its metadata block.
///
/// # Errors
/// [`ReadError::Corrupt`] and [`ReadError::Input`] for the first inode that cannot be read, because the inodes after it cannot be found;
/// [`ReadError::Work`].
pub(crate) fn each_inode(
    image: &Image,
    cancel: &CancelToken,
    mut visit: impl FnMut(&Inode, u64),
) -> Result<(), ReadError> {
    let area = image.tables().inodes;
    let mut place = MetaPlace { block: area.start, offset: 0 };
    let mut cursor = image.inode_cursor(place);
    let mut number = 0u64;
    while place.block < area.end {
        let reference = (place.block - area.start) << 16 | u64::from(place.offset);
        let inode = image.inode_with(&mut cursor, InodeRef(reference))?;
        skip_lists(&inode, &mut cursor)?;
        visit(&inode, place.block);
        place = cursor.place();
        number += 1;
        if number.is_multiple_of(CANCEL_INTERVAL) {
            unless_cancelled(cancel)?;
        }
    }
    Ok(())
}

/// Skips the lists after an inode: size words, or a directory's index.
fn skip_lists(inode: &Inode, cursor: &mut Cursor) -> Result<(), ReadError> {
    match &inode.node {
        Node::File(file) => cursor.skip(file.blocks * 4),
        Node::Directory(directory) => {
            for _ in 0..directory.indices {
                cursor.read_u64()?;
                let length = u64::from(cursor.read_u32()?) + 1;
                cursor.skip(length)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
