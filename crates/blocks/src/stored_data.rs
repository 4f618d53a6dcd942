//! Lists where the data of files and the fragment blocks are.

use packline_runtime::{Observer, StoredData};
use packline_tree::{Content, Tree};

use crate::DataLayout;

/// Reports files by their first names, and fragment blocks, together in the order of the image. A file is reported at its first block that no
/// earlier file has. Memory: 8 bytes for each file.
pub fn report_data(tree: &Tree, data: &DataLayout, observer: &mut dyn Observer) {
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
    // Blocks are written in the order of files: a block that starts before this byte is that of an earlier file.
    let mut end = 0;
    for (payload, node) in files {
        let Some(file) = data.files.get(payload as usize) else { continue };
        let own = || data.blocks(file).filter(|block| !block.is_hole() && block.start >= end);
        let Some(start) = own().next().map(|block| block.start) else { continue };
        end = own().map(|block| block.start + u64::from(block.size())).max().unwrap_or(end);
        while let Some((index, block)) = fragments.next_if(|(_, block)| block.start < start) {
            observer.stored(StoredData::FragmentBlock { index, start: block.start });
        }
        observer.stored(StoredData::File { path: &tree.path(node), start });
    }
    fragments.for_each(|(index, block)| observer.stored(StoredData::FragmentBlock { index, start: block.start }));
}
