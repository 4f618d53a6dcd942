//! Any lines as actions, applied to a small tree: no panic, no hang, and a tree with each path once or an error.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use packline_manifests::actions::{
    ActionEntry, ActionHost, ActionLog, ActionSettings, Actions, BytesMatcher, TestedFile,
};
use packline_tree::{DirectoryOptions, Entry, Kind, Meta, Xattr};

/// There are no owners. The results of tests of content and of commands depend on their text.
struct Nothing;

impl ActionHost for Nothing {
    fn user(&mut self, _: &[u8]) -> Option<u32> {
        None
    }

    fn group(&mut self, _: &[u8]) -> Option<u32> {
        None
    }

    fn regex(&mut self, text: &[u8]) -> Result<BytesMatcher, String> {
        let length = text.len();
        Ok(Box::new(move |text| text.len() > length))
    }

    fn xattr(&mut self, text: &[u8]) -> Result<Xattr, String> {
        Ok(Xattr { name: text.to_vec(), value: Vec::new() })
    }

    fn describe(&mut self, _: &Path) -> io::Result<Vec<u8>> {
        Ok(b"text".to_vec())
    }

    fn succeeds(&mut self, command: &[u8], file: TestedFile<'_>) -> io::Result<bool> {
        Ok(command.len() > file.path.len())
    }
}

fn entries() -> Vec<ActionEntry> {
    let link = |to: &str| Kind::Symlink(to.into());
    let entries = [
        ("", Kind::Dir),
        ("a.c", Kind::File { size: 3 }),
        ("d", Kind::Dir),
        ("d/e", Kind::Dir),
        ("d/hard", Kind::HardLink(b"a.c".to_vec())),
        ("d/loop", link("loop")),
        ("d/up", link("../d/e/../../a.c")),
        ("d/e/p", Kind::Fifo),
    ];
    let entries = entries.into_iter().map(|(path, kind)| {
        let meta = Meta::new(0o644, 1, 2, 3);
        Entry { path: path.into(), kind, meta, xattrs: Vec::new() }
    });
    entries.map(|entry| ActionEntry { entry, file: None, place: None }).collect()
}

pub fn action(bytes: &[u8]) {
    let mut actions = Actions::default();
    for line in bytes.split(|&byte| byte == b'\n').take(8) {
        if let Err(fault) = actions.add(line, ActionLog::Always, &mut Nothing) {
            assert!(!fault.to_string().contains('\n'), "{fault}");
        }
    }
    let mut report = |_| {};
    let settings = ActionSettings { block_size: 4096, reading: &|_| DirectoryOptions::default() };
    let made = actions.apply(entries(), &settings, &mut Nothing, &mut report).expect("a tree without files");
    let paths: BTreeSet<_> = made.iter().map(|(one, _)| one.entry.path.clone()).collect();
    assert_eq!(paths.len(), made.len());
    for (one, _) in &made {
        let Kind::HardLink(target) = &one.entry.kind else { continue };
        assert!(paths.contains(target));
    }
}
