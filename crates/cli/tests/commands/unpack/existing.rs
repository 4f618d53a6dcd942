//! Unpacks into existing directories: read-only ones, directories of other users, and places without hard links.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::{Ran, Sandbox, mount, tools};

use crate::{PACKLINE, sandbox};

/// A user without privileges.
const USER: u32 = 12_345;

/// Every command that unpacks to an existing `out`.
const COMMANDS: [&str; 5] = [
    "$P unpack -q -f image.sqfs out",
    "$P unpack -q -f --dedupe hardlink image.sqfs out",
    "$P unsquashfs -q -n -f -d out image.sqfs",
    "$P rdsquashfs -q -C -T -u / -p out image.sqfs",
    "$P unpack -q -f image.lrz out",
];

/// A sandbox that everybody may write to, with `nodes` as `image.sqfs` and `image.lrz`.
fn with_images(nodes: &[Node]) -> Sandbox {
    let sandbox = sandbox();
    sandbox.write_tar("source.tar", nodes);
    sandbox.good(&["pack", "-q", "source.tar", "image.sqfs"]);
    sandbox.good(&["pack", "-q", "source.tar", "image.lrz"]);
    fs::set_permissions(sandbox.path(), Permissions::from_mode(0o777)).unwrap();
    sandbox
}

/// A shell that runs a script as a user without privileges.
fn as_user(sandbox: &Sandbox, script: &str) -> Command {
    let uid = format!("--reuid={USER}");
    let gid = format!("--regid={USER}");
    let mut command = if rustix::process::geteuid().is_root() {
        sandbox.program("setpriv", &[&*uid, &gid, "--clear-groups", "sh", "-e", "-c", script])
    } else {
        sandbox.program("sh", &["-e", "-c", script])
    };
    command.env("P", PACKLINE);
    command
}

fn mode(sandbox: &Sandbox, path: &str) -> u32 {
    fs::symlink_metadata(sandbox.at(path)).unwrap().mode() & 0o7777
}

fn link(path: &str, target: &str) -> Node {
    Node::new(path, NodeKind::HardLink(target.into()))
}

#[test]
fn read_only_directories_are_filled_again_without_root() {
    if !tools::need(&["setpriv"]) {
        return;
    }
    let nodes = [
        Node::dir("").mode(0o555),
        Node::dir("closed").mode(0),
        Node::file("closed/file", "closed").mode(0),
        Node::dir("read-only").mode(0o555),
        Node::dir("read-only/below").mode(0o500),
        Node::file("read-only/below/file", "below").mode(0o400),
        link("read-only/link", "read-only/below/file"),
        Node::file("top", "top"),
    ];
    let sandbox = with_images(&nodes);
    for command in COMMANDS {
        for round in ["new", "again"] {
            Ran::good(&mut as_user(&sandbox, command));
            let modes = ["out", "out/closed", "out/read-only"].map(|path| mode(&sandbox, path));
            // rdsquashfs leaves the destination itself alone.
            let root = if command.contains("rdsquashfs") { modes[0] } else { 0o555 };
            assert_eq!(modes, [root, 0, 0o555], "{command}: {round}");
        }
        let compare = "chmod -R u+rwx out; cat out/closed/file out/read-only/link out/top";
        assert_eq!(Ran::good(&mut as_user(&sandbox, compare)).text(), "closedbelowtop", "{command}");
        sandbox.remove("out");
    }
}

#[test]
fn directories_get_their_modes_again_after_an_error() {
    if !tools::need(&["setpriv"]) {
        return;
    }
    let nodes = [Node::dir("").mode(0o755), Node::dir("a").mode(0o700), Node::file("a/x", "x"), Node::file("z", "z")];
    let sandbox = with_images(&nodes);
    for command in COMMANDS {
        // A directory with entries in the way of a file is an error.
        Ran::good(&mut as_user(&sandbox, "mkdir -p out/a out/z/full; chmod 555 out/a; chmod 500 out"));
        let failed = Ran::of(&mut as_user(&sandbox, command));
        assert_ne!(failed.status, 0, "{command}: {failed:?}");
        if !command.contains("unsquashfs") {
            assert_eq!(mode(&sandbox, "out/a"), 0o555, "{command}");
        }
        assert_eq!(mode(&sandbox, "out"), 0o500, "{command}");
        let names = Ran::good(&mut as_user(&sandbox, "ls -A out")).text();
        assert!(!names.contains("partial"), "{command}: {names}");
        Ran::good(&mut as_user(&sandbox, "chmod -R u+rwx out; rm -r out"));
    }
}

