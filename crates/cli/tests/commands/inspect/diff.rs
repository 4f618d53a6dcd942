//! `diff` and `sqfsdiff`: equal trees are equal however they are packed, and every kind of difference is found.

use crate::inspect::support::{images, pack, quiet, ready, tree, with_source, zoo};
use packline_testkit::model::{Content, Node, NodeKind};
use packline_testkit::{Ran, Sandbox, tools};
use serde_json::Value;
use std::os::unix::fs::symlink;

/// A sandbox with two images: `old` of the zoo, `new` of the zoo after a change.
fn changed(change: impl FnOnce(&mut Vec<Node>)) -> Sandbox {
    let sandbox = with_source(&zoo());
    let mut nodes = zoo();
    change(&mut nodes);
    sandbox.plant("changed", &nodes);
    pack(&sandbox, "old", &["-c", "zstd"]);
    quiet(&sandbox, &["pack", "changed", "new", "-q", "-c", "gzip", "-b", "16K"]);
    sandbox
}

fn node<'n>(nodes: &'n mut [Node], path: &str) -> &'n mut Node {
    nodes.iter_mut().find(|node| node.path == path.as_bytes()).unwrap()
}

#[test]
fn packers_codecs_and_block_sizes_make_no_difference() {
    if !ready() {
        return;
    }
    for (nodes, options) in [(zoo(), &[][..]), (tree(), &["-j", "3"])] {
        let sandbox = with_source(&nodes);
        let images = images(&sandbox);
        for image in &images[1..] {
            // tar2sqfs keeps no sockets, gensquashfs 1.2 no hard links.
            let links: &[&str] = if *image == "gen.sqfs" { &["-H"] } else { &[] };
            let ran = sandbox.run(&[&["diff", images[0], image], options, links].concat());
            let lines: Vec<String> = ran.text().lines().map(str::to_string).collect();
            if *image == "tar.sqfs" && ran.status == 1 {
                assert!(
                    lines
                        .iter()
                        .all(|line| line.starts_with("- ") && line.contains("sock") || line.contains("! .: time")),
                    "{lines:?}"
                );
            } else if *image == "gen.sqfs" {
                // It gives the root a time of its own.
                assert!(lines.iter().all(|line| line.starts_with("! .: time")), "{lines:?}");
            } else {
                assert_eq!((ran.status, lines), (0, Vec::new()), "{image}: {}", ran.stderr);
            }
        }
        for pair in [["ours.sqfs", "source"], ["source", "mk.sqfs"], ["source", "source"], ["mk.sqfs", "mk.sqfs"]] {
            let ran = sandbox.run(&[&["diff"], &pair[..], options].concat());
            assert_eq!((ran.status, ran.text().as_str(), ran.stderr.as_str()), (0, "", ""), "{pair:?}");
        }
    }
}

/// A change, and the lines that report it.
type Case = (fn(&mut Vec<Node>), &'static [&'static str]);

