//! Damaged content with `--continue` is handled alike in directories and tars: a file is kept with zeros for what cannot be read, and
//! each damaged file is reported.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::{Ran, Sandbox, tools};

use crate::sandbox;

const BLOCK: usize = 4096;

/// Files with blocks, with a tail end, with both, two equal files, and one with two names.
fn nodes() -> Vec<Node> {
    let numbers = |count: u32, from: u32| -> Vec<u8> { (from..from + count).flat_map(u32::to_le_bytes).collect() };
    let equal = numbers(2_000, 50_000);
    vec![
        Node::dir("").mode(0o755),
        Node::file("big", numbers(5_000, 1)),
        Node::file("equal-a", equal.clone()),
        Node::file("equal-b", equal),
        Node::file("linked-a", numbers(3_000, 90_000)),
        Node::new("linked-b", NodeKind::HardLink(b"linked-a".to_vec())),
        Node::file("small", numbers(300, 200_000)),
        Node::file("small-equal-a", numbers(200, 300_000)),
        Node::file("small-equal-b", numbers(200, 300_000)),
    ]
}

type Contents = BTreeMap<String, Vec<u8>>;

fn contents(sandbox: &Sandbox, directory: &str) -> Contents {
    let names = sandbox.names_in(directory);
    names.into_iter().map(|name| (name.clone(), sandbox.read(format!("{directory}/{name}")))).collect()
}

/// The files that lines of messages name.
fn named(messages: &str) -> BTreeSet<String> {
    let name =
        |line: &str| line.split("damaged.sqfs: ").nth(1).and_then(|rest| rest.split(':').next()).map(str::to_owned);
    messages.lines().filter_map(name).collect()
}

/// Flips one byte at a time of the data, which is between the superblock and the inode table.
fn each_damage(sandbox: &Sandbox, mut check: impl FnMut(usize)) {
    let image = sandbox.read("image.sqfs");
    let inodes = u64::from_le_bytes(image[64..72].try_into().unwrap()) as usize;
    for at in (100..inodes).step_by(211) {
        let mut damaged = image.clone();
        damaged[at] ^= 0x55;
        fs::write(sandbox.at("damaged.sqfs"), damaged).unwrap();
        check(at);
        ["dir", "deduped", "tools", "by-tar", "by-sqfs2tar", "d.tar"].iter().for_each(|name| sandbox.remove(name));
    }
}

/// The names of files that differ. Each must have its size, and zeros where it differs.
fn differing(good: &Contents, found: &Contents, of: &str) -> BTreeSet<String> {
    assert_eq!(good.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>(), "{of}: no file is left out");
    let differs = |(name, bytes): (&String, &Vec<u8>)| {
        let is = &found[name];
        assert_eq!(is.len(), bytes.len(), "{of}: {name}");
        for (good, found) in bytes.chunks(BLOCK).zip(is.chunks(BLOCK)) {
            assert!(good == found || found.iter().all(|byte| *byte == 0), "{of}: {name}: other content than zeros");
        }
        (is != bytes).then(|| name.clone())
    };
    good.iter().filter_map(differs).collect()
}

#[test]
fn replaces_damage_with_zeros_in_directories_and_tars() {
    if !tools::need(&["tar"]) {
        return;
    }
    let sandbox = sandbox();
    sandbox.write_tar("source.tar", &nodes());
    sandbox.good(&["pack", "-q", "-b", "4K", "-c", "gzip", "source.tar", "image.sqfs"]);
    sandbox.good(&["unpack", "-q", "image.sqfs", "good"]);
    let good = contents(&sandbox, "good");
    let mut found_damage = 0;
    let mut all = BTreeSet::new();
    each_damage(&sandbox, |at| {
        let ran = sandbox.run(&["unpack", "--continue", "--json", "damaged.sqfs", "dir"]);
        let damaged = differing(&good, &contents(&sandbox, "dir"), &format!("byte {at}"));
        let status = if damaged.is_empty() { 0 } else { 3 };
        assert_eq!(ran.status, status, "byte {at}: {ran:?}");
        if damaged.is_empty() {
            return;
        }
        // A hard link is reported under the first name only.
        let reported: BTreeSet<String> = damaged.iter().filter(|name| *name != "linked-b").cloned().collect();
        assert_eq!(named(&ran.stderr), reported, "byte {at}: {}", ran.stderr);
        let object: serde_json::Value = serde_json::from_str(&ran.text()).unwrap();
        assert_eq!(object["damaged_files"], reported.len(), "byte {at}: {object}");
        let same = |directory: &str, ran: &Ran| {
            assert_eq!(contents(&sandbox, "dir"), contents(&sandbox, directory), "byte {at}: {directory}");
            assert_eq!(named(&ran.stderr), reported, "byte {at}: {directory}: {}", ran.stderr);
        };
        for (dedupe, status) in [("hardlink", 3), ("reflink", 3)] {
            let ran = sandbox.run(&["unpack", "--continue", "-q", "--dedupe", dedupe, "damaged.sqfs", "deduped"]);
            assert_eq!(ran.status, status, "byte {at}: {ran:?}");
            same("deduped", &ran);
            sandbox.remove("deduped");
        }
        let ran = sandbox.run(&["unsquashfs", "-ig", "-q", "-n", "-d", "tools", "damaged.sqfs"]);
        same("tools", &ran);
        let ran = sandbox.run(&["unpack", "--continue", "-q", "damaged.sqfs", "d.tar"]);
        assert_eq!(ran.status, 3, "byte {at}: {ran:?}");
        sandbox.create_dir("by-tar");
        sandbox.peer("tar", &["-xf", "d.tar", "-C", "by-tar"]);
        same("by-tar", &ran);
        let ran = sandbox.run(&["sqfs2tar", "--continue", "damaged.sqfs"]);
        fs::write(sandbox.at("d.tar"), &ran.stdout).unwrap();
        sandbox.create_dir("by-sqfs2tar");
        sandbox.peer("tar", &["-xf", "d.tar", "-C", "by-sqfs2tar"]);
        same("by-sqfs2tar", &ran);
        found_damage += 1;
        all.extend(damaged);
    });
    assert!(found_damage > 10 && all.len() == good.len(), "{found_damage} positions, {all:?}");
}
