//! `list`, `cat` and `info` of images by every packer, beside what other programs make of them.

use crate::inspect_support::{Place, binary, ready, tree, zoo};
use packline_testkit::model::{Node, NodeKind};
use packline_testkit::tools;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

/// Words of a line, seconds of its time left out, with one root.
fn words(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(at) = words.iter().position(|word| word.len() == 8 && word.matches(':').count() == 2) else {
        return words.join(" ").replace(", ", ",");
    };
    let mut words = words;
    words[at] = &words[at][..5];
    words.join(" ").replace(", ", ",")
}

#[test]
fn a_long_list_is_what_unsquashfs_lists() {
    if !ready() {
        return;
    }
    for nodes in [zoo(), tree()] {
        // What the two escape is theirs alone.
        let plain = |path: &[u8]| path.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'\\' || *byte == b' ');
        // unsquashfs 4.5 shows large minor numbers wrongly.
        let shown =
            |node: &Node| !matches!(node.kind, NodeKind::BlockDevice(_, 256..) | NodeKind::CharDevice(_, 256..));
        let nodes = nodes.into_iter().filter(|node| plain(&node.path) && shown(node));
        let tame = |node: &Node| match &node.kind {
            NodeKind::HardLink(target) | NodeKind::Symlink(target) => plain(target) && !target.is_empty(),
            _ => true,
        };
        let place = Place::new(&nodes.filter(tame).collect::<Vec<_>>());
        for image in place.images() {
            let peers = place.peer("unsquashfs", &["-lln", "-dest", "ROOT", image]).text();
            let expected: BTreeSet<String> = peers
                .lines()
                .filter(|line| line.contains("ROOT"))
                .map(|line| words(&line.replace(" ROOT/", " ").replace(" ROOT", " .")))
                .collect();
            let listed = place.good(&["list", "-l", image]).text();
            let found: BTreeSet<String> = listed.lines().map(words).collect();
            let differ: Vec<_> = expected.symmetric_difference(&found).collect();
            assert!(expected.len() > 5 && differ.is_empty(), "{image}: {differ:#?}");
        }
    }
}

#[test]
fn all_images_of_one_tree_are_listed_alike() {
    if !ready() {
        return;
    }
    let place = Place::new(&tree());
    let images = place.images();
    let [short, raw] = [&["list"][..], &["list", "-0"]].map(|list| place.good(&[list, &images[..1]].concat()).out);
    assert_eq!(raw.split(|byte| *byte == 0).count() - 1, short.split(|byte| *byte == b'\n').count() - 1);
    for image in &images[1..] {
        // A tar has no sockets.
        let sockets = *image == "tar.sqfs";
        for (list, first) in [(&["list"][..], &short), (&["list", "-0"], &raw)] {
            let found = place.good(&[list, &[image]].concat()).out;
            assert!(sockets || found == *first, "{image}");
        }
    }
    let mut expected: BTreeSet<Vec<u8>> = tree().into_iter().map(|node| node.path).collect();
    expected.remove(&b""[..]);
    expected.insert(b".".to_vec());
    let found: BTreeSet<Vec<u8>> =
        raw.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect();
    assert_eq!(found, expected);
}

#[test]
fn json_says_all_there_is() {
    if !tools::root() {
        return;
    }
    let place = Place::new(&zoo());
    place.pack("image", &[]);
    let listed = place.good(&["list", "--json", "image"]).text();
    let objects: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), zoo().len());
    let of = |path: &str| objects.iter().find(|object| object["path"] == path).unwrap();
    assert_eq!((of(".")["type"].as_str(), of("d")["mode"].as_str()), (Some("directory"), Some("1777")));
    assert_eq!((of("d/big")["size"].as_u64(), of("d/big")["uid"].as_u64()), (Some(300_000), Some(1000)));
    assert_eq!((of("d/f")["links"].as_u64(), of("d/f")["inode"].as_u64()), (Some(2), of("d/hard")["inode"].as_u64()));
    assert_eq!(of("d/f")["xattrs"][0]["name"], "user.note");
    assert_eq!(of("d/link")["target"], "f");
    assert_eq!((of("dev")["major"].as_u64(), of("dev")["minor"].as_u64()), (Some(5), Some(70_000)));
    assert_eq!(of("e")["mtime"], 900_000_000);
}