const CASES: &[Case] = &[
    (|nodes| nodes.retain(|node| node.path != b"dev"), &["- dev"]),
    (|nodes| nodes.push(Node::dir("new")), &["+ new"]),
    (
        |nodes| nodes.retain(|node| !node.path.starts_with(b"e")),
        &["- e", "- e/block", "- e/pipe", "- e/root", "- e/small"],
    ),
    (|nodes| *node(nodes, "dev") = Node::dir("dev"), &["! dev: type character device -> directory"]),
    (|nodes| node(nodes, "d").mode = 0o700, &["! d: permissions 1777 -> 0700"]),
    (|nodes| node(nodes, "e").uid = 13, &["! e: owner 12/34 -> 13/34"]),
    (|nodes| node(nodes, "d/big").gid = 101, &["! d/big: owner 1000/100 -> 1000/101"]),
    (|nodes| node(nodes, "e").mtime = 1, &["! e: time 1998-07-09 16:00:00 -> 1970-01-01 00:00:01"]),
    (|nodes| node(nodes, "d/link").kind = NodeKind::Symlink(b"g".to_vec()), &["! d/link: link target f -> g"]),
    (|nodes| node(nodes, "dev").kind = NodeKind::CharDevice(5, 70_001), &["! dev: device 5,70000 -> 5,70001"]),
    (|nodes| node(nodes, "d/f").xattrs[0].1 = b"other".to_vec(), &["! d/f: extended attributes user.note"]),
    (
        |nodes| *node(nodes, "d/hard") = Node::file("d/hard", "hello").mode(0o4755).xattr("user.note", "value"),
        &["! d/hard: hard links"],
    ),
    (|nodes| *node(nodes, "q\"uote") = Node::file("q\"uote", "yy"), &["! q\"uote: size 1 -> 2"]),
    (
        |nodes| {
            let NodeKind::File(content) = &mut node(nodes, "d/big").kind else { unreachable!() };
            content.pieces[0].1[250_000] ^= 1;
        },
        &["! d/big: content from byte 250000 on"],
    ),
    (
        |nodes| node(nodes, "d/hole").kind = NodeKind::File(Content::sparse(400_000, vec![(399_999, vec![1])])),
        &["! d/hole: content from byte 200000 on"],
    ),
];

#[test]
fn each_kind_of_difference_is_found() {
    if !tools::root() {
        return;
    }
    for (number, (change, expected)) in CASES.iter().enumerate() {
        let sandbox = changed(change);
        for [old, new] in [["old", "new"], ["source", "new"], ["old", "changed"], ["source", "changed"]] {
            let ran = sandbox.run(&["diff", old, new]);
            assert_eq!((ran.status, ran.stderr.as_str()), (1, ""), "case {number}");
            assert_eq!(ran.text().lines().collect::<Vec<_>>(), *expected, "case {number}: {old} {new}");
        }
        let json = sandbox.run(&["diff", "old", "new", "--json"]).text();
        let objects: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(objects.len(), expected.len(), "{json}");
        assert!(objects.iter().all(|object| object["path"].is_string() && object["difference"].is_string()), "{json}");
        let quiet = sandbox.run(&["diff", "-q", "old", "new"]);
        assert_eq!((quiet.status, quiet.stdout.len()), (1, 0));
    }
}

#[test]
fn options_leave_out_comparisons() {
    if !tools::root() {
        return;
    }
    let cases: [(&str, usize); 6] = [("-C", 13), ("-O", 5), ("-P", 4), ("-T", 7), ("-X", 10), ("-H", 11)];
    for (option, number) in cases {
        let sandbox = changed(CASES[number].0);
        assert_eq!(sandbox.run(&["diff", "old", "new"]).status, 1, "{option}");
        assert_eq!(sandbox.run(&["diff", option, "old", "new"]).status, 0, "{option}");
    }
    let sandbox = changed(|_| {});
    assert_eq!(sandbox.run(&["diff", "old", "new"]).status, 0);
    let ran = sandbox.run(&["diff", "-S", "old", "new"]);
    assert!(ran.status == 1 && ran.text().contains("! superblock: compressor 6 -> 1"), "{}", ran.text());
    let ran = sandbox.run(&["diff", "-S", "--json", "old", "new"]).text();
    assert!(ran.lines().all(|line| serde_json::from_str::<Value>(line).unwrap()["superblock"].is_string()));
    assert_eq!(sandbox.run(&["diff", "-S", "old", "old"]).status, 0);
    let more = changed(|nodes| nodes.insert(1, Node::dir("a")));
    assert!(more.run(&["diff", "-I", "old", "new"]).text().contains("inode number"));
}

