//! Any bytes as a pseudo file: no panic, no hang, and entries with contents of their sizes or an error.
#![no_main]

use std::fs::File;
use std::io::{self, Cursor};

use libfuzzer_sys::fuzz_target;
use packline_tree::{Error, Extent, Kind, Source};
use packline_manifests::{PseudoFile, PseudoHost, PseudoSource};

/// No owners, dates or commands.
struct Nothing;

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

fuzz_target!(|bytes: &[u8]| {
    // No file of the host is opened.
    let host = bytes.windows(3).any(|part| matches!(part, [_, b'l' | b'h', _]) && (part[2].is_ascii_whitespace() || part[2] == b'"'));
    if !host && let Err(error) = read(bytes) {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
});
