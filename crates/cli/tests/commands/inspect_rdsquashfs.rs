//! `rdsquashfs` beside the one of squashfs-tools-ng: the same arguments on the same images print the same.

use crate::inspect_support::{Place, ready, tree, zoo};
use packline_testkit::model::Node;
use packline_testkit::snapshot::{self, Except, assert_same};
use std::fs;

/// Runs both and compares what they print and how they exit.
fn compare(place: &Place, arguments: &[&str]) {
    let ours = place.ours(&[&["rdsquashfs"], arguments].concat());
    let peers = place.peer("rdsquashfs", arguments);
    assert_eq!(ours.status, peers.status, "{arguments:?}: {}{}", ours.err, peers.err);
    assert!(ours.out == peers.out, "{arguments:?}:\n{}\n{}", ours.out.escape_ascii(), peers.out.escape_ascii());
    assert_eq!(ours.err.is_empty(), peers.err.is_empty(), "{arguments:?}: {}{}", ours.err, peers.err);
}

#[test]
fn listings_inodes_and_attributes_are_printed_alike() {
    if !ready() {
        return;
    }
    let mut nodes = zoo();
    nodes.push(Node::dir("many"));
    nodes.extend((0..600).map(|number| Node::file(format!("many/a-name-of-some-length-{number:04}"), "")));
    let place = Place::new(&nodes);
    for image in place.images() {
        for path in ["/", "d", "d/f", "d/big", "d/hole", "d/link", "e/../d", "e//", "dev", "nothing", "d/f/x", "many"] {
            for action in ["-l", "-s", "-x", "-c"] {
                compare(&place, &[action, path, image]);
            }
        }
        for options in [&["-l", "e", "-DF"][..], &["-l", "d", "-L"], &["-d"], &["-d", "-DFSL"], &["-d", "-E", "-L"]] {
            compare(&place, &[options, &[image]].concat());
        }
        // Where there are blanks and quotes, that program writes what its own gensquashfs does not read.
        let arguments = ["-d", "-p", "some/where", image];
        let plain =
            |text: String| text.lines().filter(|line| !line.contains('"')).map(str::to_string).collect::<Vec<_>>();
        let ours = place.good(&[&["rdsquashfs"], &arguments[..]].concat()).text();
        assert!(ours.contains("file \"d/sp ace\" 0644 0 0 \"some/where/d/sp ace\"\n"), "{image}");
        assert_eq!(plain(ours), plain(place.peer("rdsquashfs", &arguments).text()), "{image}");
        compare(&place, &["-l", "/", "-c", "d/f", image]);
        compare(&place, &["-c", "d/f", "--list=e", image]);
    }
    compare(&place, &["-l", "/"]);
    compare(&place, &["ours.sqfs"]);
    compare(&place, &["-l", "../x", "ours.sqfs"]);
    compare(&place, &["-d", "nothing"]);
    compare(&place, &["-j", "3", "-d", "ours.sqfs"]);
}

#[test]
fn a_description_makes_the_same_tree_again() {
    if !ready() {
        return;
    }
    // What a pack file cannot say is told in the gensquashfs tests: a target with a line feed, an empty name.
    let sayable = |node: &Node| !node.path.contains(&b'\n') && !format!("{:?}", node.kind).contains("10,");
    let nodes: Vec<Node> = zoo().into_iter().chain([Node::file("a\\b \"c\\", "z")]).filter(sayable).collect();
    let place = Place::new(&nodes);
    place.pack("image", &[]);
    let described = place.good(&["rdsquashfs", "-d", "image"]).out;
    fs::write(place.at("list"), &described).unwrap();
    place.good(&["gensquashfs", "-F", "list", "-D", "source", "-q", "again"]);
    let arguments = ["diff", "image", "again", "-T", "-X", "-H"];
    // The root is not described.
    assert_eq!(place.ours(&arguments).text(), "");
    let peers = place.peer("gensquashfs", &["-F", "list", "-D", "source", "-q", "peers"]);
    assert_eq!(peers.status, 0, "{}", peers.err);
    assert_eq!(place.ours(&["diff", "image", "peers", "-T", "-X", "-H"]).text(), "");
    assert_eq!(place.good(&["rdsquashfs", "-d", "again"]).out, place.good(&["rdsquashfs", "-d", "image"]).out);
}

