//! Images of all kinds have the tree that they were made from.

use std::sync::Arc;

use packline_erofs::read::{Image, find_image, incompat};
use packline_volume::Volume;

use super::support::{at, described, expected, fixture, hard_links, open, open_with};

/// Opens a fixture and compares its tree.
fn whole(name: &str) -> Image {
    let image = open(fixture(name)).unwrap();
    same(&described(&image), &expected(|_| true), name);
    image
}

/// As [`whole`] does, for an image in whose compact inodes mkfs.erofs stored the low 32 bits of the seconds, and no nanoseconds.
fn whole_seconds(name: &str) -> Image {
    let image = open(fixture(name)).unwrap();
    assert!(image.superblock().has(incompat::WIDE), "{name}");
    same(&shorter(&described(&image)), &shorter(&expected(|_| true)), name);
    image
}

/// Shortens all times as compact inodes do.
fn shorter(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let mut fields: Vec<&str> = line.split(' ').collect();
        let seconds: i64 = fields[4].split('.').next().unwrap().parse().unwrap();
        let seconds = (seconds as u32).to_string();
        fields[4] = &seconds;
        fields.join(" ") + "\n"
    });
    lines.collect()
}

fn same(found: &str, expected: &str, name: &str) {
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected, "{name}");
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{name}");
}

#[test]
fn reads_flat_content_with_and_without_inline_ends() {
    let image = whole("inline.erofs");
    assert_eq!(image.superblock().label(), b"fixture");
    assert_eq!(hard_links(&image), 2);
    assert_eq!(at(&image, "hard").links, 2);
    assert_eq!(image.facts().codec, "none");
    open(fixture("plain.erofs")).map(|image| described(&image)).unwrap();
}

#[test]
fn reads_blocks_of_512_and_1024_bytes() {
    let image = whole("b512.erofs");
    assert_eq!(image.superblock().block_size(), 512);
    assert!(at(&image, "empty").extended);
    let image = whole("b1024.erofs");
    assert_eq!(image.superblock().block_size(), 1024);
    assert!(!at(&image, "empty").extended && at(&image, "tail").extended);
}

#[test]
fn reads_chunks_by_block_numbers_and_by_indexes() {
    assert!(whole("chunks.erofs").superblock().has(incompat::CHUNKS));
    whole("indexes.erofs");
}

#[test]
fn reads_chunks_of_a_device() {
    let image = open_with(fixture("blob.erofs"), &[fixture("blob.bin")]).unwrap();
    same(&described(&image), &expected(|_| true), "blob");
}

#[test]
fn reads_wide_addresses_and_directories_without_dots() {
    for name in ["wide.erofs", "dotless.erofs"] {
        let image = whole_seconds(name);
        assert!(!at(&image, "block").extended, "{name}");
    }
}

#[test]
fn reads_long_prefixes_of_attribute_names() {
    let image = whole("prefixes.erofs");
    let infixes: Vec<_> = image.xattr_prefixes().iter().map(|prefix| (prefix.base, prefix.infix.as_slice())).collect();
    assert_eq!(infixes, [(4, b"overlay.".as_slice()), (1, b"com".as_slice())]);
    whole("plainprefixes.erofs");
}

#[test]
fn reads_compressed_metadata() {
    let image = whole_seconds("metabox.erofs");
    let number = image.inode_number(image.root());
    assert_eq!(number >> 63, 1, "{number:#x}");
    assert_eq!(image.numbered(at(&image, "hello").number).unwrap(), Some(at(&image, "hello").at));
    whole_seconds("metaplain.erofs");
}

#[test]
fn reads_prefixes_and_ends_of_files_in_the_packed_inode() {
    let image = whole("fragments.erofs");
    assert!(image.facts().shared_units > 0);
    assert_eq!(image.xattr_prefixes().len(), 1);
    whole("fragplain.erofs");
}

#[test]
fn finds_every_name_and_no_other() {
    for name in ["inline.erofs", "b512.erofs", "dotless.erofs", "metabox.erofs"] {
        let image = open(fixture(name)).unwrap();
        let text = expected(|path| path.starts_with("many/"));
        let many = at(&image, "many");
        for line in text.lines() {
            let name = line.split(' ').next().unwrap().strip_prefix("many/").unwrap();
            let entry = image.lookup(&many, name.as_bytes()).unwrap().unwrap();
            assert_eq!(entry.name, name.as_bytes());
            for other in [format!("{name}~"), format!("!{name}"), name[..name.len() - 1].to_string()] {
                assert_eq!(image.lookup(&many, other.as_bytes()).unwrap(), None, "{other}");
            }
        }
        for other in ["", ".", "..", &"n".repeat(256)] {
            assert_eq!(image.lookup(&many, other.as_bytes()).unwrap(), None);
        }
        assert!(image.resolve(b"n/../hello").unwrap().is_none());
    }
}

#[test]
fn finds_an_image_after_other_bytes() {
    let mut bytes = vec![7; 12_345];
    bytes.extend_from_slice(&fixture("b512.erofs"));
    assert_eq!(find_image(&bytes, 1..u64::MAX).unwrap(), Some(12_345));
    let image = Image::open(Arc::new(bytes), &[], 12_345, 1 << 20).unwrap();
    assert_eq!(image.origin(), 12_345);
    same(&described(&image), &expected(|_| true), "moved");
}
