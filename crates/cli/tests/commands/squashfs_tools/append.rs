//! Compares appending by `mksquashfs` with that of squashfs-tools: the same sequences must give the same tree, contents and superblock.

use std::fs;
use std::path::Path;

use packline_testkit::snapshot::{Except, assert_same};
use packline_testkit::{Sandbox, reader, views};

use super::mksquashfs::{listing, ready, superblock, with_source};

const QUIET: &str = "-mkfs-time 0 -root-time 1 -quiet -no-progress -no-recovery";

/// Runs each of the lines, `SOURCE... @ OPTION...`, for an image of ours and for one of the peer, and compares. Words of a definition have
/// another blank between them.
fn same(sandbox: &Sandbox, lines: &[&str]) {
    ["ours.sqfs", "peers.sqfs"].into_iter().for_each(|image| drop(fs::remove_file(sandbox.at(image))));
    for line in lines {
        let words = |image: &'static str| {
            let (sources, options) = line.split_once(" @ ").unwrap_or((line, ""));
            let mut words: Vec<String> = sources.split(' ').map(str::to_string).collect();
            words.push(image.to_string());
            words.extend(QUIET.split(' ').map(str::to_string));
            words.extend(options.split(' ').filter(|word| !word.is_empty()).map(|word| word.replace('\u{20a0}', " ")));
            words
        };
        sandbox.good(&[&["mksquashfs".to_string()][..], &words("ours.sqfs")].concat());
        sandbox.peer("mksquashfs", &words("peers.sqfs"));
        let [ours, peers] = ["ours.sqfs", "peers.sqfs"].map(|image| listing(sandbox, image, ""));
        let differ: Vec<_> = ours.symmetric_difference(&peers).collect();
        assert!(differ.is_empty() && !ours.is_empty(), "{lines:?} at {line}: {differ:#?}");
        let [ours, peers] =
            ["ours.sqfs", "peers.sqfs"].map(|image| without_counts(superblock(sandbox, image, "-mkfs-time")));
        assert_eq!(ours, peers, "{lines:?} at {line}");
    }
    let [ours, peers] = ["ours.sqfs", "peers.sqfs"].map(|image| reader::inspect(&sandbox.at(image)).unwrap().tree);
    assert_same(&format!("{lines:?}"), &peers, &ours, Except::default());
}

/// There, new files get fragment blocks of their own, and owners and attributes of an earlier root are kept.
fn without_counts(lines: Vec<String>) -> Vec<String> {
    let kept = ["Number of fragments", "Number of ids", "Number of xattr ids"];
    lines.into_iter().filter(|line| !kept.iter().any(|start| line.starts_with(start))).collect()
}

fn more(sandbox: &Sandbox) {
    for (name, content) in
        [("more/big", "other"), ("more/new", "new"), ("more/dir/one", "not 1"), ("more/dir/three", "3")]
    {
        sandbox.write(name, content);
    }
    fs::hard_link(sandbox.at("more/new"), sandbox.at("more/dir/again")).unwrap();
    sandbox.shell("setfattr -n user.more -v x more/new; touch -d @77 more/* more/dir/* more/dir more");
}

#[test]
fn sequences_give_the_same_tree_and_superblock() {
    if !ready() {
        return;
    }
    let sandbox = with_source();
    more(&sandbox);
    sandbox.write("sort", "more/new 5\nmore/big -5\n");
    for lines in [
        &["source", "more"][..],
        &["source", "more", "more", "source/dir more"],
        &["source/dir source/noise", "source/dir", "more/new source/noise"],
        &["source", "more @ -root-becomes old", "more @ -root-becomes new", "source/big"],
        &["source @ -comp xz -b 64K -no-fragments -no-exports", "more @ -comp gzip -b 1M -always-use-fragments"],
        &["source @ -comp lzo -noI -noD -noF -noX -no-duplicates", "more", "source"],
        &["source @ -comp zstd -Xcompression-level 3 -always-use-fragments -no-xattrs", "more @ -xattrs"],
        &["source @ -comp lz4 -Xhc -noId", "more @ -no-xattrs -no-exports"],
        &["source @ -comp xz -Xbcj x86 -Xdict-size 50% -noI", "more"],
        &[
            "source",
            "more @ -keep-as-directory",
            "more @ -keep-as-directory",
            "source @ -keep-as-directory -root-becomes x",
        ],
        &["more", "source @ -sort sort -all-root", "source/noise more/new @ -sort sort -force-uid 7"],
        &["more", "source @ -e source/big dir/one", "source @ -wildcards -e d* l*"],
        &[
            "more",
            // The entries of `-p` have the time of the run without `-all-time`.
            "more @ -all-time 9 -p made\u{20a0}d\u{20a0}711\u{20a0}4\u{20a0}5 -p made/null\u{20a0}c\u{20a0}600\u{20a0}0\u{20a0}1\u{20a0}1\u{20a0}3 -p big_1\u{20a0}m\u{20a0}600\u{20a0}9\u{20a0}9",
        ],
        &[
            "more",
            "- @ -all-time 9 -p /\u{20a0}d\u{20a0}700\u{20a0}1\u{20a0}2 -p only\u{20a0}d\u{20a0}711\u{20a0}4\u{20a0}5",
            "source",
        ],
        &[
            "source",
            "more @ -no-hardlinks -root-mode 0700 -root-uid 3 -root-gid 4",
            "source/link @ -no-hardlinks -all-time 9",
        ],
        &["source", "more @ -nopad -no-sparse"],
    ] {
        same(&sandbox, lines);
    }
}