#[test]
fn patterns_choose_and_one_that_matches_nothing_is_told() {
    if !tools::root() {
        return;
    }
    let place = Place::new(&zoo());
    place.pack("image", &[]);
    let lines = |arguments: &[&str]| place.good(&[&["list", "image"], arguments].concat()).text();
    assert_eq!(lines(&["/e/"]), "e\ne/block\ne/pipe\ne/root\ne/small\n");
    assert_eq!(lines(&["d/h*", "dev"]), "d/hard\nd/hole\ndev\n");
    assert_eq!(lines(&["e", "-x", "e/[bp]*", "--exclude", "e/root"]), "e\ne/small\n");
    let ran = place.ours(&["list", "image", "dev", "nothing*"]);
    assert_eq!((ran.status, ran.text().as_str()), (1, "dev\n"));
    assert!(ran.err.contains("'nothing*' matches nothing"), "{}", ran.err);
    assert_eq!(place.ours(&["list", "image", "-l", "--json"]).status, 2);
    assert_eq!(place.ours(&["list", "image", "../x"]).status, 2);
}

#[test]
fn names_that_attack_terminals_are_tame() {
    if !tools::root() {
        return;
    }
    let names: [&[u8]; 4] = [b"\x1b]0;owned\x07", b"line\nfeed", b"\xff\xfe", b"back\\slash"];
    let mut nodes = vec![Node::dir("")];
    nodes.extend(names.iter().map(|name| Node::new(*name, NodeKind::Symlink(b"\x1b[2J\n".to_vec()))));
    let place = Place::new(&nodes);
    place.pack("image", &[]);
    let tame = |bytes: &[u8]| bytes.iter().all(|byte| *byte == b'\n' || (0x20..0x7f).contains(byte));
    let commands = [&["list", "image"][..], &["list", "-l", "image"], &["rdsquashfs", "-l", "/", "image"]];
    for arguments in commands {
        let ran = place.good(arguments);
        assert!(tame(&ran.out), "{arguments:?}: {}", ran.out.escape_ascii());
        let others = ran.text().lines().filter(|line| line.starts_with('.') || line.ends_with(" .")).count();
        assert_eq!(ran.text().lines().count() - others, names.len(), "{arguments:?}");
    }
    let listed = place.good(&["list", "image"]).text();
    assert_eq!(listed, ".\n\\x1b]0;owned\\x07\nback\\\\slash\nline\\nfeed\n\\xff\\xfe\n");
    let json = place.good(&["list", "--json", "image"]).text();
    let last: Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    assert_eq!((last["path_hex"].as_str(), last["path"].as_str()), (Some("fffe"), Some("\u{fffd}\u{fffd}")));
}

#[test]
fn contents_are_those_of_the_files() {
    if !ready() {
        return;
    }
    let place = Place::new(&zoo());
    let read = |name: &str| fs::read(place.at("source").join(name)).unwrap();
    for image in place.images() {
        let cat = |paths: &[&str]| place.good(&[&["cat", image], paths].concat()).out;
        assert!(
            cat(&["e/small", "/d/hole", "d/big", "d/f"])
                == [read("e/small"), read("d/hole"), read("d/big"), read("d/f")].concat()
        );
        assert!(cat(&["d/big", "d/big", "-j", "0"]) == [read("d/big"), read("d/big")].concat());
        assert!(cat(&["e/root", "--mem", "24M", "-j", "1"]) == read("d/big"));
        assert_eq!(cat(&["d/link", "d/up", "d/../../d/hard"]), b"hellohellohello");
        let peers = place.peer("rdsquashfs", &["-c", "d/hole", image]);
        assert!(place.good(&["rdsquashfs", "-c", "/d/hole", image]).out == peers.out && peers.status == 0);
    }
    for (path, what) in
        [("d", "is a directory"), ("dev", "not a regular file"), ("nope", "no such entry"), ("loop", "too many")]
    {
        let ran = place.ours(&["cat", "ours.sqfs", "d/f", path]);
        assert_eq!((ran.status, ran.out.len()), (1, 0), "{path}");
        assert!(ran.err.contains(what) && ran.err.contains(path), "{}", ran.err);
    }
    assert_eq!(place.ours(&["cat", "ours.sqfs"]).status, 2);
}

