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

/// As in `pack` and GNU tar: layers of systems whose `lib` is a link to `usr/lib` have such entries.
#[test]
fn entries_below_a_link_of_the_tar_follow_it_within_the_destination() {
    let directory = |path: &str| node(path, NodeKind::Dir);
    let cases = [
        ("a relative link", vec![symbolic("l", "usr/lib")], "usr/lib"),
        ("an absolute link", vec![symbolic("l", "/usr/lib")], "usr/lib"),
        ("a link out of the destination", vec![symbolic("l", "../../usr/lib")], "usr/lib"),
        ("a chain", vec![symbolic("l", "m"), symbolic("m", "n/lib"), symbolic("n", "/usr")], "usr/lib"),
        ("a link to the root", vec![symbolic("l", "/")], "."),
        ("a link upwards", vec![symbolic("l", "..")], "."),
        ("a hard link to a link", vec![symbolic("m", "usr/lib"), linked("l", "m")], "usr/lib"),
    ];
    for (what, links, place) in cases {
        let sandbox = with_outside();
        let mut nodes = vec![directory("usr"), directory("usr/lib").mode(0o711), file("usr/lib/first", "first")];
        nodes.extend(links);
        let below = [
            file("l/x", "x"),
            directory("l/d").mode(0o750).time(1_000),
            file("l/d/y", "y"),
            file("l/new/z", "z"),
            linked("l/again", "l/x"),
            linked("twin", "l/d/y"),
        ];
        nodes.extend(below);
        sandbox.write_tar("x.tar", &nodes);
        sandbox.good(&["pack", "-q", "x.tar", "x.sqfs"]);
        sandbox.good(&["unpack", "-q", "x.sqfs", "expected"]);
        sandbox.create_dir("old");
        for into in ["new", "old"] {
            sandbox.good(&["unpack", "-qf", "x.tar", into]);
            assert_untouched(&sandbox, what);
            assert_eq!(sandbox.read_text(format!("{into}/{place}/x")), "x", "{what}");
            let script = "diff -r --no-dereference expected $1
                for name in x d; do test \"$(stat -c '%h %a' $1/$2/$name)\" = \"$(stat -c '%h %a' expected/$2/$name)\"; done
                test \"$(stat -c %a $1/usr/lib)\" = 711 && test $(stat -c %Y $1/$2/d) = 1000 && test $1/twin -ef $1/$2/d/y";
            shell(&sandbox, &format!("set -- {into} {place}; {script}"));
        }
        if what == "a relative link" {
            shell(&sandbox, "mkdir tar && tar -C tar -xf x.tar && diff -r --no-dereference tar new");
        }
    }
}

#[test]
fn links_that_lead_nowhere_or_that_the_tar_did_not_make_are_not_followed() {
    let cases = [
        (vec![symbolic("l", "none"), file("l/x", "x")], "leads to a path that does not exist"),
        (vec![symbolic("l", "m"), symbolic("m", "l"), file("l/x", "x")], "through too many symbolic links"),
        (vec![file("f", "x"), symbolic("l", "f"), file("l/x", "x")], "is a file, or a symbolic link that the"),
        (vec![file("mine/x", "x")], "is a file, or a symbolic link that the archive did not make"),
        (vec![symbolic("l", "mine"), file("l/x", "x")], "is a file, or a symbolic link that the archive did not make"),
        (vec![symbolic("l", ".packline-partial"), file("l/x", "x")], "this name is needed while files are written"),
    ];
    for (nodes, expected) in cases {
        let sandbox = with_outside();
        sandbox.create_dir("old/d");
        symlink("d", sandbox.at("old/mine")).unwrap();
        sandbox.write_tar("x.tar", &nodes);
        let message = sandbox.bad(1, &["unpack", "-qf", "x.tar", "old"]);
        assert!(message.contains(expected), "{expected}: {message}");
        assert!(sandbox.names_in("old/d").is_empty(), "{expected}");
        assert_untouched(&sandbox, expected);
    }
    // A link of the tar in place of an earlier one is followed, and a directory that replaces it is not the link.
    let sandbox = with_outside();
    sandbox.create_dir("old/d");
    symlink("d", sandbox.at("old/mine")).unwrap();
    let nodes = [
        node("e", NodeKind::Dir),
        symbolic("mine", "e"),
        file("mine/x", "x"),
        node("mine", NodeKind::Dir),
        file("mine/y", "y"),
    ];
    sandbox.write_tar("x.tar", &nodes);
    sandbox.good(&["unpack", "-qf", "x.tar", "old"]);
    assert_eq!(sandbox.names_in("old/e"), ["x"]);
    assert_eq!(sandbox.names_in("old/mine"), ["y"]);
    assert!(sandbox.names_in("old/d").is_empty());
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
