//! The packed inode and the metabox.

use super::Specimen;
use super::draft::*;
use super::frames::zstd_repeat;
use super::indexes::{header, inside, one_cluster, start};

const ZSTD: u8 = 3;
/// Flag of a map header: the last extent is in the packed inode.
const FRAGMENT: u8 = 0x20;

/// A header that says that all of a file is in the packed inode.
fn whole(offset: u64) -> [u8; 8] {
    (offset | 1 << 63).to_le_bytes()
}

/// An image with this packed inode and one file.
fn image(packed: &Node, file: &Node) -> Vec<u8> {
    let mut draft = Draft::compressed();
    draft.store_cluster(&zstd_repeat(17, b'x', 8192));
    let packed = draft.node(packed);
    draft.set(INCOMPAT, 0x23).set(PACKED, packed.number);
    draft.of_node(file)
}

fn packed() -> Node {
    one_cluster(8192, 1, ZSTD)
}

fn fragment(size: u64, offset: u64) -> Node {
    Node::full(size, whole(offset), &[])
}

/// Logical clusters of 4 KiB of `count` extents of 12 MiB each, in two clusters that alternate.
fn alternating(count: usize, blocks: [u32; 2]) -> Node {
    const LENGTH: u16 = 3072;
    let mut entries = Vec::new();
    for number in 0..count {
        entries.push(start(1, 0, blocks[number % 2]));
        entries.extend((1..LENGTH).map(|at| inside(at.min(0x7ff), (LENGTH - at).min(0x7ff))));
    }
    Node::full(count as u64 * u64::from(LENGTH) * 4096, header(0, ZSTD, 0), &entries)
}

pub(super) fn all() -> Vec<Specimen> {
    [fragments(), amplified(), metaboxes()].concat()
}

fn fragments() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-fragment-beyond", "of the packed inode", "a file after the end of the packed inode", || {
            image(&packed(), &fragment(100, 8100))
        })
        .in_data(),
        new("bad-fragment-far", "of the packed inode", "a file at 2^62 of the packed inode", || {
            image(&packed(), &fragment(100, 1 << 62))
        })
        .in_data(),
        new("bad-fragment-in-itself", "packed inode", "a packed inode that is in the packed inode", || {
            image(&fragment(8192, 0), &fragment(100, 0))
        })
        .in_data(),
        new("bad-fragment-end-in-itself", "packed inode", "a packed inode that ends in the packed inode", || {
            let entries = [start(1, 0, 1), start(1, 0, 0)];
            image(&Node::full(8192, header(FRAGMENT, ZSTD, 0), &entries), &fragment(8192, 0))
        })
        .in_data(),
        new("bad-fragment-without-packed", "an image with a packed inode", "a fragment without a packed inode", || {
            Draft::compressed().of_node(&fragment(100, 0))
        })
        .in_data(),
        new("odd-fragment-plain", "", "a packed inode that is not compressed", || {
            image(&Node::inline(FILE, &[7; 200]), &fragment(200, 0))
        }),
        new("odd-packed-unused", "", "a packed inode that no file uses", || {
            image(&packed(), &Node::inline(FILE, b"content"))
        }),
    ]
}

fn amplified() -> Vec<Specimen> {
    let new = Specimen::new;
    let many = new("odd-fragment-of-many-clusters", "", "a file of 24 MB in 6000 clusters of the packed inode", || {
        let mut draft = Draft::compressed();
        let block = draft.store_cluster(&zstd_repeat(17, b'x', 4096));
        let packed = draft.node(&Node::full(6000 * 4096, header(0, ZSTD, 0), &vec![start(1, 0, block); 6000]));
        draft.set(INCOMPAT, 0x23).set(PACKED, packed.number);
        draft.of_node(&fragment(6000 * 4096, 0))
    });
    vec![
        many,
        new("odd-fragments-alternate", "", "100 files that alternate between two clusters of 12 MiB", || {
            let mut draft = Draft::compressed();
            let blocks = [b'x', b'y'].map(|byte| draft.store_cluster(&zstd_repeat(17, byte, 12 << 20)));
            let packed = draft.node(&alternating(2, blocks));
            draft.set(INCOMPAT, 0x23).set(PACKED, packed.number);
            let names: Vec<Vec<u8>> = (0..100).map(|number| format!("{number:03}").into_bytes()).collect();
            let mut entries = Vec::new();
            for (number, name) in names.iter().enumerate() {
                let offset = (number as u64 % 2) * (12 << 20) + number as u64 * 10;
                entries.push((name.as_slice(), draft.node(&fragment(10, offset))));
            }
            let root = draft.directory(&entries);
            draft.set(ROOT, 0).set(WIDE_ROOT, root.number).set(INCOMPAT, 0xa3);
            draft.build(root)
        }),
    ]
}

fn metaboxes() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-metabox-beyond", "to byte", "a metabox after the end of the image", || metabox(None)),
        new("bad-metabox-hole", "hole of", "a metabox that is a hole of 2^50 bytes", || {
            // Chunks of 2^43 bytes, of which the first one is a hole.
            metabox(Some(&Node::new(FILE, CHUNKS, 1 << 42).start(31).tail(&[0xff; 4])))
        }),
        new("bad-metabox-short", "of content of 64 bytes", "a root after the end of the metabox", || {
            metabox(Some(&Node::inline(FILE, &[0; 64])))
        }),
    ]
}

/// An image whose root is inode 9 of this metabox.
fn metabox(node: Option<&Node>) -> Vec<u8> {
    let mut draft = Draft::compressed();
    let file = draft.file(b"content");
    let number = node.map_or(1 << 20, |node| draft.node(node).number);
    draft.set(INCOMPAT, 0x187).set(SLOTS, 1).set(METABOX, number).set(ROOT, 0).set(WIDE_ROOT, 1 << 63 | 9);
    draft.of_file(file)
}
