//! Compares `mksquashfs` with the program of squashfs-tools: the same arguments and files must give the same tree, contents and superblock.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::snapshot::{Except, Snapshot, assert_same};
use packline_testkit::{Ran, Random, Sandbox, reader, tools};

use crate::sandbox;

/// Options of callers, and others that squashfs-tools 4.5 has.
const SAME: &[&str] = &[
    "-noappend -comp xz -no-fragments -no-progress -all-root -no-xattrs",
    "-offset 8192 -comp zstd -root-owned -noappend -b 128K -mkfs-time 0",
    "-comp xz -Xdict-size 100% -b 16384 -noappend",
    "-noappend -mem 512M -processors 2 -comp gzip -quiet -all-root",
    "-all-root -no-progress -comp lzo -noD -exit-on-error -mkfs-time 7 -all-time 9 -e dir/one nonesuch",
    "-xattrs -b 65536 -noappend -all-root -e dir/one dir/two",
    "-noappend -b 1M -no-exports -no-progress -no-recovery -comp gzip -Xcompression-level 4",
    "-noappend -comp xz -Xbcj x86 -b 1M -Xdict-size 512K -quiet",
    "-noappend -comp lz4 -Xhc -nopad",
    "-comp gzip -noInodeCompression -noDataCompression -noFragmentCompression -noXattrCompression",
    "-noI -noD -noF -noX -wildcards -e dir/o* ...\u{20}*.c",
    "-noId -noIdTableCompression",
    "-regex -e dir/^t.o$",
    "-wildcards -e !(dir|empty)",
    "-no-xattrs -no-exports -noappend -no-recovery -always-use-fragments -no-progress -comp gzip -e dir",
    "-exit-on-error -no-progress -all-root -reproducible -mkfs-time 0 -root-time 0 -all-time 0 -processors 2 -mem 1024M",
    "-no-hardlinks -keep-as-directory -root-time 1 -b 1048576",
    "-no-duplicates -no-sparse -exports",
    "-root-mode 0750 -root-uid 3 -root-gid 4 -root-time 5",
    "-force-uid root -force-gid 12",
    "-one-file-system -recovery-path /tmp -throttle 0",
    "-comp gzip -Xwindow-size 12 -Xstrategy filtered,huffman_only",
    "-comp lzo -Xalgorithm lzo1x_1",
];

fn tree() -> Vec<Node> {
    let mut random = Random::new(7);
    let at = |node: Node, time| node.mode(0o644).time(time);
    vec![
        Node::dir("").mode(0o751).owner(11, 12).time(1_000_000),
        Node::dir("dir").mode(0o2775).owner(5, 6).time(2_000_000),
        Node::dir("empty").mode(0o700).time(3),
        at(Node::file("big", random.prose(400_001)), 4_000_000).owner(1000, 100).xattr("user.keep", "a"),
        at(Node::file("dir/one", "1"), 5_000_000).xattr("user.other", "b"),
        at(Node::file("dir/two", "22"), 6_000_000),
        at(Node::file("dir/x.c", "22"), 7_000_000).mode(0o4755),
        at(Node::file("noise", random.noise(140_000)), 8_000_000),
        at(Node::file("zero", vec![0; 300_000]), 9_000_000),
        Node::new("link", NodeKind::Symlink(b"dir/one".to_vec())).time(10),
    ]
}

pub fn with_source() -> Sandbox {
    let sandbox = sandbox();
    let root = sandbox.plant("source", &tree());
    std::fs::hard_link(root.join("big"), root.join("dir/hard")).unwrap();
    // Making the link has changed the time.
    Ran::good(Command::new("touch").arg("-d@2000000").arg(root.join("dir")));
    sandbox
}

pub fn pack(mut command: Command, image: &str, sources: &[&str], options: &str) {
    let options = options.split(' ').map(|word| word.replace('\u{20a0}', " "));
    Ran::good(command.args(sources).arg(image).args(options));
}

/// Returns the output of `unsquashfs -s` for an image, without sizes.
pub fn superblock(sandbox: &Sandbox, image: &str, options: &str) -> Vec<String> {
    let offset = if options.contains("-offset 8192") { "8192" } else { "0" };
    let ran = tools::run(sandbox.program("unsquashfs", &["-s", "-o", offset, image]).env("TZ", "UTC")).unwrap();
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    // Without -mkfs-time it is the time of the run.
    let volatile = |line: &&str| {
        line.starts_with("Found")
            || line.starts_with("Filesystem size")
            || line.contains("append time") && !options.contains("-mkfs-time")
    };
    text.lines().filter(|line| !volatile(line)).map(str::to_string).collect()
}

