//! Sound images that are dangerous to unpack: devices, privileges, modes that deny access to the owner.

use super::Expect::Sound;
use super::Specimen;
use super::draft::{Draft, FileFields, Ino, STORED_BLOCK};
use super::sound::with_entry;

/// A directory `odd` with the entries that `make` returns.
fn within(make: impl FnOnce(&mut Draft) -> Vec<(&'static [u8], Ino)>) -> Vec<u8> {
    let mut draft = Draft::new();
    let entries = make(&mut draft);
    draft.mode = 0o755;
    let directory = draft.directory(&entries);
    with_entry(draft, b"odd", directory)
}

fn privileged(draft: &mut Draft) -> Vec<(&'static [u8], Ino)> {
    draft.mode = 0o6755;
    let content = b"#!/bin/sh\nid\n";
    let start = draft.store(content);
    let length = content.len() as u32;
    let fields = FileFields::new(start, length.into(), vec![length | STORED_BLOCK]);
    let program = draft.file_with(&FileFields { links: 2, ..fields });
    draft.mode = 0o7777;
    let open = draft.directory(&[(b"program", program)]);
    draft.mode = 0o4777;
    let pipe = draft.inode(6, &[1, 0, 0, 0]);
    vec![(b"open", open), (b"pipe", pipe), (b"program2", program)]
}

fn locked(draft: &mut Draft) -> Vec<(&'static [u8], Ino)> {
    draft.mode = 0;
    let file = draft.file(b"nobody reads this");
    let inner = draft.directory(&[(b"file", file)]);
    let outer = draft.directory(&[(b"inner", inner)]);
    vec![(b"outer", outer)]
}

fn disks(draft: &mut Draft) -> Vec<(&'static [u8], Ino)> {
    draft.mode = 0o666;
    let device = |links: u8, minor: u8, major: u8| [links, 0, 0, 0, minor, major, 0, 0];
    let disk = draft.inode(4, &device(2, 0, 8));
    let memory = draft.inode(5, &device(1, 1, 1));
    vec![(b"disk", disk), (b"disk-again", disk), (b"mem", memory)]
}

/// A hard link of one file into two directories, one of which has the name of a link's target.
fn across(draft: &mut Draft) -> Vec<(&'static [u8], Ino)> {
    let file = draft.file_with(&FileFields { links: 3, ..FileFields::new(96, 0, Vec::new()) });
    let one = draft.directory(&[(b"file", file)]);
    let link = draft.symlink(b"one");
    vec![(b"a", file), (b"link", link), (b"one", one), (b"z", file)]
}

pub(super) fn specimens() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("odd-privileged", Sound, "programs, directories and pipes that set user and group", || within(privileged)),
        new("odd-locked", Sound, "directories and files of mode 0 in each other", || within(locked)),
        new("odd-disks", Sound, "the first disk and all memory as devices that everybody may write", || within(disks)),
        new("odd-links-across", Sound, "one file under names in several directories, and a link next to them", || {
            within(across)
        }),
        new("odd-root-closed", Sound, "a root of mode 0", || {
            let mut draft = Draft::new();
            let file = draft.file(b"sound");
            draft.mode = 0;
            let root = draft.directory(&[(b"file", file)]);
            draft.build(root)
        }),
        new("odd-owners", Sound, "owners and groups of 2^32-1 and 2^31", || {
            let mut draft = Draft::new();
            draft.ids = vec![0xffff_fffe, 0x8000_0000];
            let pipe = draft.numbered_inode(6, 1, 1, &[1, 0, 0, 0]);
            with_entry(draft, b"odd", pipe)
        }),
        new("odd-empty", Sound, "an image of nothing but a root", || {
            let mut draft = Draft::new();
            let root = draft.directory(&[]);
            draft.build(root)
        }),
    ]
}
