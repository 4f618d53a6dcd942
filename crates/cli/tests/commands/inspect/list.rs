//! Compares `list`, `cat` and `info` of images by every packer with other programs.

use crate::inspect::support::{images, pack, quiet, ready, tree, with_source, zoo};
use packline_testkit::model::{Node, NodeKind};
use packline_testkit::{Ran, tools};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Read;
use std::process::Stdio;

/// Words of a line.
fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<&str>>().join(" ").replace(", ", ",")
}

#[test]
fn a_long_list_is_what_unsquashfs_lists() {
    if !ready() {
        return;
    }
    for nodes in [zoo(), tree()] {
        // The two programs escape names differently.
        let plain = |path: &[u8]| path.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'\\' || *byte == b' ');
        // unsquashfs 4.5 shows large minor numbers wrongly.
        let shown =
            |node: &Node| !matches!(node.kind, NodeKind::BlockDevice(_, 256..) | NodeKind::CharDevice(_, 256..));
        let nodes = nodes.into_iter().filter(|node| plain(&node.path) && shown(node));
        let tame = |node: &Node| match &node.kind {
            NodeKind::HardLink(target) | NodeKind::Symlink(target) => plain(target) && !target.is_empty(),
            _ => true,
        };
        let sandbox = with_source(&nodes.filter(tame).collect::<Vec<_>>());
        for image in images(&sandbox) {
            let peers = sandbox.peer("unsquashfs", &["-lln", "-dest", "ROOT", image]).text();
            let expected: BTreeSet<String> = peers
                .lines()
                .filter(|line| line.contains("ROOT"))
                .map(|line| words(&line.replace(" ROOT/", " ").replace(" ROOT", " .")))
                .collect();
            let listed = quiet(&sandbox, &["list", "-l", "--numeric-owner", image]).text();
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
    let sandbox = with_source(&tree());
    let images = images(&sandbox);
    let [short, raw] =
        [&["list"][..], &["list", "-0"]].map(|list| quiet(&sandbox, &[list, &images[..1]].concat()).stdout);
    assert_eq!(raw.split(|byte| *byte == 0).count() - 1, short.split(|byte| *byte == b'\n').count() - 1);
    for image in &images[1..] {
        // A tar has no sockets.
        let sockets = *image == "tar.sqfs";
        for (list, first) in [(&["list"][..], &short), (&["list", "-0"], &raw)] {
            let found = quiet(&sandbox, &[list, &[image]].concat()).stdout;
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
fn json_has_every_attribute() {
    if !tools::root() {
        return;
    }
    let sandbox = with_source(&zoo());
    pack(&sandbox, "image", &[]);
    let listed = quiet(&sandbox, &["list", "--json", "image"]).text();
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
fn patterns_select_and_one_that_matches_nothing_is_reported() {
    if !tools::root() {
        return;
    }
    let sandbox = with_source(&zoo());
    pack(&sandbox, "image", &[]);
    let lines = |arguments: &[&str]| quiet(&sandbox, &[&["list", "image"], arguments].concat()).text();
    assert_eq!(lines(&["/e/"]), "e\ne/block\ne/pipe\ne/root\ne/small\n");
    assert_eq!(lines(&["d/h*", "dev"]), "d/hard\nd/hole\ndev\n");
    assert_eq!(lines(&["e", "-x", "e/[bp]*", "--exclude", "e/root"]), "e\ne/small\n");
    let ran = sandbox.run(&["list", "image", "dev", "nothing*"]);
    assert_eq!((ran.status, ran.text().as_str()), (1, "dev\n"));
    assert!(ran.stderr.contains("'nothing*' matches nothing"), "{}", ran.stderr);
    assert_eq!(sandbox.run(&["list", "image", "-l", "--json"]).status, 2);
    assert_eq!(sandbox.run(&["list", "image", "../x"]).status, 2);
}

#[test]
fn escapes_names_with_control_characters() {
    if !tools::root() {
        return;
    }
    let names: [&[u8]; 4] = [b"\x1b]0;owned\x07", b"line\nfeed", b"\xff\xfe", b"back\\slash"];
    let mut nodes = vec![Node::dir("")];
    nodes.extend(names.iter().map(|name| Node::new(*name, NodeKind::Symlink(b"\x1b[2J\n".to_vec()))));
    let sandbox = with_source(&nodes);
    pack(&sandbox, "image", &[]);
    let tame = |bytes: &[u8]| bytes.iter().all(|byte| *byte == b'\n' || (0x20..0x7f).contains(byte));
    let commands = [&["list", "image"][..], &["list", "-l", "image"], &["rdsquashfs", "-l", "/", "image"]];
    for arguments in commands {
        let ran = quiet(&sandbox, arguments);
        assert!(tame(&ran.stdout), "{arguments:?}: {}", ran.stdout.escape_ascii());
        let others = ran.text().lines().filter(|line| line.starts_with('.') || line.ends_with(" .")).count();
        assert_eq!(ran.text().lines().count() - others, names.len(), "{arguments:?}");
    }
    let listed = quiet(&sandbox, &["list", "image"]).text();
    assert_eq!(listed, ".\n\\x1b]0;owned\\x07\nback\\\\slash\nline\\nfeed\n\\xff\\xfe\n");
    let json = quiet(&sandbox, &["list", "--json", "image"]).text();
    let last: Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    assert_eq!((last["path_hex"].as_str(), last["path"].as_str()), (Some("fffe"), Some("\u{fffd}\u{fffd}")));
}

#[test]
fn contents_are_those_of_the_files() {
    if !ready() {
        return;
    }
    let sandbox = with_source(&zoo());
    let read = |name: &str| sandbox.read(format!("source/{name}"));
    for image in images(&sandbox) {
        let cat = |paths: &[&str]| quiet(&sandbox, &[&["cat", image], paths].concat()).stdout;
        assert!(
            cat(&["e/small", "/d/hole", "d/big", "d/f"])
                == [read("e/small"), read("d/hole"), read("d/big"), read("d/f")].concat()
        );
        assert!(cat(&["d/big", "d/big", "-j", "0"]) == [read("d/big"), read("d/big")].concat());
        assert!(cat(&["e/root", "--mem", "24M", "-j", "1"]) == read("d/big"));
        assert_eq!(cat(&["d/link", "d/up", "d/../../d/hard"]), b"hellohellohello");
        let peers = sandbox.peer("rdsquashfs", &["-c", "d/hole", image]);
        assert!(quiet(&sandbox, &["rdsquashfs", "-c", "/d/hole", image]).stdout == peers.stdout && peers.status == 0);
    }
    for (path, what) in
        [("d", "is a directory"), ("dev", "not a regular file"), ("nope", "no such entry"), ("loop", "too many")]
    {
        let ran = sandbox.run(&["cat", "ours.sqfs", "d/f", path]);
        assert_eq!((ran.status, ran.stdout.len()), (1, 0), "{path}");
        assert!(ran.stderr.contains(what) && ran.stderr.contains(path), "{}", ran.stderr);
    }
    assert_eq!(sandbox.run(&["cat", "ours.sqfs"]).status, 2);
}

#[test]
fn an_image_after_other_data_is_found() {
    if !tools::root() {
        return;
    }
    let sandbox = with_source(&zoo());
    pack(&sandbox, "image", &[]);
    let image = sandbox.read("image");
    sandbox.write("behind", [vec![7; 12_345], image].concat());
    assert_eq!(quiet(&sandbox, &["cat", "behind", "d/f"]).stdout, b"hello");
    assert_eq!(quiet(&sandbox, &["cat", "--offset", "12345", "behind", "d/f"]).stdout, b"hello");
    let info: Value = serde_json::from_str(&quiet(&sandbox, &["info", "behind", "--json"]).text()).unwrap();
    assert_eq!(info["offset"], 12_345);
    assert_eq!(sandbox.run(&["list", "--offset", "12344", "behind"]).status, 1);
}

/// A program may have a superblock as a constant, and a partition that was written twice begins with an old one.
#[test]
fn an_image_after_copies_of_superblocks_is_found() {
    let sandbox = crate::sandbox();
    sandbox.create_dir("tree");
    sandbox.write("tree/f", "hello");
    sandbox.good(&["pack", "-q", "tree", "small.sqfs", "-c", "none"]);
    sandbox.write("tree/g", vec![b'g'; 300_000]);
    sandbox.good(&["pack", "-q", "tree", "image.sqfs", "-c", "none"]);
    let small = sandbox.read("small.sqfs");
    let image = sandbox.read("image.sqfs");
    let program = vec![7; 5000];
    let copy = image[..96].to_vec();
    let other = [&small[..96], &vec![0; small.len()]].concat();
    for before in [copy.clone(), other.clone(), [copy.clone(), other, copy].concat()] {
        for before in [[&program[..], &before].concat(), before] {
            sandbox.write("behind", [&before[..], &image].concat());
            let info: Value = serde_json::from_str(&sandbox.good(&["info", "behind", "--json"]).text()).unwrap();
            assert_eq!(info["offset"], before.len());
            assert_eq!(sandbox.good(&["cat", "behind", "f"]).text(), "hello");
        }
    }
    // The content of a damaged or truncated image is not found as an image.
    sandbox.write("outer/inner.sqfs", &small);
    sandbox.good(&["pack", "-q", "outer", "outer.sqfs", "-c", "none"]);
    let outer = sandbox.read("outer.sqfs");
    let mut damaged = outer.clone();
    let place = |at: usize| u64::from_le_bytes(outer[at..at + 8].try_into().unwrap()) as usize;
    let used = place(40);
    let inodes = place(64);
    damaged[inodes..inodes + 2].copy_from_slice(&[0xff, 0xff]);
    for bytes in [damaged.clone(), [program, damaged].concat(), outer[..used - 1].to_vec()] {
        sandbox.write("behind", bytes);
        assert_eq!(sandbox.run(&["list", "behind"]).status, 1);
    }
}

#[test]
fn info_counts_what_is_there() {
    if !ready() {
        return;
    }
    let sandbox = with_source(&zoo());
    for image in images(&sandbox) {
        let info: Value = serde_json::from_str(&quiet(&sandbox, &["info", image, "--json"]).text()).unwrap();
        let entries = &info["entries"];
        let count = |name: &str| entries[name].as_u64().unwrap();
        // gensquashfs 1.2 knows no hard links.
        let more = u64::from(image == "gen.sqfs");
        assert_eq!([count("files"), count("directories"), count("symlinks")], [6 + more, 4, 4], "{image}");
        assert_eq!([count("devices"), count("fifos"), count("hard_links")], [2, 1, 1 - more], "{image}");
        assert_eq!(count("content_bytes"), 700_907 + 5 * more, "{image}");
        let superblock = sandbox.peer("unsquashfs", &["-s", image]).text();
        for (key, label) in [
            ("inodes", "Number of inodes "),
            ("fragment_blocks", "Number of fragments "),
            ("block_size", "Block size "),
        ] {
            assert!(superblock.contains(&format!("{label}{}", info[key])), "{image}: {key} {}", info[key]);
        }
        let tables = info["tables"].as_array().unwrap();
        let ends: Vec<u64> =
            tables.iter().map(|table| table["start"].as_u64().unwrap() + table["bytes"].as_u64().unwrap()).collect();
        let starts: Vec<u64> = tables.iter().skip(1).map(|table| table["start"].as_u64().unwrap()).collect();
        assert_eq!(starts, ends[..ends.len() - 1], "{image}: tables follow each other");
        let used = info["bytes_used"].as_u64().unwrap();
        assert!(*ends.last().unwrap() <= used && ends.last().unwrap() + 16 >= used, "{image}");
        let text = quiet(&sandbox, &["info", image]).text();
        assert!(text.contains("directory table") && text.contains(&format!("{} files", 6 + more)), "{text}");
        assert!(!quiet(&sandbox, &["info", "--quick", image]).text().contains(" files"));
    }
}

#[test]
fn ignores_closed_reader() {
    if !tools::root() {
        return;
    }
    let nodes: Vec<Node> = std::iter::once(Node::dir(""))
        .chain((0..20_000).map(|n| Node::new(format!("file-{n:06}"), NodeKind::Symlink(b"x".to_vec()))))
        .collect();
    let sandbox = with_source(&nodes);
    sandbox.write("source/zz", vec![1; 3 << 20]);
    pack(&sandbox, "image", &[]);
    sandbox.create_dir("none");
    let commands = [
        &["list", "image"][..],
        &["list", "--json", "image"],
        &["cat", "image", "zz"],
        &["rdsquashfs", "-d", "image"],
        &["diff", "image", "none"],
    ];
    for arguments in commands {
        let mut child = sandbox.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.stderr, "", "{arguments:?}");
        // `diff` exits with 1 because there are differences.
        assert_eq!(ran.status, i32::from(arguments[0] == "diff"), "{arguments:?}");
    }
}
