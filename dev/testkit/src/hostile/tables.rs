//! Tables at wrong positions, overlapping, reversed or missing.

use super::Expect::{Refused, Rules, Tree};
use super::Specimen;
use super::bytes::{number, over};
use super::draft::{
    BYTES_USED, DIRECTORY_TABLE, EXPORT_TABLE, FRAGMENT_TABLE, FRAGMENTS, Field, ID_TABLE, IDS, INODE_TABLE, ROOT,
    XATTR_TABLE, get, set,
};
use super::sound::{good, sound};
use super::superblocks::with;

pub(super) fn specimens() -> Vec<Specimen> {
    [starts(), order(), indices(), roots(), exports()].concat()
}

fn starts() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-inode-table-beyond", Refused, "the inode table starts beyond the end", || with(INODE_TABLE, 1 << 30)),
        new("bad-inode-table-0", Refused, "the inode table starts in the superblock", || with(INODE_TABLE, 0)),
        new("bad-inode-table-all-ones", Refused, "there is no inode table", || with(INODE_TABLE, u64::MAX)),
        new("bad-directory-table-beyond", Refused, "the directory table starts beyond the end", || {
            with(DIRECTORY_TABLE, 1 << 40)
        }),
        new("bad-directory-table-0", Refused, "the directory table starts in the superblock", || {
            with(DIRECTORY_TABLE, 0)
        }),
        new("bad-directory-table-all-ones", Refused, "there is no directory table", || with(DIRECTORY_TABLE, u64::MAX)),
        new("bad-fragment-table-beyond", Refused, "the fragment table starts beyond the end", || {
            with(FRAGMENT_TABLE, 1 << 50)
        }),
        new("bad-fragment-table-95", Refused, "the fragment table starts in the superblock", || {
            with(FRAGMENT_TABLE, 95)
        }),
        new("bad-fragment-table-all-ones", Refused, "a fragment block and no fragment table", || {
            with(FRAGMENT_TABLE, u64::MAX)
        }),
        new("bad-export-table-beyond", Refused, "the export table starts beyond the end", || {
            with(EXPORT_TABLE, 1 << 62)
        }),
        new("bad-export-table-1", Refused, "the export table starts in the superblock", || with(EXPORT_TABLE, 1)),
        new("bad-export-table-all-ones", Rules, "the flag of an export table and no table", || {
            with(EXPORT_TABLE, u64::MAX)
        }),
        new("bad-id-table-beyond", Refused, "the id table starts beyond the end", || with(ID_TABLE, (1 << 63) + 5)),
        new("bad-id-table-50", Refused, "the id table starts in the superblock", || with(ID_TABLE, 50)),
        new("bad-id-table-all-ones", Refused, "there is no id table", || with(ID_TABLE, u64::MAX)),
        new("bad-xattr-table-beyond", Refused, "the attributes start beyond the end", || with(XATTR_TABLE, 1 << 33)),
        new("bad-xattr-table-0", Refused, "the attributes start in the superblock", || with(XATTR_TABLE, 0)),
        new("bad-xattr-table-at-the-end", Refused, "the header of the attributes has 8 bytes to the end", || {
            moved(XATTR_TABLE, BYTES_USED, -8)
        }),
    ]
}

/// The sound image with one start set near another number.
fn moved(field: Field, to: Field, by: i64) -> Vec<u8> {
    let image = good();
    with(field, get(&image, to).wrapping_add_signed(by))
}

fn swapped(one: Field, other: Field) -> Vec<u8> {
    let mut image = good();
    let first = get(&image, one);
    let second = get(&image, other);
    set(&mut image, one, second);
    set(&mut image, other, first);
    image
}

fn order() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-tables-swapped", Refused, "the directory table is before the inode table", || {
            swapped(INODE_TABLE, DIRECTORY_TABLE)
        }),
        new("bad-tables-equal", Refused, "inode and directory table start at the same byte", || {
            moved(DIRECTORY_TABLE, INODE_TABLE, 0)
        }),
        new("bad-lookup-tables-equal", Refused, "fragment and export table start at the same byte", || {
            moved(FRAGMENT_TABLE, EXPORT_TABLE, 0)
        }),
        new("bad-id-table-before-exports", Refused, "the id table is before the export table", || {
            swapped(ID_TABLE, EXPORT_TABLE)
        }),
        new("bad-directory-table-in-inodes", Refused, "the directory table starts in the middle of the inodes", || {
            moved(DIRECTORY_TABLE, INODE_TABLE, 11)
        }),
        new("bad-inode-table-in-data", Refused, "the inode table starts a few bytes early, in the data", || {
            moved(INODE_TABLE, INODE_TABLE, -7)
        }),
        new("bad-id-table-by-1", Refused, "the id table starts a byte early", || moved(ID_TABLE, ID_TABLE, -1)),
        new("bad-fragments-4g", Refused, "2^32-1 fragment blocks", || with(FRAGMENTS, 0xffff_ffff)),
        new("bad-fragments-2-to-28", Refused, "a number of fragment blocks whose table wraps at 2^32", || {
            with(FRAGMENTS, 1 << 28)
        }),
        new("bad-fragments-0", Tree, "no fragment blocks, and a file with a tail end", || with(FRAGMENTS, 0)),
        new("bad-ids-65535", Refused, "65,535 ids in a table of two", || with(IDS, 65_535)),
    ]
}

