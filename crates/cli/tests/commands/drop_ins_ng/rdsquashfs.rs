//! Compares `rdsquashfs` with the program of squashfs-tools-ng: the same arguments on the same images print the same.

use crate::inspect::support::{images, pack, quiet, ready, tree, with_source, zoo};
use packline_testkit::model::Node;
use packline_testkit::snapshot::{Except, assert_same};
use packline_testkit::{Ran, Sandbox};

/// Runs both and compares what they print and how they exit.
fn compare(sandbox: &Sandbox, arguments: &[&str]) {
    let ours = sandbox.run(&[&["rdsquashfs"], arguments].concat());
    let peers = Ran::of(&mut sandbox.program("rdsquashfs", arguments));
    assert_eq!(ours.status, peers.status, "{arguments:?}: {}{}", ours.stderr, peers.stderr);
    assert!(
        ours.stdout == peers.stdout,
        "{arguments:?}:\n{}\n{}",
        ours.stdout.escape_ascii(),
        peers.stdout.escape_ascii()
    );
    assert_eq!(ours.stderr.is_empty(), peers.stderr.is_empty(), "{arguments:?}: {}{}", ours.stderr, peers.stderr);
}

#[test]
fn listings_inodes_and_attributes_are_printed_alike() {
    if !ready() {
        return;
    }
    let mut nodes = zoo();
    nodes.push(Node::dir("many"));
    nodes.extend((0..600).map(|number| Node::file(format!("many/a-name-of-some-length-{number:04}"), "")));
    let sandbox = with_source(&nodes);
    for image in images(&sandbox) {
        for path in ["/", "d", "d/f", "d/big", "d/hole", "d/link", "e/../d", "e//", "dev", "nothing", "d/f/x", "many"] {
            for action in ["-l", "-s", "-x", "-c"] {
                compare(&sandbox, &[action, path, image]);
            }
        }
        for options in [&["-l", "e", "-DF"][..], &["-l", "d", "-L"], &["-d"], &["-d", "-DFSL"], &["-d", "-E", "-L"]] {
            compare(&sandbox, &[options, &[image]].concat());
        }
        // With blanks and quotes, that program writes lines that its own gensquashfs does not read.
        let arguments = ["-d", "-p", "some/where", image];
        let plain =
            |text: String| text.lines().filter(|line| !line.contains('"')).map(str::to_string).collect::<Vec<_>>();
        let ours = quiet(&sandbox, &[&["rdsquashfs"], &arguments[..]].concat()).text();
        assert!(ours.contains("file \"d/sp ace\" 0644 0 0 \"some/where/d/sp ace\"\n"), "{image}");
        assert_eq!(plain(ours), plain(sandbox.peer("rdsquashfs", &arguments).text()), "{image}");
        compare(&sandbox, &["-l", "/", "-c", "d/f", image]);
        compare(&sandbox, &["-c", "d/f", "--list=e", image]);
    }
    compare(&sandbox, &["-l", "/"]);
    compare(&sandbox, &["ours.sqfs"]);
    compare(&sandbox, &["-l", "../x", "ours.sqfs"]);
    compare(&sandbox, &["-d", "nothing"]);
    compare(&sandbox, &["-j", "3", "-d", "ours.sqfs"]);
}

#[test]
fn a_description_makes_the_same_tree_again() {
    if !ready() {
        return;
    }
    // A pack file cannot describe a line feed in a name or a target.
    let sayable = |node: &Node| !node.path.contains(&b'\n') && !format!("{:?}", node.kind).contains("10,");
    let nodes: Vec<Node> = zoo().into_iter().chain([Node::file("a\\b \"c\\", "z")]).filter(sayable).collect();
    let sandbox = with_source(&nodes);
    pack(&sandbox, "image", &[]);
    let described = quiet(&sandbox, &["rdsquashfs", "-d", "image"]).stdout;
    sandbox.write("list", &described);
    quiet(&sandbox, &["gensquashfs", "-F", "list", "-D", "source", "-q", "again"]);
    let arguments = ["diff", "image", "again", "-T", "-X", "-H"];
    // The root is not described.
    assert_eq!(sandbox.run(&arguments).text(), "");
    sandbox.peer("gensquashfs", &["-F", "list", "-D", "source", "-q", "peers"]);
    assert_eq!(sandbox.run(&["diff", "image", "peers", "-T", "-X", "-H"]).text(), "");
    assert_eq!(
        quiet(&sandbox, &["rdsquashfs", "-d", "again"]).stdout,
        quiet(&sandbox, &["rdsquashfs", "-d", "image"]).stdout
    );
}