/// A listing without times, which may be those of the run, and without the sizes of directories, which depend on how their entries are
/// grouped.
pub fn listing(sandbox: &Sandbox, image: &str, options: &str) -> BTreeSet<String> {
    let offset = if options.contains("-offset 8192") { "8192" } else { "0" };
    let ran = tools::run(sandbox.program("unsquashfs", &["-lln", "-o", offset, image]).env("TZ", "UTC")).unwrap();
    let words = |line: &str| {
        let words = line.split_whitespace().enumerate();
        words
            .filter(|(at, _)| !matches!(at, 3 | 4) && (*at != 2 || !line.starts_with('d')))
            .map(|(_, word)| format!("{word} "))
            .collect()
    };
    String::from_utf8_lossy(&ran.stdout).lines().map(words).collect()
}

pub fn compare(sandbox: &Sandbox, sources: &[&str], options: &str) {
    ["ours.sqfs", "peers.sqfs"].into_iter().for_each(|image| drop(std::fs::remove_file(sandbox.at(image))));
    std::fs::write(sandbox.at("ours.sqfs"), []).unwrap();
    let start = std::fs::metadata(sandbox.at("ours.sqfs")).unwrap().mtime();
    std::fs::remove_file(sandbox.at("ours.sqfs")).unwrap();
    pack(sandbox.command(&["mksquashfs"]), "ours.sqfs", sources, options);
    pack(sandbox.program("mksquashfs", &[""; 0]), "peers.sqfs", sources, options);
    let [ours, peers] = ["ours.sqfs", "peers.sqfs"].map(|image| listing(sandbox, image, options));
    let differ: Vec<_> = ours.symmetric_difference(&peers).collect();
    assert!(differ.is_empty() && !ours.is_empty(), "{options}: {differ:#?}");
    let [ours, peers] = ["ours.sqfs", "peers.sqfs"].map(|image| superblock(sandbox, image, options));
    assert_eq!(ours, peers, "{options}");
    if !options.contains("-offset") {
        let [ours, peers] = ["ours.sqfs", "peers.sqfs"].map(|image| until(start, &sandbox.at(image)));
        assert_same(options, &peers, &ours, Except::default());
    }
}

/// The tree of an image. Entries without a time of their own have that of their run, which counts as `start`.
fn until(start: i64, image: &Path) -> Snapshot {
    let mut tree = reader::inspect(image).unwrap().tree;
    tree.values_mut().for_each(|entry| entry.mtime = entry.mtime.min(start));
    tree
}

pub fn ready() -> bool {
    tools::need(&["mksquashfs", "unsquashfs"]) && tools::root()
}

#[test]
fn the_callers_options_give_the_same_tree_and_superblock() {
    if !ready() {
        return;
    }
    let sandbox = with_source();
    for options in SAME {
        compare(&sandbox, &["source"], &options.replace("...\u{20}", "...\u{20a0}"));
    }
}

#[test]
fn several_sources_are_below_a_root_of_their_own() {
    if !ready() {
        return;
    }
    let sandbox = with_source();
    for sources in [
        &["source/dir", "source/noise"][..],
        &["source/dir", "source/empty", "source/empty/"],
        &["source/link", "source/big"],
    ] {
        compare(&sandbox, sources, "-root-time 1 -mkfs-time 2 -quiet -no-progress");
    }
}

#[test]
fn the_environment_limits_times() {
    if !ready() {
        return;
    }
    let sandbox = with_source();
    for (program, image) in
        [(sandbox.command(&["mksquashfs"]), "ours.sqfs"), (sandbox.program("mksquashfs", &[""; 0]), "peers.sqfs")]
    {
        let mut program = program;
        program.env("SOURCE_DATE_EPOCH", "5500000");
        pack(program, image, &["source"], "-quiet -no-progress");
    }
    let [ours, peers] = ["ours.sqfs", "peers.sqfs"].map(|image| listing(&sandbox, image, ""));
    assert_eq!(ours, peers);
    assert_eq!(superblock(&sandbox, "ours.sqfs", "-mkfs-time"), superblock(&sandbox, "peers.sqfs", "-mkfs-time"));
}

#[test]
fn warns_about_options_after_excluded_paths() {
    let sandbox = sandbox();
    ["a", "b", "-b", "-c"].iter().for_each(|name| drop(sandbox.write(format!("source/{name}"), "")));
    let pack = |words: &[&str]| {
        let options = ["mksquashfs", "source", "i.sqfs", "-noappend", "-quiet", "-no-progress", "-e", "a"];
        let ran = sandbox.good(&[&options[..], words].concat());
        (ran.stderr, sandbox.good(&["list", "i.sqfs"]).text())
    };
    let warning = "packline: warning: -e takes every word after it as a path, also '-b', '64K', '-all-root'; put options before -e\n";
    assert_eq!(pack(&["-b", "64K", "-all-root"]), (warning.to_string(), ".\n-c\nb\n".to_string()));
    assert_eq!(pack(&["-c"]), (String::new(), ".\n-b\nb\n".to_string()));
}
