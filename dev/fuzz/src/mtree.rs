//! Any bytes as an mtree manifest: no panic, no hang, and entries in canonical order or an error of one line.

use std::fs::File;
use std::io;
use std::path::Path;

use packline_manifests::{Mtree, MtreeSource, PseudoHost};
use packline_tree::{Error, Extent, Kind, Source};

/// No owners, dates or commands.
pub(crate) struct Nothing;

impl PseudoHost for Nothing {
    fn user(&mut self, _: &str) -> Option<u32> {
        None
    }

    fn group(&mut self, _: &str) -> Option<u32> {
        None
    }

    fn time(&mut self, _: &str) -> Option<u32> {
        None
    }

    fn run(&mut self, _: &[u8]) -> io::Result<File> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

fn read(bytes: &[u8]) -> Result<(), Error> {
    let mtree = Mtree::read("fuzz", Path::new("/does/not/exist"), bytes, &mut Nothing)?;
    let mut source = MtreeSource::new(mtree, 0, 0);
    let mut buffer = vec![0; 4096];
    let mut last: Option<Vec<u8>> = None;
    while let Some(entry) = source.next_entry()? {
        assert!(entry.meta.mode <= 0o7777 && !entry.path.contains(&0));
        let order = entry.path.split(|&byte| byte == b'/');
        assert!(last.is_none_or(|last| last.split(|&byte| byte == b'/').lt(order)));
        // Files of the host do not exist here, so all are empty.
        assert!(!matches!(entry.kind, Kind::File { size } if size > 0));
        assert!(matches!(source.read(&mut buffer)?, Extent::End));
        last = Some(entry.path);
    }
    Ok(())
}

pub fn mtree(bytes: &[u8]) {
    Mtree::is_manifest(bytes);
    // No file of the host is opened.
    let host = bytes.windows(7).any(|part| part == b"content");
    if !host && let Err(error) = read(bytes) {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}
