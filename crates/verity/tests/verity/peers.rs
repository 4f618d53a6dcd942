//! Comparison with veritysetup: equal trees, and each program accepts the trees of the other.

use std::fs;
use std::path::Path;
use std::process::Command;

use packline_runtime::hex;
use packline_testkit::tools;
use packline_verity::{BLOCK, Salt, parse_root_hash};

use crate::support::{appended, check, image, tree};

const UUID: &str = "01234567-89ab-4def-8123-456789abcdef";

/// Numbers of blocks around those at which a level is added.
const SIZES: [usize; 9] = [1, 2, 127, 128, 129, 300, 16383, 16384, 16385];

fn veritysetup(arguments: &[&str], files: &[&Path], root: Option<&str>) -> Result<String, String> {
    let mut command = Command::new("veritysetup");
    command.args(arguments).args(files).args(root);
    tools::run(&mut command).map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn root_of(report: &str) -> String {
    let line = report.lines().find(|line| line.starts_with("Root hash:")).unwrap();
    line.split_whitespace().last().unwrap().to_string()
}

#[test]
fn trees_equal_those_of_veritysetup() {
    if !tools::need(&["veritysetup"]) {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let data = top.path().join("data");
    let hashes = top.path().join("hashes");
    for blocks in SIZES {
        let content = image(blocks);
        fs::write(&data, &content).unwrap();
        for salt in ["-", "00ff10", &"5a".repeat(256)] {
            let _ = fs::remove_file(&hashes);
            let salt_option = format!("--salt={salt}");
            let uuid = format!("--uuid={UUID}");
            let report = veritysetup(&["format", &salt_option, &uuid], &[&data, &hashes], None).unwrap();
            let (ours, bytes) = tree(&content, &salt.parse().unwrap(), Some(UUID.parse().unwrap()));
            assert_eq!(hex(&ours.root_hash), root_of(&report), "{blocks} blocks, salt {salt}");
            assert!(bytes == fs::read(&hashes).unwrap(), "{blocks} blocks, salt {salt}");
            let (checked, findings) = check(&content, &bytes, &ours.root_hash).unwrap();
            assert_eq!((checked.faults(), checked.unknown_blocks, findings), (0, 0, vec![]));
            assert_eq!((checked.bytes, checked.superblock), (content.len() as u64, ours.superblock));
        }
    }
}

#[test]
fn veritysetup_accepts_separate_and_appended_trees() {
    if !tools::need(&["veritysetup"]) {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let data = top.path().join("data");
    let hashes = top.path().join("hashes");
    for blocks in SIZES {
        let content = image(blocks);
        let (ours, bytes) = tree(&content, &Salt::Derived, None);
        fs::write(&data, &content).unwrap();
        fs::write(&hashes, bytes).unwrap();
        let root = hex(&ours.root_hash);
        veritysetup(&["verify"], &[&data, &hashes], Some(&root)).unwrap();
        let (again, bytes) = appended(&content, &Salt::Derived);
        assert_eq!(again, ours);
        fs::write(&data, bytes).unwrap();
        let offset = format!("--hash-offset={}", blocks * BLOCK);
        veritysetup(&["verify", &offset], &[&data, &data], Some(&root)).unwrap();
        let wrong = hex(&[0; 32]);
        assert!(veritysetup(&["verify", &offset], &[&data, &data], Some(&wrong)).is_err());
    }
}

#[test]
fn accepts_trees_of_veritysetup_with_a_random_salt() {
    if !tools::need(&["veritysetup"]) {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let data = top.path().join("data");
    let hashes = top.path().join("hashes");
    let content = image(200);
    fs::write(&data, &content).unwrap();
    let report = veritysetup(&["format"], &[&data, &hashes], None).unwrap();
    let root = parse_root_hash(&root_of(&report)).unwrap();
    let (checked, findings) = check(&content, &fs::read(&hashes).unwrap(), &root).unwrap();
    assert_eq!((checked.faults(), findings), (0, vec![]));
}
