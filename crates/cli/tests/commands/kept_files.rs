//! Files of every format and of every version, kept for ever in `testdata`. Each row of its README names a file, the commands that read the
//! file, and the hash of what they give.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use packline_testkit::{Sandbox, snapshot};

use crate::sandbox;

/// A row of the README.
struct Row<'a> {
    /// `VERSION/NAME`.
    file: &'a str,
    /// Command lines, separated by `&&`, that run in a copy of the version's directory.
    reading: &'a str,
    /// The BLAKE3 hash of `out`, or of the last standard output if there is none.
    expected: &'a str,
}

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

fn rows(readme: &str) -> Vec<Row<'_>> {
    let parse = |line| {
        let cells: Vec<&str> = str::split(line, " | ").map(|cell| cell.trim_matches(['|', ' ', '`'])).collect();
        match cells[..] {
            [file, _, reading, expected] => Row { file, reading, expected },
            _ => panic!("{line} (expected 4 cells)"),
        }
    };
    readme.lines().filter(|line| line.starts_with("| `")).map(parse).collect()
}

#[test]
fn are_read_by_this_version() {
    let readme = fs::read_to_string(testdata().join("README.md")).unwrap();
    let mut wrong = Vec::new();
    for Row { file, reading, expected } in rows(&readme) {
        let (version, _) = file.split_once('/').unwrap();
        let sandbox = sandbox();
        copy(&testdata().join(version), sandbox.path());
        let found = given(&sandbox, reading);
        if found != expected {
            wrong.push(format!("{file}: {reading}: {found} (expected {expected})"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn are_all_described() {
    let readme = fs::read_to_string(testdata().join("README.md")).unwrap();
    let described: BTreeSet<&str> = readme.split('`').skip(1).step_by(2).collect();
    let versions = fs::read_dir(testdata()).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir());
    for version in versions.map(|entry| entry.file_name().into_string().unwrap()) {
        for entry in fs::read_dir(testdata().join(&version)).unwrap() {
            let name = format!("{version}/{}", entry.unwrap().file_name().into_string().unwrap());
            assert!(described.contains(&*name), "{name} is not in testdata/README.md");
        }
    }
    for Row { file, .. } in rows(&readme) {
        assert!(testdata().join(file).exists(), "{file} does not exist (expected: files are never removed)");
    }
}

/// Copies a directory, because some commands change files.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// The hash of what the commands give.
fn given(sandbox: &Sandbox, reading: &str) -> String {
    let mut printed = Vec::new();
    for line in reading.split(" && ") {
        printed = sandbox.good(&line.split(' ').collect::<Vec<_>>()).stdout;
    }
    let out = sandbox.at("out");
    let bytes = match () {
        () if out.is_dir() => tree(&out).into_bytes(),
        () if out.exists() => fs::read(&out).unwrap(),
        () => printed,
    };
    blake3::hash(&bytes).to_hex().to_string()
}

/// A line for each path of a tree, without its owner, which only root can restore.
fn tree(directory: &Path) -> String {
    let line = |(path, found): (Vec<u8>, snapshot::Attributes)| {
        let snapshot::Attributes { kind, mode, mtime, first_name, links, xattrs, .. } = found;
        format!("{:?}\n", (path, kind, mode, mtime, first_name, links, xattrs))
    };
    snapshot::of_directory(directory).unwrap().into_iter().map(line).collect()
}
