//! Extended attributes.

use super::Specimen;
use super::draft::*;
use crate::hostile::bytes::Put;

/// An attribute with its padding.
pub(super) fn entry(prefix: u8, name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![name.len() as u8, prefix];
    bytes.u16(value.len() as u16).all(name).all(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A header, numbers of shared attributes, and entries.
pub(super) fn set(shared: &[u32], entries: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.u32(0).all(&[shared.len() as u8]).all(&[0; 7]);
    shared.iter().fold(&mut bytes, |bytes, number| bytes.u32(*number));
    bytes.all(&entries.concat());
    bytes
}

/// A file with these attributes, and with a block of shared ones.
fn file(set: Vec<u8>, shared: &[u8]) -> Vec<u8> {
    let mut draft = Draft::new();
    let block = draft.store(shared);
    draft.set(XATTR_BLOCK, block.into());
    draft.of_node(&Node::inline(FILE, b"content").xattrs(set))
}

pub(super) fn all() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-xattr-beyond", "extended attribute of 212 bytes", "a value after the attributes", || {
            let mut attribute = entry(1, b"name", b"1234");
            attribute[2] = 204;
            file(set(&[], &[attribute]), &[])
        })
        .in_data(),
        new("bad-xattr-shared-count", "255 shared", "more shared attributes than space", || {
            let mut set = set(&[], &[entry(1, b"name", b"1234")]);
            set[4] = 255;
            file(set, &[])
        })
        .in_data(),
        new("bad-xattr-shared-beyond", "to byte", "a shared attribute after the image", || {
            file(set(&[u32::MAX], &[]), &entry(1, b"name", b"value"))
        })
        .in_data(),
        new("bad-xattr-prefix", "extended attribute with prefix 7", "an unknown prefix", || {
            file(set(&[], &[entry(7, b"name", b"value")]), &[])
        })
        .in_data(),
        new("bad-xattr-long-prefix", "extended attribute with prefix 133", "an unknown long prefix", || {
            file(set(&[], &[entry(0x85, b"name", b"value")]), &[])
        })
        .in_data(),
        new("bad-xattr-name-nul", "extended attribute \"user.a\\x00b\"", "a NUL in a name", || {
            file(set(&[], &[entry(1, b"a\0b", b"value")]), &[])
        })
        .in_data(),
        new("bad-xattr-twice", "extended attribute \"user.name\" twice", "a name twice in a set", || {
            file(set(&[0], &[entry(1, b"name", b"1")]), &entry(1, b"name", b"2"))
        })
        .in_data(),
        new(
            "bad-xattr-16-mib",
            "set of extended attributes with more than",
            "255 times a shared value of 65535 bytes",
            || file(set(&[0; 255], &[]), &entry(1, &[b'n'; 255], &[7; 65_535])),
        )
        .in_data(),
        new("bad-xattr-filter", "that hides an extended attribute", "a filter of ones", || {
            let mut draft = Draft::new();
            draft.set(COMPAT, 7);
            let mut set = set(&[], &[entry(1, b"name", b"value")]);
            set[..4].fill(0xff);
            draft.of_node(&Node::inline(FILE, b"content").xattrs(set))
        })
        .in_data(),
        new("odd-xattr-internal", "", "an attribute that is not a name of the file system", || {
            file(set(&[], &[entry(0, b"erofs.fingerprint", &[7; 32])]), &[])
        }),
    ]
}