#[test]
fn a_name_that_no_line_can_hold_is_refused() {
    if !ready() {
        return;
    }
    let place = Place::new(&[Node::dir(""), Node::file("a\nb", "")]);
    place.pack("image", &[]);
    let ran = place.ours(&["rdsquashfs", "-d", "image"]);
    assert!(ran.status == 1 && ran.err.contains("a\\nb") && ran.out.is_empty(), "{}", ran.err);
}

#[test]
fn everything_is_unpacked_as_the_program_unpacks_it() {
    if !ready() {
        return;
    }
    for nodes in [zoo(), tree()] {
        let place = Place::new(&nodes);
        place.pack("image", &["-c", "gzip"]);
        for (number, options) in
            [&["-XTCO"][..], &["-XTCO", "-Z"], &["-XTCO", "-DSFL"], &["-XTCO", "-L", "-E"]].iter().enumerate()
        {
            let [ours, peers] = ["ours", "peers"].map(|name| format!("{name}{number}"));
            let arguments = |root| [&["-q", "-u", "/", "-p", root, "image"], *options].concat();
            place.good(&[&["rdsquashfs"], &arguments(&ours)[..]].concat());
            let ran = place.peer("rdsquashfs", &arguments(&peers));
            assert_eq!(ran.status, 0, "{}", ran.err);
            let [ours, peers] = [ours, peers].map(|name| snapshot::of_directory(&place.at(&name)).unwrap());
            // The peer makes a file of each name, and sets capabilities before owners, which clears them.
            let except = Except { links: true, root: true, capability: true, ..Except::default() };
            assert_same(&format!("{options:?}"), &peers, &ours, except);
        }
    }
}

#[test]
fn without_being_asked_no_attribute_is_set() {
    if !ready() {
        return;
    }
    let place = Place::new(&zoo());
    place.pack("image", &[]);
    for (tool, root) in [("ours", "a"), ("peer", "b")] {
        let arguments = ["-u", "/", "-p", root, "image"];
        let ran = if tool == "ours" {
            place.ours(&[&["rdsquashfs"], &arguments[..]].concat())
        } else {
            place.peer("rdsquashfs", &arguments)
        };
        assert_eq!(ran.status, 0, "{}", ran.err);
    }
    let [ours, peers] = ["a", "b"].map(|name| snapshot::of_directory(&place.at(name)).unwrap());
    assert_eq!(ours.keys().collect::<Vec<_>>(), peers.keys().collect::<Vec<_>>());
    for (path, attributes) in ours.iter().filter(|(path, _)| !path.is_empty()) {
        let found = (attributes.mode, attributes.uid, attributes.gid, &attributes.xattrs);
        let peer = &peers[path];
        assert_eq!(found, (peer.mode, peer.uid, peer.gid, &peer.xattrs), "{}", path.escape_ascii());
    }
}

#[test]
fn a_part_is_unpacked_into_what_is_there() {
    if !ready() {
        return;
    }
    let place = Place::new(&zoo());
    place.pack("image", &[]);
    fs::create_dir(place.at("there")).unwrap();
    fs::write(place.at("there/kept"), "mine").unwrap();
    place.good(&["rdsquashfs", "-q", "-u", "d", "-p", "there", "image"]);
    place.good(&["rdsquashfs", "-q", "-u", "e/small", "-p", "there", "image"]);
    assert_eq!(fs::read(place.at("there/kept")).unwrap(), b"mine");
    assert_eq!(fs::read(place.at("there/f")).unwrap(), b"hello");
    assert_eq!(fs::read(place.at("there/small")).unwrap(), fs::read(place.at("source/e/small")).unwrap());
    assert!(!place.at("there/pipe").exists());
    assert_eq!(place.ours(&["rdsquashfs", "-u", "nothing", "-p", "there", "image"]).status, 1);
}