/// An entry of a tar replaces an empty directory where permissions must be extended first.
#[test]
fn entries_of_a_tar_replace_empty_directories_in_read_only_ones() {
    if !tools::need(&["setpriv"]) {
        return;
    }
    let nodes = [Node::file("d/file", "new").mode(0o644), Node::new("d/link", NodeKind::Symlink(b"file".to_vec()))];
    let sandbox = with_images(&nodes);
    // Each entry is the first one in the directory, so that it finds the directory without the right to write.
    for name in ["file", "link"] {
        let make = format!("mkdir -p out/d/{name}; chmod 555 out/d");
        Ran::good(&mut as_user(&sandbox, &make));
        let one = format!("$P unpack -q -f --no-owner source.tar out d/{name}");
        Ran::good(&mut as_user(&sandbox, &one));
        let compare = format!("test -L out/d/{name} || test $(cat out/d/{name}) = new; ls -A out out/d");
        let names = Ran::good(&mut as_user(&sandbox, &compare)).text();
        assert!(!names.contains("partial"), "{name}: {names}");
        assert_eq!(mode(&sandbox, "out/d"), 0o555, "{name}");
        Ran::good(&mut as_user(&sandbox, "chmod -R u+rwx out; rm -r out"));
    }
}

/// For unsquashfs: <https://github.com/plougher/squashfs-tools/issues/385>.
#[test]
fn destination_of_another_user_keeps_its_mode_with_a_warning() {
    if !tools::need(&["setpriv"]) || !tools::root() {
        return;
    }
    let nodes = [Node::dir("").mode(0o755), Node::dir("d").mode(0o555), Node::file("d/f", "f").mode(0o644)];
    let sandbox = with_images(&nodes);
    for command in COMMANDS {
        sandbox.create_dir("out");
        fs::set_permissions(sandbox.at("out"), Permissions::from_mode(0o777)).unwrap();
        let warned = Ran::good(&mut as_user(&sandbox, command)).stderr;
        let expected = if command.contains("rdsquashfs") { 0 } else { 1 };
        assert_eq!(warned.lines().count(), expected, "{command}: {warned}");
        assert!(
            expected == 0 || warned.contains("out: ") && warned.contains("its attributes are unchanged"),
            "{warned}"
        );
        assert_eq!((mode(&sandbox, "out"), mode(&sandbox, "out/d")), (0o777, 0o555), "{command}");
        assert_eq!(sandbox.read_text("out/d/f"), "f", "{command}");
        sandbox.remove("out");
    }
}

/// Files and a symbolic link with names in two directories.
fn linked() -> Vec<Node> {
    let big: Vec<u8> = (0..100_000u32).flat_map(u32::to_be_bytes).collect();
    let file = |path: &str, bytes: Vec<u8>| Node::file(path, bytes).mode(0o640).owner(7, 8).time(1_000);
    vec![
        Node::dir("").mode(0o755),
        Node::dir("a").mode(0o755),
        file("a/big", big.clone()).xattr("user.k", *b"v"),
        file("a/empty", Vec::new()),
        file("a/file", b"file".to_vec()),
        Node::new("a/sym", NodeKind::Symlink(b"nowhere".to_vec())),
        link("a/twin", "a/file"),
        Node::dir("b").mode(0o755),
        link("b/big", "a/big"),
        link("b/big-again", "a/big"),
        link("b/empty", "a/empty"),
        file("b/equal", big),
        link("b/file", "a/file"),
        link("b/sym", "a/sym"),
    ]
}

/// For unsquashfs, over mounted directories: <https://github.com/plougher/squashfs-tools/issues/258>.
#[test]
fn copies_are_written_where_a_hard_link_is_not_possible() {
    if !tools::need(&["stat", "cmp"]) || !mount::namespaces() {
        return;
    }
    let sandbox = with_images(&linked());
    // On a directory of the destination another file system is mounted, or another directory of the same: no link from one to the other is
    // possible, and no file can be moved there.
    let mounts = ["mount -t tmpfs none out/b", "mkdir -p other; mount --bind other out/b"];
    for (command, mount) in COMMANDS.iter().flat_map(|command| mounts.map(|mount| (*command, mount))) {
        let script = format!(
            "mkdir -p out/b; {mount}
            {command} >log 2>err
            for name in big empty file; do
                cmp out/a/$name out/b/$name
                test \"$(stat -c '%F %a %Y %s' out/a/$name)\" = \"$(stat -c '%F %a %Y %s' out/b/$name)\"
            done
            cmp out/a/big out/b/big-again
            test \"$(readlink out/a/sym) $(readlink out/b/sym)\" = 'nowhere nowhere'
            test \"$(stat -c %h out/a/file)\" = 2; ls -A out out/b"
        );
        let mut run = sandbox.program("unshare", &["-m", "sh", "-e", "-c", &script]);
        let names = Ran::good(run.env("P", PACKLINE)).text();
        assert!(!names.contains("partial"), "{command}: {names}");
        let warned = sandbox.read_text("err");
        assert_eq!(warned.lines().count(), 1, "{command}: {warned}");
        assert!(
            warned.contains("cannot be a hard link") && warned.contains("copies are written"),
            "{command}: {warned}"
        );
        ["out", "other"].iter().for_each(|name| sandbox.remove(name));
    }
}

