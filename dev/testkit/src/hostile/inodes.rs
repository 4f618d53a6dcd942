//! Inodes with invalid types, numbers, owners and link counts.

use super::Expect::{Rules, Sound, Tree};
use super::Specimen;
use super::bytes::{Put, over};
use super::draft::{Draft, Ino};
use super::sound::{with_entry, with_odd};

/// An entry `odd` of an inode of any type, whose entry type is a file.
fn kind(kind: u16) -> Vec<u8> {
    with_odd(|draft| Ino { kind: 2, ..draft.inode(kind, &[0; 60]) })
}

/// A pipe with any number.
fn numbered(number: u32) -> Vec<u8> {
    with_odd(|draft| draft.numbered_inode(6, number, 0, &[1, 0, 0, 0]))
}

/// A pipe with one of its 16-bit numbers changed.
fn changed(at: usize, value: u16) -> Vec<u8> {
    with_odd(|draft| {
        let pipe = draft.inode(6, &[1, 0, 0, 0]);
        over(&mut draft.inodes[pipe.position..], at, 2, value.into());
        pipe
    })
}

/// A pipe with this link count.
fn links(links: u32) -> Vec<u8> {
    with_odd(|draft| draft.inode(6, &links.to_le_bytes()))
}

/// Two files with the same number.
fn same_number() -> Vec<u8> {
    let mut draft = Draft::new();
    let first = draft.file(b"one");
    let second = draft.numbered_inode(6, first.number, 0, &[1, 0, 0, 0]);
    let root = draft.directory(&[(b"one", first), (b"two", second)]);
    draft.build(root)
}

/// An inode of every type, extended ones too.
fn every_type() -> Vec<u8> {
    let mut draft = Draft::new();
    let device = |links: u32, xattr: bool| {
        let mut body = Vec::new();
        body.u32(links).u32(0xffff_ffff);
        if xattr {
            body.u32(0xffff_ffff)
        } else {
            &mut body
        };
        body
    };
    let mut ipc = device(1, false);
    ipc[4..].fill(0xff);
    let nodes = [(4, device(1, false)), (5, device(1, false)), (11, device(1, true)), (12, device(1, true))];
    let pipes = [(6, vec![1, 0, 0, 0]), (7, vec![1, 0, 0, 0]), (13, ipc.clone()), (14, ipc)];
    let all = nodes.into_iter().chain(pipes).map(|(kind, body)| draft.inode(kind, &body)).collect::<Vec<Ino>>();
    let names: Vec<Vec<u8>> = (0..all.len()).map(|index| format!("node{index}").into_bytes()).collect();
    let entries: Vec<(&[u8], Ino)> = names.iter().map(|name| &name[..]).zip(all).collect();
    let root = draft.directory(&entries);
    draft.build(root)
}

pub(super) fn specimens() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-inode-type-0", Tree, "an inode of type 0", || kind(0)),
        new("bad-inode-type-15", Tree, "an inode of type 15", || kind(15)),
        new("bad-inode-type-65535", Tree, "an inode of type 65,535", || kind(65_535)),
        new("bad-inode-type-258", Tree, "an inode whose type is a file's only in its lower byte", || kind(258)),
        new("bad-inode-number-0", Tree, "an inode of number 0", || numbered(0)),
        new("bad-inode-number-beyond", Tree, "an inode whose number is beyond the number of inodes", || numbered(1000)),
        new("bad-inode-number-4g", Tree, "an inode of number 2^32-1", || numbered(0xffff_ffff)),
        new("bad-inode-numbers-twice", Rules, "two inodes of one number", same_number),
        new("bad-inode-owner", Tree, "an owner beyond the id table", || changed(4, 2)),
        new("bad-inode-group", Tree, "a group 65,535, beyond the id table", || changed(6, 65_535)),
        new("bad-inode-mode", Rules, "a mode with bits of a type, another than the inode's", || changed(2, 0xf1ff)),
        new("bad-inode-links-0", Rules, "an inode of no names", || links(0)),
        new("bad-inode-links-4g", Rules, "an inode of 2^32-1 names, and it has one", || links(0xffff_ffff)),
        new("odd-inode-every-type", Sound, "devices of all numbers, pipes, sockets, in both forms", every_type),
        new("odd-inode-times", Sound, "a time of 2^32-1 seconds", || {
            let mut draft = Draft::new();
            let pipe = draft.inode(6, &[1, 0, 0, 0]);
            over(&mut draft.inodes[pipe.position..], 8, 4, 0xffff_ffff);
            with_entry(draft, b"odd", pipe)
        }),
    ]
}
