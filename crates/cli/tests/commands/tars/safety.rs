//! Tars that try to write elsewhere, and tars that end too early.

use std::os::unix::fs::symlink;

use packline_testkit::Sandbox;
use packline_testkit::model::{Node, NodeKind};
use packline_testkit::tar;

use super::shell;
use crate::sandbox;

fn node(path: &str, kind: NodeKind) -> Node {
    let node = Node::new(path, kind);
    node.owner(rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw())
}

fn file(path: &str, content: &str) -> Node {
    let Node { kind, .. } = Node::file(path, content);
    node(path, kind)
}

fn symbolic(path: &str, target: &str) -> Node {
    node(path, NodeKind::Symlink(target.into()))
}

fn linked(path: &str, target: &str) -> Node {
    node(path, NodeKind::HardLink(target.into()))
}

/// A directory with `outside/mine` next to the destination.
fn with_outside() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("outside/mine", "mine");
    sandbox
}

fn assert_untouched(sandbox: &Sandbox, what: &str) {
    assert_eq!(sandbox.names_in("outside"), ["mine"], "{what}");
    assert_eq!(sandbox.read_text("outside/mine"), "mine", "{what}");
    assert_eq!(shell(sandbox, "stat -c %h outside/mine"), "1\n", "{what}");
}

#[test]
fn nothing_is_written_outside_the_destination() {
    let cases = [
        ("a path upwards", vec![file("../outside/stolen", "x")]),
        ("a path upwards in the middle", vec![file("d/../../outside/stolen", "x")]),
        ("a file below a link", vec![symbolic("a", "../outside"), file("a/stolen", "x")]),
        ("a file below a deep link", vec![symbolic("d/a", "../../outside"), file("d/a/stolen", "x")]),
        ("a hard link upwards", vec![linked("a", "../outside/mine")]),
        ("a hard link through a link", vec![symbolic("d", "../outside"), linked("a", "d/mine")]),
    ];
    for (what, nodes) in cases {
        let sandbox = with_outside();
        sandbox.write_tar("x.tar", &nodes);
        let message = sandbox.bad(1, &["unpack", "-q", "x.tar", "new"]);
        assert!(message.starts_with("packline: "), "{what}: {message}");
        assert!(!sandbox.at("new").exists(), "{what}");
        assert_untouched(&sandbox, what);
        sandbox.create_dir("old");
        sandbox.bad(1, &["unpack", "-q", "x.tar", "old"]);
        assert_untouched(&sandbox, what);
    }
}

/// As with GNU tar: the directory is a new one, and the link is gone.
#[test]
fn a_directory_replaces_a_link() {
    let sandbox = with_outside();
    let nodes = [symbolic("a", "../outside"), node("a", NodeKind::Dir), file("a/mine", "x")];
    sandbox.write_tar("x.tar", &nodes);
    sandbox.create_dir("old");
    symlink("../outside", sandbox.at("old/a")).unwrap();
    for place in ["new", "old"] {
        sandbox.good(&["unpack", "-qf", "x.tar", place]);
        assert_untouched(&sandbox, place);
        assert_eq!(sandbox.read_text(format!("{place}/a/mine")), "x");
    }
}

#[test]
fn absolute_names_are_below_the_destination_and_files_replace_links() {
    let sandbox = with_outside();
    let absolute = format!("{}/outside/mine", sandbox.path().display());
    sandbox.write_tar("x.tar", &[file(&absolute, "x"), symbolic("a", "../outside/mine"), file("a", "file")]);
    sandbox.good(&["unpack", "-q", "x.tar", "new"]);
    assert_untouched(&sandbox, "an absolute name");
    assert_eq!(sandbox.read_text("new/a"), "file");
    assert_eq!(sandbox.read_text(format!("new{absolute}")), "x");
    // A link that exists in the destination is not followed either.
    sandbox.create_dir("old");
    symlink("../outside", sandbox.at("old/d")).unwrap();
    symlink("../outside/mine", sandbox.at("old/f")).unwrap();
    sandbox.write_tar("y.tar", &[file("f", "file")]);
    sandbox.good(&["unpack", "-q", "-f", "y.tar", "old"]);
    sandbox.write_tar("z.tar", &[file("d/stolen", "x")]);
    sandbox.bad(1, &["unpack", "-q", "-f", "z.tar", "old"]);
    assert_untouched(&sandbox, "an existing link");
    assert_eq!(sandbox.read_text("old/f"), "file");
}

#[test]
fn links_without_a_target_name_both() {
    let sandbox = with_outside();
    sandbox.write_tar("x.tar", &[linked("a", "none/b")]);
    let message = sandbox.bad(1, &["unpack", "-q", "x.tar", "new"]);
    assert!(message.contains("new/a: cannot link: there is no new/none/b"), "{message}");
    // A link may come before its file.
    sandbox.write_tar("y.tar", &[linked("a", "b"), file("b", "x")]);
    sandbox.good(&["unpack", "-q", "y.tar", "new"]);
    assert_eq!(sandbox.read_text("new/a"), "x");
    assert_eq!(shell(&sandbox, "stat -c %h new/a"), "2\n");
}

#[test]
fn a_tar_that_ends_too_early_is_an_error() {
    let sandbox = sandbox();
    let bytes = tar::to_bytes(&[file("whole", "one"), file("cut", &"x".repeat(100_000)), file("after", "two")]);
    sandbox.write("x.tar", &bytes);
    shell(&sandbox, "gzip -c x.tar > x.tar.gz");
    let packed = sandbox.read("x.tar.gz");
    sandbox.write("cut.tar", &bytes[..50_000]);
    sandbox.write("header.tar", &bytes[..1024 + 100]);
    sandbox.write("cut.tar.gz", &packed[..packed.len() - 20]);
    for name in ["cut.tar", "header.tar", "cut.tar.gz"] {
        sandbox.bad(1, &["unpack", "-q", name, "new"]);
        assert!(!sandbox.at("new").exists(), "{name}");
        shell(&sandbox, &format!("! cat {name} | $P unpack -q - new"));
        assert!(!sandbox.at("new").exists(), "{name}");
        // An existing destination keeps what was written, but no part of a file.
        sandbox.create_dir("old");
        sandbox.bad(1, &["unpack", "-q", name, "old"]);
        assert!(
            !sandbox.names_in("old").iter().any(|name| name == "cut" && sandbox.read("old/cut").len() != 100_000),
            "{name}"
        );
        sandbox.remove("old");
    }
    let ran = sandbox.run(&["unpack", "-q", "--continue", "cut.tar", "new"]);
    assert!(ran.status == 3 && ran.stderr.contains("cut.tar"), "{ran:?}");
    assert_eq!(sandbox.names_in("new"), ["whole"]);
    sandbox.write("text.gz", "");
    shell(&sandbox, "printf 'no tar' | gzip -c > text.gz");
    sandbox.bad(1, &["unpack", "-q", "text.gz", "text"]);
    assert!(!sandbox.at("text").exists());
}

#[test]
fn the_tar_in_its_own_destination_is_not_replaced() {
    let sandbox = sandbox();
    sandbox.write_tar("out/x.tar", &[file("x.tar", "trap"), file("other", "x")]);
    let before = sandbox.read("out/x.tar");
    sandbox.bad(1, &["unpack", "-q", "-f", "out/x.tar", "out"]);
    assert!(sandbox.read("out/x.tar") == before);
}
