//! Invalid names, and valid names that are unusual.

use super::Expect::{Sound, Tree};
use super::Specimen;
use super::draft::{Draft, Ino};

/// A root with a file for each name, in this order.
fn files(names: &[&[u8]]) -> Vec<u8> {
    let mut draft = Draft::new();
    let entries: Vec<(&[u8], Ino)> = names.iter().map(|name| (*name, draft.file(name))).collect();
    let root = draft.directory(&entries);
    draft.build(root)
}

/// A root with two entries of the same name.
fn twice(make: fn(&mut Draft) -> [Ino; 2]) -> Vec<u8> {
    let mut draft = Draft::new();
    let [first, second] = make(&mut draft);
    let root = draft.directory(&[(b"name", first), (b"name", second)]);
    draft.build(root)
}

fn directory_of_file(draft: &mut Draft) -> Ino {
    let file = draft.file(b"written through the link");
    draft.directory(&[(b"escaped", file)])
}

pub(super) fn specimens() -> Vec<Specimen> {
    [forbidden(), order(), nasty()].concat()
}

fn forbidden() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-name-dot", Tree, "a file called .", || files(&[b"."])),
        new("bad-name-dotdot", Tree, "a file called ..", || files(&[b".."])),
        new("bad-name-up", Tree, "a file called ../escaped", || files(&[b"../escaped"])),
        new("bad-name-slash", Tree, "a file called /", || files(&[b"/"])),
        new("bad-name-inner-slash", Tree, "a file called a/b", || files(&[b"a/b"])),
        new("bad-name-absolute", Tree, "a file called /tmp/escaped", || files(&[b"/tmp/escaped"])),
        new("bad-name-nul", Tree, "a file with a NUL in its name", || files(&[b"name\0.txt"])),
        new("bad-name-only-nul", Tree, "a file whose name is a NUL", || files(&[b"\0"])),
        new("bad-name-256", Tree, "a name of 256 bytes", || files(&[&[b'n'; 256]])),
        new("bad-name-257", Tree, "a name of 257 bytes", || files(&[&[b'n'; 257]])),
        new("bad-name-5000", Tree, "a name of 5,000 bytes", || files(&[&[b'n'; 5000]])),
        new("bad-name-empty", Tree, "a name whose length less one is 65,535", || files(&[b""])),
        new("bad-name-dotdot-directory", Tree, "a directory called ..", || {
            let mut draft = Draft::new();
            let inner = directory_of_file(&mut draft);
            let root = draft.directory(&[(b"..", inner)]);
            draft.build(root)
        }),
    ]
}

fn order() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-names-unsorted", Tree, "names out of order", || files(&[b"b", b"a"])),
        new("bad-names-twice", Tree, "two files of one name", || {
            twice(|draft| [draft.file(b"one"), draft.file(b"two")])
        }),
        new(
            "bad-names-link-and-directory",
            Tree,
            "a link out of the destination, and a directory of the same name",
            || twice(|draft| [draft.symlink(b"../outside"), directory_of_file(draft)]),
        ),
        new("bad-names-link-and-file", Tree, "a link out of the destination, and a file of the same name", || {
            twice(|draft| [draft.symlink(b"../outside/victim"), draft.file(b"written through the link")])
        }),
        new("bad-names-link-and-device", Tree, "a link out of the destination, and a pipe of the same name", || {
            twice(|draft| [draft.symlink(b"../outside/victim"), draft.inode(6, &[1, 0, 0, 0])])
        }),
        new("bad-names-again-later", Tree, "a link, another file, and a directory of the link's name", || {
            let mut draft = Draft::new();
            let link = draft.symlink(b"../outside");
            let file = draft.file(b"x");
            let directory = directory_of_file(&mut draft);
            let root = draft.directory(&[(b"a", link), (b"b", file), (b"a", directory)]);
            draft.build(root)
        }),
    ]
}

fn nasty() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("odd-name-255", Sound, "a name of 255 bytes", || files(&[&[b'n'; 255]])),
        new("odd-names-of-all-bytes", Sound, "a name for each byte that one may have", || {
            let bytes: Vec<[u8; 1]> = (1..=255u8).filter(|byte| !b"/.".contains(byte)).map(|byte| [byte]).collect();
            let names: Vec<&[u8]> = bytes.iter().map(|name| &name[..]).collect();
            files(&names)
        }),
        new("odd-names-terminal", Sound, "names with escapes for terminals and lines of their own", || {
            files(&[b"\n", b"\r\nroot:x:0:0", b"\x1b]0;title\x07\x1b[2J", b"-rf", b"a\tb", b"\xe2\x80\xae"])
        }),
        new("odd-names-not-utf-8", Sound, "names that are not UTF-8", || {
            files(&[b"\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xff\xfe"])
        }),
        new("odd-names-case", Sound, "names that are equal where case does not count", || {
            files(&[b"FILE", b"File", b"file"])
        }),
        new("odd-names-composed", Sound, "one name in two forms of Unicode", || files(&[b"e\xcc\x81", b"\xc3\xa9"])),
        new("odd-names-windows", Sound, "names that Windows keeps for itself", || {
            files(&[b"C:\\x", b"CON", b"NUL.txt", b"\\", b"a:b", b"aux", b"b ", b"c.."])
        }),
        new("odd-names-glob", Sound, "names that consist of wildcard characters", || {
            files(&[b"*", b"?", b"[a", b"\\*", b"{a,b}", b"~"])
        }),
        new("odd-names-dots", Sound, "names that begin with dots and do not lead upwards", || {
            files(&[b"...", b"..a", b".a"])
        }),
    ]
}