/// A copy gets its name when it is complete, as other entries.
#[test]
fn a_copy_in_place_of_a_hard_link_replaces_an_entry_of_any_kind() {
    if !mount::namespaces() {
        return;
    }
    let mut nodes = vec![Node::dir("b").mode(0o755), Node::file("b/file", "content").mode(0o640)];
    nodes.push(Node::new("b/sym", NodeKind::Symlink(b"nowhere".to_vec())));
    nodes.extend(["a", "d", "l"].map(|name| link(name, "b/file")));
    nodes.push(link("s", "b/sym"));
    let sandbox = with_images(&nodes);
    // From a mounted directory no hard link is possible, and the copies replace a file, an empty directory and links.
    let script = "mkdir -p out/b out/d; mount -t tmpfs none out/b; echo old > out/a; echo mine > mine; ln -s ../mine out/l; ln -s ../mine out/s
        $P unpack -q -f source.tar out 2> err
        for name in a d l; do cmp out/b/file out/$name; test \"$(stat -c '%F %a %h' out/$name)\" = 'regular file 640 1'; done
        test \"$(readlink out/s) $(cat mine)\" = 'nowhere mine'; ls -A out out/b
        rm -r out/d; mkdir -p out/d/full; ! $P unpack -q -f source.tar out 2> full; ls -A out/d out";
    let mut run = sandbox.program("unshare", &["-m", "sh", "-e", "-c", script]);
    let names = Ran::good(run.env("P", PACKLINE)).text();
    assert!(!names.contains("partial") && names.contains("full"), "{names}");
    assert_eq!(sandbox.read_text("err").lines().count(), 1, "{}", sandbox.read_text("err"));
    assert!(sandbox.read_text("full").contains("out/d: cannot remove: "), "{}", sandbox.read_text("full"));
}

#[test]
fn copies_of_hard_links_are_counted() {
    if !mount::namespaces() {
        return;
    }
    let sandbox = with_images(&linked());
    for (image, copies) in [("image.sqfs", 5), ("image.lrz", 5)] {
        let script = format!("mkdir -p out/b; mount -t tmpfs none out/b; $P unpack --json -f {image} out");
        let mut run = sandbox.program("unshare", &["-m", "sh", "-e", "-c", &script]);
        let object: serde_json::Value = serde_json::from_str(&Ran::good(run.env("P", PACKLINE)).text()).unwrap();
        assert_eq!(object["hard_links_copied"], copies, "{image}: {object}");
        sandbox.remove("out");
    }
}

/// ext4 gives a file up to 65,000 names; file systems without a limit have one file here.
#[test]
fn names_beyond_the_limit_of_the_file_system_are_a_second_file() {
    let names = 65_020;
    let mut nodes = vec![Node::dir("").mode(0o755), Node::file("f", "content")];
    nodes.extend((1..names).map(|number| link(&format!("n{number:05}"), "f")));
    let sandbox = with_images(&nodes);
    for image in ["image.sqfs", "image.lrz"] {
        let ran = sandbox.good(&["unpack", "-q", image, "out"]);
        let found: Vec<(u64, u64)> = fs::read_dir(sandbox.at("out"))
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap())
            .map(|status| (status.ino(), status.len()))
            .collect();
        assert!(found.len() == names && found.iter().all(|&(_, length)| length == 7), "{image}");
        let mut inodes: Vec<u64> = found.into_iter().map(|(inode, _)| inode).collect();
        inodes.sort_unstable();
        inodes.dedup();
        let limited = ran.stderr.contains("cannot be a hard link");
        let expected = if image.ends_with("sqfs") { 1..=2 } else { 1..=21 };
        assert!(
            expected.contains(&inodes.len()) && limited == (inodes.len() > 1),
            "{image}: {inodes:?} {}",
            ran.stderr
        );
        sandbox.remove("out");
    }
}
