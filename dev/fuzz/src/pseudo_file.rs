//! Any bytes as a pseudo file: no panic, no hang, and entries with contents of their sizes or an error.

use std::io::Cursor;

use packline_manifests::{PseudoFile, PseudoSource};
use packline_tree::{Error, Extent, Kind, Source};

use crate::mtree::Nothing;

fn read(bytes: &[u8]) -> Result<(), Error> {
    let mut pseudo = PseudoFile::new(Nothing, 0);
    pseudo.create_parents("default", b"d 755 0 0")?;
    pseudo.read_stream("fuzz", Cursor::new(bytes.to_vec()))?;
    let mut source = PseudoSource::alone(pseudo)?;
    let mut buffer = vec![0; 4096];
    while let Some(entry) = source.next_entry()? {
        assert!(entry.meta.mode <= 0o7777 && !entry.path.contains(&0));
        let Kind::File { size } = entry.kind else { continue };
        let mut found = 0;
        while let Extent::Data(count) = source.read(&mut buffer)? {
            found += count as u64;
        }
        assert_eq!(found, size);
    }
    Ok(())
}

pub fn pseudo_file(bytes: &[u8]) {
    // No file of the host is opened.
    let host = bytes
        .windows(3)
        .any(|part| matches!(part, [_, b'l' | b'h', _]) && (part[2].is_ascii_whitespace() || part[2] == b'"'));
    if !host && let Err(error) = read(bytes) {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}