/// The sound image with the first entry of an index changed, relative to the position of the index.
fn index(field: Field, change: fn(u64) -> u64) -> Vec<u8> {
    let mut image = good();
    let at = get(&image, field) + if field == XATTR_TABLE { 16 } else { 0 };
    over(&mut image, at as usize, 8, change(at));
    image
}

fn indices() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-id-index-itself", Refused, "the index of the ids points at itself", || index(ID_TABLE, |at| at)),
        new("bad-id-index-0", Refused, "the index of the ids points at the superblock", || index(ID_TABLE, |_| 0)),
        new("bad-id-index-beyond", Refused, "the index of the ids points beyond the end", || {
            index(ID_TABLE, |_| u64::MAX - 1)
        }),
        new("bad-fragment-index-itself", Refused, "the index of the fragment blocks points at itself", || {
            index(FRAGMENT_TABLE, |at| at)
        }),
        new("bad-fragment-index-backwards", Refused, "the index of the fragment blocks points into the data", || {
            index(FRAGMENT_TABLE, |_| 100)
        }),
        new("bad-fragment-index-beyond", Refused, "the index of the fragment blocks points beyond the end", || {
            index(FRAGMENT_TABLE, |_| 1 << 63)
        }),
        new("bad-export-index-itself", Refused, "the index of the export table points at itself", || {
            index(EXPORT_TABLE, |at| at)
        }),
        new("bad-xattr-index-itself", Refused, "the index of the attributes points at itself", || {
            index(XATTR_TABLE, |at| at)
        }),
        new("bad-xattr-index-beyond", Refused, "the index of the attributes points beyond the end", || {
            index(XATTR_TABLE, |_| 1 << 40)
        }),
    ]
}

fn roots() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-root-beyond", Refused, "the root lies beyond the inode table", || with(ROOT, 0xffff_0000)),
        new("bad-root-offset-8191", Refused, "the root is after the last inode", || with(ROOT, 8191)),
        new("bad-root-offset-65535", Refused, "the root is after the end of any metadata block", || with(ROOT, 65_535)),
        new("bad-root-block-2-to-47", Refused, "the root's block is 2^47", || with(ROOT, 1 << 63)),
        new("bad-root-in-the-middle", Refused, "the root lies in the middle of another inode", || with(ROOT, 9)),
        new("bad-root-is-a-file", Refused, "the root is a file", || {
            let (mut draft, _) = sound();
            let file = draft.file(b"root");
            draft.build(file)
        }),
        new("bad-root-is-a-symlink", Refused, "the root is a symbolic link to /etc", || {
            let (mut draft, _) = sound();
            let link = draft.symlink(b"/etc");
            draft.build(link)
        }),
        new("bad-root-is-a-device", Refused, "the root is a device", || {
            let (mut draft, _) = sound();
            let device = draft.inode(4, &[1, 0, 0, 0, 0, 8, 0, 0]);
            draft.build(device)
        }),
    ]
}

/// The sound image with the export table's entry of inode 1 changed.
fn export(change: fn(u64) -> u64) -> Vec<u8> {
    let mut image = good();
    let block = number(&image, get(&image, EXPORT_TABLE) as usize, 8) as usize + 2;
    let old = number(&image, block, 8);
    over(&mut image, block, 8, change(old));
    image
}

fn exports() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-export-beyond", Rules, "the export table sends inode 1 beyond the table", || export(|_| 1 << 40)),
        new("bad-export-other", Rules, "the export table sends inode 1 into the middle of another", || {
            export(|old| old + 20)
        }),
        new("bad-export-all-ones", Rules, "the export table sends inode 1 nowhere", || export(|_| u64::MAX)),
    ]
}
