//! Names the part of an image that was read back with a fault.

use packline_blocks::block_at;
use packline_tree::Tree;

use crate::{DataLayout, Error, ImageEnd};

/// Adds the name of the part at the offset to an error of reading back.
pub(crate) fn name_part(error: Error, tree: &Tree, data: &DataLayout, end: &ImageEnd) -> Error {
    match error {
        Error::ReadBack { offset, what, is } if what.is_empty() => {
            Error::ReadBack { offset, what: name_at(offset, tree, data, end), is }
        }
        other => other,
    }
}

fn name_at(offset: u64, tree: &Tree, data: &DataLayout, end: &ImageEnd) -> String {
    let inodes_end = data.end + end.inode_table;
    let directories_end = inodes_end + end.directory_table;
    match offset {
        _ if offset < data.end => block_at(offset, tree, data),
        _ if offset < inodes_end => "the inode table".into(),
        _ if offset < directories_end => "the directory table".into(),
        _ if offset < end.bytes_used => "a table of fragments, exports, ids or attributes".into(),
        _ => "the padding".into(),
    }
}