#[test]
fn an_error_has_another_status_than_a_difference() {
    if !tools::root() {
        return;
    }
    let sandbox = changed(|_| {});
    let mut broken = sandbox.read("old");
    let info: Value = serde_json::from_str(&quiet(&sandbox, &["info", "old", "--json"]).text()).unwrap();
    let inodes = info["tables"][1]["start"].as_u64().unwrap() as usize;
    broken[inodes + 2..inodes + 40].fill(0xff);
    sandbox.write("broken", broken);
    let cases: [&[&str]; 8] = [
        &["diff", "old"],
        &["diff", "old", "nothing"],
        &["diff", "old", "broken"],
        &["diff", "-S", "old", "source.tar"],
        &["diff", "-I", "old", "source"],
        &["diff", "-S", "old", "source"],
        &["diff", "-q", "--json", "old", "new"],
        &["diff", "--old-offset", "5", "old", "new"],
    ];
    for arguments in cases {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        let usage = if arguments.len() == 2 { 2 } else { 0 };
        assert_eq!(ran.stderr.lines().count(), 1 + usage, "{arguments:?}: {}", ran.stderr);
    }
    for arguments in [&["sqfsdiff", "-a", "old"][..], &["sqfsdiff", "-a", "old", "-b", "nothing"], &["sqfsdiff", "-x"]]
    {
        assert_eq!(sandbox.run(arguments).status, 2, "{arguments:?}");
    }
}

#[test]
fn differing_files_are_extracted_and_no_link_is_followed() {
    if !tools::root() {
        return;
    }
    let sandbox = changed(|nodes| {
        CASES[13].0(nodes);
        CASES[14].0(nodes);
        nodes.push(Node::file("e/extra", "more"));
    });
    for [old, new, into] in [["old", "new", "a"], ["source", "changed", "b"]] {
        assert_eq!(sandbox.run(&["diff", "-e", into, old, new]).status, 1);
        let same = |at: &str, from: &str| sandbox.read(format!("{into}/{at}")) == sandbox.read(from);
        assert!(same("old/d/big", "source/d/big") && same("new/d/big", "changed/d/big"), "{into}");
        assert!(same("old/d/hole", "source/d/hole") && same("new/d/hole", "changed/d/hole"), "{into}");
        assert!(same("new/e/extra", "changed/e/extra") && !sandbox.at(into).join("old/e").exists(), "{into}");
    }
    sandbox.create_dir("c/new");
    sandbox.create_dir("outside");
    symlink(sandbox.at("outside"), sandbox.at("c/new/d")).unwrap();
    assert_eq!(sandbox.run(&["diff", "-e", "c", "old", "new"]).status, 2);
    assert_eq!(sandbox.names_in("outside").len(), 0);
}

#[test]
fn sqfsdiff_prints_what_the_program_prints() {
    if !ready() {
        return;
    }
    let changes: [fn(&mut Vec<Node>); 3] = [
        |_| {},
        |nodes| {
            (0..10).chain(12..15).filter(|number| *number != 3).for_each(|number| CASES[number].0(nodes));
        },
        |nodes| {
            nodes.insert(1, Node::dir("a"));
            nodes.insert(2, Node::file("a/b", "c"));
            CASES[3].0(nodes);
            CASES[4].0(nodes);
        },
    ];
    for change in changes {
        let sandbox = changed(|nodes| {
            // Some changes apply to entries that others have removed.
            let mut fewer = nodes.clone();
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| change(&mut fewer))).is_ok() {
                *nodes = fewer;
            }
        });
        for options in
            [&[][..], &["-T"], &["-C", "-O", "-P"], &["-T", "-I"], &["-S"], &["--timestamps", "--super", "--no-owner"]]
        {
            let arguments = [&["-a", "old", "-b", "new"], options].concat();
            let (ours, peers) = (
                sandbox.run(&[&["sqfsdiff"], &arguments[..]].concat()),
                Ran::of(&mut sandbox.program("sqfsdiff", &arguments)),
            );
            assert_eq!((ours.text(), ours.status), (peers.text(), peers.status), "{options:?} {}", ours.stderr);
        }
        let (ours, peers) = (
            sandbox.run(&["sqfsdiff", "-a", "old", "-b", "new", "-e", "x"]),
            Ran::of(&mut sandbox.program("sqfsdiff", &["-a", "old", "-b", "new", "-e", "y"])),
        );
        assert_eq!(ours.status, peers.status);
        assert_eq!(sandbox.run(&["diff", "x", "y", "-T"]).text(), "");
    }
}