#[test]
fn appends_to_image_of_other_program() {
    if !ready() {
        return;
    }
    let sandbox = with_source();
    more(&sandbox);
    let words = |image, source| [&["mksquashfs", source, image][..], &QUIET.split(' ').collect::<Vec<_>>()].concat();
    let by_peer = |image, source| drop(sandbox.peer("mksquashfs", &words(image, source)[1..]));
    let by_ours = |image, source| drop(sandbox.good(&words(image, source)));
    by_peer("a.sqfs", "source");
    by_ours("a.sqfs", "more");
    by_ours("b.sqfs", "source");
    by_peer("b.sqfs", "more");
    let [a, b] = ["a.sqfs", "b.sqfs"].map(|image| reader::inspect(&sandbox.at(image)).unwrap().tree);
    assert_same("either appends to the other's", &a, &b, Except::default());
    if views::available() {
        views::assert_sound("appended", &sandbox.at("a.sqfs"), &a);
    }
}

#[test]
fn blocks_of_the_image_stay_as_they_are() {
    if !ready() {
        return;
    }
    let sandbox = with_source();
    more(&sandbox);
    sandbox.peer("mksquashfs", &["source", "x.sqfs", "-Xcompression-level", "1", "-quiet", "-no-progress"]);
    let first = sandbox.read("x.sqfs")[96..60_000].to_vec();
    sandbox.good(&["mksquashfs", "more", "x.sqfs", "-quiet", "-no-progress"]);
    let image = sandbox.read("x.sqfs");
    // The first blocks, after the options of the compressor.
    assert!(
        image.windows(first.len() - 100).any(|part| part == &first[100..]),
        "the first blocks were compressed anew"
    );
}

#[test]
fn owners_of_all_are_offset() {
    if !ready() {
        return;
    }
    let sandbox = with_source();
    sandbox.good(&["mksquashfs", "source/big", "x.sqfs", "-quiet"]);
    sandbox.good(&["mksquashfs", "source/noise", "x.sqfs", "-quiet", "-uid-gid-offset", "5"]);
    let listed = listing(&sandbox, "x.sqfs", "");
    assert!(listed.iter().any(|line| line.starts_with("-rw-r--r-- 1005/105 ")), "{listed:?}");
    assert!(listed.iter().any(|line| line.starts_with("-rw-r--r-- 5/5 ")), "{listed:?}");
}

#[test]
fn an_image_stays_as_it_is_when_appending_fails() {
    let sandbox = crate::sandbox();
    sandbox.write("source/file", "content");
    sandbox.write("source/dir/file", "other");
    sandbox.good(&["mksquashfs", "source", "x.sqfs", "-quiet"]);
    let before = sandbox.read("x.sqfs");
    let definition = ["-p", "dir/more d 755 0 0"];
    for (words, message) in [
        (&["-", "x.sqfs", "-tar"][..], "cannot be appended to with -tar"),
        (&["source", "x.sqfs", "-offset", "4096"], "cannot be appended to with -offset"),
        (&["source", "x.sqfs", "-root-becomes", "a/b"], "'a/b' is not a name in the root"),
        (&["none", "x.sqfs"], "none: cannot open"),
        (
            &["source/dir/..", "x.sqfs", definition[0], definition[1]],
            "definitions: dir is already in the root of x.sqfs",
        ),
        (
            &["source/dir", "x.sqfs", "-no-strip", "-root-becomes", "source"],
            "sources: source is already in the root of x.sqfs",
        ),
        (&["source", "source"], "neither a file nor a block device"),
        (&["source", "source/file"], "not a SquashFS image, will not be overwritten"),
    ] {
        let ran = sandbox.run(&[&["mksquashfs"], words].concat());
        assert!(ran.status != 0 && ran.stderr.contains(message), "{words:?}: {}", ran.stderr);
        assert!(sandbox.read("x.sqfs") == before, "{words:?}");
    }
    let damaged = [&before[..100], &[0xff; 60], &before[160..]].concat();
    sandbox.write("bad.sqfs", &damaged);
    let ran = sandbox.run(&["mksquashfs", "source", "bad.sqfs"]);
    assert!(ran.status != 0 && ran.stderr.contains("bad.sqfs: "), "{}", ran.stderr);
    assert!(sandbox.read("bad.sqfs") == damaged);
    assert_eq!(sandbox.names(), ["bad.sqfs", "source", "x.sqfs"]);
}

#[test]
fn keeps_free_names() {
    let sandbox = crate::sandbox();
    sandbox.write("one/a", "1");
    ["two/a", "two/a_1", "two/b"].into_iter().for_each(|name| drop(sandbox.write(name, name)));
    sandbox.good(&["mksquashfs", "one", "x.sqfs", "-quiet"]);
    let ran = sandbox.good(&["mksquashfs", "two", "x.sqfs", "-no-progress"]);
    assert_eq!(
        ran.stderr,
        "Source directory entry a already used! - trying a_1\nSource directory entry a_1 already used! - trying a_2\n"
    );
    assert!(
        ran.text().contains("\nAppending to existing 4.0 filesystem on x.sqfs, block size 131072\n"),
        "{}",
        ran.text()
    );
    let content = |name: &str| sandbox.good(&["cat", "x.sqfs", name]).text();
    assert_eq!(["a", "a_1", "a_2", "b"].map(content), ["1", "two/a_1", "two/a", "two/b"]);
    for workers in ["1", "3"] {
        for image in ["y.sqfs", "z.sqfs"] {
            let words = ["-quiet", "-mkfs-time", "0", "-processors", workers];
            drop(fs::remove_file(sandbox.at(image)));
            sandbox.good(&[&["mksquashfs", "one", image], &words[..]].concat());
            sandbox.good(&[&["mksquashfs", "two", image], &words[..]].concat());
        }
        assert!(sandbox.read("y.sqfs") == sandbox.read("z.sqfs"), "{workers} workers");
        assert!(Path::new(&sandbox.at("y.sqfs")).exists());
    }
}
