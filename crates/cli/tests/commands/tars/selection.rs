//! A part of a tar is unpacked.

use packline_testkit::Sandbox;
use packline_testkit::model::{Node, NodeKind};

use super::shell;
use crate::sandbox;

fn link(path: &str, target: &str) -> Node {
    Node::new(path, NodeKind::HardLink(target.into()))
}

/// A sandbox with `x.tar`, `x.tar.gz` and `x.lrz`.
fn with_tars() -> Sandbox {
    let owner = rustix::process::getuid().as_raw();
    let group = rustix::process::getgid().as_raw();
    let nodes = [
        Node::dir("").mode(0o750),
        Node::dir("etc").mode(0o700).time(77),
        Node::file("etc/motd", "hello"),
        Node::file("etc/big", vec![7; 20 << 20]),
        Node::dir("etc/deep").mode(0o711).time(88),
        Node::file("etc/deep/conf", "value"),
        Node::dir("usr"),
        link("usr/motd", "etc/motd"),
        link("usr/big", "etc/big"),
    ];
    let nodes: Vec<Node> = nodes.into_iter().map(|node| node.owner(owner, group)).collect();
    let sandbox = sandbox();
    sandbox.write_tar("x.tar", &nodes);
    shell(&sandbox, "gzip -1 -c x.tar > x.tar.gz");
    sandbox.good(&["pack", "-q", "-c", "none", "x.tar", "x.lrz"]);
    sandbox
}

const ALL: [&str; 3] = ["x.tar", "x.tar.gz", "x.lrz"];

fn listing(sandbox: &Sandbox, directory: &str) -> String {
    shell(sandbox, &format!("cd {directory} && find . -printf '%P %y %m\\n' | LC_ALL=C sort"))
}

#[test]
fn selected_entries_come_with_the_directories_that_lead_to_them() {
    let sandbox = with_tars();
    for tar in ALL {
        sandbox.good(&["unpack", "-q", tar, "out", "etc/deep/conf"]);
        assert_eq!(listing(&sandbox, "out"), " d 750\netc d 700\netc/deep d 711\netc/deep/conf f 644\n", "{tar}");
        assert_eq!(shell(&sandbox, "stat -c %Y out/etc out/etc/deep"), "77\n88\n", "{tar}");
        sandbox.remove("out");
        sandbox.good(&["unpack", "-q", "-x", "etc/big", "-x", "usr", tar, "out", "etc"]);
        let expected = " d 750\netc d 700\netc/deep d 711\netc/deep/conf f 644\netc/motd f 644\n";
        assert_eq!(listing(&sandbox, "out"), expected, "{tar}");
        sandbox.remove("out");
        sandbox.good(&["unpack", "-q", "--subdir", "etc", tar, "out", "deep"]);
        assert_eq!(listing(&sandbox, "out"), " d 700\ndeep d 711\ndeep/conf f 644\n", "{tar}");
        sandbox.remove("out");
    }
}

#[test]
fn links_to_files_that_are_left_out_get_their_content() {
    let sandbox = with_tars();
    for tar in ALL {
        sandbox.good(&["unpack", "-q", "--subdir", "usr", tar, "out", "motd"]);
        assert_eq!(sandbox.read_text("out/motd"), "hello", "{tar}");
        sandbox.remove("out");
    }
    sandbox.good(&["unpack", "-q", "x.tar", "out", "usr"]);
    assert_eq!(sandbox.read("out/usr/big").len(), 20 << 20);
    sandbox.remove("out");
    // The content is no longer there, and too large to keep.
    for tar in ["x.tar.gz", "x.lrz"] {
        let message = sandbox.bad(1, &["unpack", "-q", tar, "out", "usr"]);
        assert!(message.contains("usr/big") && message.contains("hard link to etc/big"), "{tar}: {message}");
        assert!(!sandbox.at("out").exists(), "{tar}");
    }
}

#[test]
fn patterns_and_directories_without_a_match_are_errors() {
    let sandbox = with_tars();
    for tar in ALL {
        let message = sandbox.bad(1, &["unpack", "-q", tar, "out", "motd", "nonesuch"]);
        assert!(message.contains(&format!("pattern 'nonesuch' matches nothing in {tar}")), "{message}");
        let message = sandbox.bad(1, &["unpack", "-q", "--subdir", "none", tar, "out"]);
        assert!(message.contains("none: is not in the tar (expected a directory of the tar)"), "{message}");
        let message = sandbox.bad(1, &["unpack", "-q", "--subdir", "etc/motd", tar, "out"]);
        assert!(message.contains("etc/motd: is not a directory"), "{message}");
        assert!(!sandbox.at("out").exists(), "{tar}");
        let ran = sandbox.good(&["unpack", "-x", "nonesuch", tar, "out"]);
        assert!(ran.stderr.contains("exclude pattern 'nonesuch' matches nothing"), "{ran:?}");
        sandbox.remove("out");
    }
    let ran = sandbox.run(&["unpack", "-q", "--continue", "x.tar", "out", "motd", "nonesuch"]);
    assert!(ran.status == 3 && sandbox.at("out/etc/motd").exists(), "{ran:?}");
}

#[test]
fn a_part_of_a_tar_becomes_a_tar() {
    let sandbox = with_tars();
    sandbox.good(&["unpack", "-q", "--subdir", "etc", "-x", "big", "x.tar.gz", "part.tar", "deep", "motd"]);
    assert_eq!(sandbox.good(&["list", "part.tar"]).text(), ".\nmotd\ndeep\ndeep/conf\n");
    sandbox.bad(1, &["unpack", "-q", "x.tar", "none.tar", "nonesuch"]);
    assert!(!sandbox.at("none.tar").exists());
    let message = sandbox.bad(2, &["unpack", "-q", "x.lrz", "none.tar", "etc"]);
    assert!(message.contains("can be written as a tar only completely"), "{message}");
}