#[test]
fn an_image_behind_something_else_is_found() {
    if !tools::root() {
        return;
    }
    let place = Place::new(&zoo());
    place.pack("image", &[]);
    let image = fs::read(place.at("image")).unwrap();
    fs::write(place.at("behind"), [vec![7; 12_345], image].concat()).unwrap();
    assert_eq!(place.good(&["cat", "behind", "d/f"]).out, b"hello");
    assert_eq!(place.good(&["cat", "--offset", "12345", "behind", "d/f"]).out, b"hello");
    let info: Value = serde_json::from_str(&place.good(&["info", "behind", "--json"]).text()).unwrap();
    assert_eq!(info["offset"], 12_345);
    assert_eq!(place.ours(&["list", "--offset", "12344", "behind"]).status, 1);
}

#[test]
fn info_counts_what_is_there() {
    if !ready() {
        return;
    }
    let place = Place::new(&zoo());
    for image in place.images() {
        let info: Value = serde_json::from_str(&place.good(&["info", image, "--json"]).text()).unwrap();
        let entries = &info["entries"];
        let count = |name: &str| entries[name].as_u64().unwrap();
        // gensquashfs 1.2 knows no hard links.
        let more = u64::from(image == "gen.sqfs");
        assert_eq!([count("files"), count("directories"), count("symlinks")], [6 + more, 4, 4], "{image}");
        assert_eq!([count("devices"), count("fifos"), count("hard_links")], [2, 1, 1 - more], "{image}");
        assert_eq!(count("content_bytes"), 700_907 + 5 * more, "{image}");
        let said = place.peer("unsquashfs", &["-s", image]).text();
        for (key, label) in [
            ("inodes", "Number of inodes "),
            ("fragment_blocks", "Number of fragments "),
            ("block_size", "Block size "),
        ] {
            assert!(said.contains(&format!("{label}{}", info[key])), "{image}: {key} {}", info[key]);
        }
        let tables = info["tables"].as_array().unwrap();
        let ends: Vec<u64> =
            tables.iter().map(|table| table["start"].as_u64().unwrap() + table["bytes"].as_u64().unwrap()).collect();
        let starts: Vec<u64> = tables.iter().skip(1).map(|table| table["start"].as_u64().unwrap()).collect();
        assert_eq!(starts, ends[..ends.len() - 1], "{image}: tables follow each other");
        let used = info["bytes_used"].as_u64().unwrap();
        assert!(*ends.last().unwrap() <= used && ends.last().unwrap() + 16 >= used, "{image}");
        let text = place.good(&["info", image]).text();
        assert!(text.contains("directory table") && text.contains(&format!("{} files", 6 + more)), "{text}");
        assert!(!place.good(&["info", "--quick", image]).text().contains(" files"));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_reason_to_complain() {
    if !tools::root() {
        return;
    }
    let nodes: Vec<Node> = std::iter::once(Node::dir(""))
        .chain((0..20_000).map(|n| Node::new(format!("file-{n:06}"), NodeKind::Symlink(b"x".to_vec()))))
        .collect();
    let place = Place::new(&nodes);
    fs::write(place.at("source/zz"), vec![1; 3 << 20]).unwrap();
    place.pack("image", &[]);
    fs::create_dir(place.at("none")).unwrap();
    let commands = [
        &["list", "image"][..],
        &["list", "--json", "image"],
        &["cat", "image", "zz"],
        &["rdsquashfs", "-d", "image"],
        &["diff", "image", "none"],
    ];
    for arguments in commands {
        let mut command = Command::new(binary());
        command
            .args(arguments)
            .current_dir(place.at(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        // The status of `diff` says that there are differences.
        assert_eq!(output.status.code(), Some(i32::from(arguments[0] == "diff")), "{arguments:?}");
    }
}
