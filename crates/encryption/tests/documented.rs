//! The second reader, in Python, written only from docs/format/encrypted.md.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use packline_encryption::{ChunkSize, Resources, Sealing, SealingSink, Sink};
use packline_testkit::tools;

/// A small file with a given key; the wraps are not read.
fn sealed(content: &[u8], padded: bool) -> Vec<u8> {
    let key = *b"thirty-two bytes but not a key!!";
    let chunk = ChunkSize::from_log(12).unwrap();
    let sealing = Sealing::for_tests(key, &[b"w".to_vec()], chunk, padded);
    let mut file = Vec::new();
    let mut sink = SealingSink::new(sealing.unwrap(), &mut file, &Resources::new(0)).unwrap();
    sink.append(content).unwrap();
    sink.finish().unwrap();
    file
}

#[test]
fn python_reader_reads_documented_files() {
    if !tools::need(&["python3"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/documented.py");
    let key = place.path().join("key");
    std::fs::write(&key, b"thirty-two bytes but not a key!!").unwrap();
    let read = |file: &[u8]| {
        let path = place.path().join("file");
        std::fs::write(&path, file).unwrap();
        Command::new("python3").arg(script).arg(&key).arg(path).output().unwrap()
    };
    for length in [0, 1, 4095, 4096, 4097, 9000] {
        let content: Vec<u8> = (0..length).map(|at| (at * 7) as u8).collect();
        for padded in [false, true] {
            let ran = read(&sealed(&content, padded));
            assert!(
                ran.status.success() && ran.stdout == content,
                "{length}: {}",
                String::from_utf8_lossy(&ran.stderr)
            );
        }
    }
    let file = sealed(&[5; 5000], true);
    for at in [0, 9, 11, 20, 40, 70, 120, 5020, file.len() - 1] {
        let mut changed = file.clone();
        changed[at] ^= 1;
        assert!(!read(&changed).status.success(), "byte {at}");
    }
    assert!(!read(&file[..file.len() - 1]).status.success() && !read(&[&file[..], b"x"].concat()).status.success());
}
