//! Inodes, and content that is not compressed.

use super::Specimen;
use super::draft::*;

fn file(change: fn(&mut Node)) -> Vec<u8> {
    let mut node = Node::inline(FILE, b"content");
    change(&mut node);
    Draft::new().of_node(&node)
}

pub(super) fn all() -> Vec<Specimen> {
    [fields(), contents(), links()].concat()
}

fn fields() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-layout-5", "inode of layout 5", "a layout that does not exist", || {
            file(|node| node.format = 5 << 1 | 1)
        }),
        new("bad-layout-7", "inode of layout 7", "the last layout", || file(|node| node.format = 7 << 1 | 1)),
        new("bad-format-bits", "inode of format 0xffe5", "unknown bits of the format", || {
            file(|node| node.format = 0xffe5)
        }),
        new("bad-mode-zero", "inode of mode 0", "no type", || file(|node| node.mode = 0)),
        new("bad-mode-all", "inode of mode 0o177777", "a type of ones", || file(|node| node.mode = 0xffff)),
        new("bad-size-negative", "inode of 18446744073709551615 bytes", "a size of -1", || {
            file(|node| node.size = u64::MAX)
        }),
        new("bad-xattr-header-only", "extended attributes of 12 bytes", "attributes that are only a header", || {
            file(|node| {
                node.xattr_count = 1;
                node.xattrs = vec![0; 12];
            })
        }),
        new("bad-xattr-most", "to byte", "65535 units of attributes, beyond the image", || {
            file(|node| node.xattr_count = 65_535)
        }),
        new("bad-links-zero", "file with a link count of 0", "no links", || file(|node| node.links = 0)).in_data(),
        new("bad-links-many", "file with a link count of 7", "more links than names", || file(|node| node.links = 7))
            .in_data(),
        new("bad-short-without-feature", "without the feature \"48-bit block numbers\"", "bit 4 of the format", || {
            file(|node| node.format |= 1 << 4)
        })
        .in_data(),
        new("odd-fifo-with-size", "", "a named pipe of 2^40 bytes", || {
            Draft::new().of_node(&Node::new(FIFO, PLAIN, 1 << 40))
        }),
    ]
}

fn contents() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-plain-beyond", "content to byte", "blocks after the end of the image", || {
            Draft::new().of_node(&Node::new(FILE, PLAIN, 5000).start(1 << 20))
        })
        .in_data(),
        new("bad-plain-large", "content to byte", "a file of 2^62 bytes", || {
            Draft::new().of_node(&Node::new(FILE, PLAIN, 1 << 62).start(1))
        })
        .in_data(),
        new("bad-inline-crosses", "inline content of 4090 bytes", "inline content across a block", || {
            Draft::new().of_node(&Node::inline(FILE, &[7; 4090]))
        })
        .in_data(),
        new("bad-plain-all-ones", "content to byte", "an address of ones in 32 bits", || {
            Draft::new().of_node(&Node::new(FILE, PLAIN, 5000).start(u32::MAX))
        })
        .in_data(),
    ]
}

fn links() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-link-empty", "symbolic link of 0 bytes", "an empty target", || {
            Draft::new().of_node(&Node::new(SYMLINK, PLAIN, 0))
        }),
        new("bad-link-long", "symbolic link of 65536 bytes", "a target of 64 KiB", || {
            let mut draft = Draft::new();
            let block = draft.store(&[b'a'; 65_536]);
            draft.of_node(&Node::new(SYMLINK, PLAIN, 65_536).start(block))
        }),
        new("bad-link-large", "symbolic link of", "a target of 2^62 bytes", || {
            Draft::new().of_node(&Node::new(SYMLINK, PLAIN, 1 << 62))
        }),
        new("bad-link-nul", "NUL byte in its target", "a NUL in a target", || {
            Draft::new().of_node(&Node::inline(SYMLINK, b"a\0b"))
        }),
    ]
}