#[test]
fn rejects_names_with_line_feed() {
    if !ready() {
        return;
    }
    let sandbox = with_source(&[Node::dir(""), Node::file("a\nb", "")]);
    pack(&sandbox, "image", &[]);
    let ran = sandbox.run(&["rdsquashfs", "-d", "image"]);
    assert!(ran.status == 1 && ran.stderr.contains("a\\nb") && ran.stdout.is_empty(), "{}", ran.stderr);
}

#[test]
fn unpacks_everything_like_rdsquashfs() {
    if !ready() {
        return;
    }
    for nodes in [zoo(), tree()] {
        let sandbox = with_source(&nodes);
        pack(&sandbox, "image", &["-c", "gzip"]);
        for (number, options) in
            [&["-XTCO"][..], &["-XTCO", "-Z"], &["-XTCO", "-DSFL"], &["-XTCO", "-L", "-E"]].iter().enumerate()
        {
            let [ours, peers] = ["ours", "peers"].map(|name| format!("{name}{number}"));
            let arguments = |root| [&["-q", "-u", "/", "-p", root, "image"], *options].concat();
            quiet(&sandbox, &[&["rdsquashfs"], &arguments(&ours)[..]].concat());
            sandbox.peer("rdsquashfs", &arguments(&peers));
            let [ours, peers] = [ours, peers].map(|name| sandbox.snapshot(&name));
            // The peer makes a file of each name, and sets capabilities before owners, which clears them.
            let except = Except { links: true, root: true, capability: true, ..Except::default() };
            assert_same(&format!("{options:?}"), &peers, &ours, except);
        }
    }
}

#[test]
fn without_options_no_attribute_is_set() {
    if !ready() {
        return;
    }
    let sandbox = with_source(&zoo());
    pack(&sandbox, "image", &[]);
    let arguments = |root| ["-u", "/", "-p", root, "image"];
    sandbox.good(&[&["rdsquashfs"], &arguments("a")[..]].concat());
    sandbox.peer("rdsquashfs", &arguments("b"));
    let [ours, peers] = ["a", "b"].map(|name| sandbox.snapshot(name));
    assert_eq!(ours.keys().collect::<Vec<_>>(), peers.keys().collect::<Vec<_>>());
    for (path, attributes) in ours.iter().filter(|(path, _)| !path.is_empty()) {
        let found = (attributes.mode, attributes.uid, attributes.gid, &attributes.xattrs);
        let peer = &peers[path];
        assert_eq!(found, (peer.mode, peer.uid, peer.gid, &peer.xattrs), "{}", path.escape_ascii());
    }
}

#[test]
fn unpacks_part_into_existing_directory() {
    if !ready() {
        return;
    }
    let sandbox = with_source(&zoo());
    pack(&sandbox, "image", &[]);
    sandbox.create_dir("there");
    sandbox.write("there/kept", "mine");
    quiet(&sandbox, &["rdsquashfs", "-q", "-u", "d", "-p", "there", "image"]);
    quiet(&sandbox, &["rdsquashfs", "-q", "-u", "e/small", "-p", "there", "image"]);
    assert_eq!(sandbox.read("there/kept"), b"mine");
    assert_eq!(sandbox.read("there/f"), b"hello");
    assert_eq!(sandbox.read("there/small"), sandbox.read("source/e/small"));
    assert!(!sandbox.at("there/pipe").exists());
    assert_eq!(sandbox.run(&["rdsquashfs", "-u", "nothing", "-p", "there", "image"]).status, 1);
}
