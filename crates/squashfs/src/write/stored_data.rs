//! Lists where the data of files and the fragment blocks are.

use packline_runtime::{Observer, StoredData};
use packline_tree::{Content, Tree};

use crate::{DataLayout, STORED_BLOCK};

/// Reports files by their first names, and fragment blocks, together in the order of the image. Memory: 8 bytes for each file.
pub(crate) fn report(tree: &Tree, data: &DataLayout, observer: &mut dyn Observer) {
    let mut files: Vec<_> = tree
        .nodes()
        .filter_map(|node| match tree.content(tree.inode(node)) {
            Content::File(payload) => Some((payload, node)),
            _ => None,
        })
        .collect();
    // The sort is stable, so the first of several names stays the first.
    files.sort_by_key(|(payload, _)| *payload);
    let mut fragments = (0..).zip(&data.fragments).peekable();
    // Blocks are written in the order of files: a file that starts before this byte shares its blocks.
    let mut end = 0;
    for (payload, node) in files {
        let Some(file) = data.files.get(payload as usize).filter(|file| file.start > 0 && file.start >= end) else {
            continue;
        };
        let first = file.first_block as usize;
        let sizes = data.sizes.get(first..first + file.blocks as usize).unwrap_or_default();
        end = file.start + sizes.iter().map(|size| u64::from(size & !STORED_BLOCK)).sum::<u64>();
        while let Some((index, block)) = fragments.next_if(|(_, block)| block.start < file.start) {
            observer.stored(StoredData::FragmentBlock { index, start: block.start });
        }
        observer.stored(StoredData::File { path: &tree.path(node), start: file.start });
    }
    fragments.for_each(|(index, block)| observer.stored(StoredData::FragmentBlock { index, start: block.start }));
}
