//! The output follows the document: a reader that was written from the document alone reads it.

use std::process::Command;

use packline_testkit::tools::need;

use crate::support::*;

fn read_by_document(file: &[u8]) -> Result<Vec<u8>, String> {
    let place = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(place.path(), file).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/documented.py");
    let output = Command::new("python3").arg(script).arg(place.path()).output().unwrap();
    if output.status.success() { Ok(output.stdout) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[test]
fn python_reads_files_from_the_document() {
    if !need(&["python3"]) {
        return;
    }
    let content = mixed(200_000, 1);
    for coding in ["none", "slack", "gzip", "lzma", "xz", "bzip2", "zle", "slack+zle", "slack+xz"] {
        let made = read_by_document(&file(&content, &[coding], 16 << 10));
        assert!(made.as_ref() == Ok(&content), "{coding}: {:?}", made.map(|made| made.len()));
    }
    let several = mixed(4096 * 1025 + 1, 2);
    assert!(read_by_document(&file(&several, &["slack+gzip:level=1"], 4096)) == Ok(several));
    assert!(read_by_document(&file(b"", &["gzip"], 4096)) == Ok(vec![]));
    let mut wrong = file(&content, &["gzip"], 4096);
    let table = wrong.len() - 200;
    wrong.remove(table);
    assert!(read_by_document(&wrong).is_err());
}
