//! Owners, labels and capabilities of `packline pack` without root.

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::mount::{Mounted, kernel_mounts};
use packline_testkit::{Ran, Sandbox, snapshot, tools};
use serde_json::Value;

use crate::{PACKLINE, sandbox};

/// Version 2 of `struct vfs_cap_data`: CAP_NET_RAW, effective and permitted.
const CAPABILITY: [u8; 20] = [1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Packs `tree.tar`; each entry as `PATH UID:GID NAME=VALUE...`.
fn packed(sandbox: &Sandbox, options: &[&str]) -> Vec<String> {
    sandbox.good(&[&["pack", "-qf", "tree.tar", "i.sqfs"], options].concat());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let entry = |line: &str| {
        let entry: Value = serde_json::from_str(line).unwrap();
        let owners = format!("{} {}:{}", text(&entry["path"]), entry["uid"], entry["gid"]);
        let xattrs = entry["xattrs"].as_array().into_iter().flatten();
        xattrs.fold(owners, |all, xattr| format!("{all} {}={}", text(&xattr["name"]), text(&xattr["value"])))
    };
    sandbox.good(&["list", "--json", "i.sqfs"]).text().lines().map(entry).collect()
}

fn with_tar(nodes: &[Node]) -> Sandbox {
    let sandbox = sandbox();
    sandbox.write_tar("tree.tar", nodes);
    sandbox
}

#[test]
fn owners_of_rootless_containers_become_those_of_entries() {
    const XATTR: &str = "user.rootlesscontainers";
    let sandbox = with_tar(&[
        Node::dir("").xattr(XATTR, *b""),
        Node::file("a", "a").owner(5, 6).xattr(XATTR, *b"\x08\xe8\x07\x10\x32").xattr("user.k", *b"v"),
        Node::new("again", NodeKind::HardLink(b"a".to_vec())).owner(5, 6),
        Node::file("group", "b").owner(5, 6).xattr(XATTR, *b"\x08\xff\xff\xff\xff\x0f\x10\x07"),
        Node::file("none", "c").owner(5, 6),
    ]);
    let mapped = packed(&sandbox, &["--rootless-owners", "--owner-map", "u:5:55,1000:1"]);
    assert_eq!(mapped, [". 0:0", "a 1:50 user.k=v", "again 1:50 user.k=v", "group 55:7", "none 55:6"]);
    let forced = packed(&sandbox, &["--rootless-owners", "--uid=9", "--owner-map=7:8"]);
    assert_eq!(forced, [". 9:0", "a 9:50 user.k=v", "again 9:50 user.k=v", "group 9:8", "none 9:6"]);
    assert!(packed(&sandbox, &[])[1].contains(XATTR));
    let other = with_tar(&[Node::file("bad", "x").xattr(XATTR, *b"\x08")]);
    let line = other.bad(1, &["pack", "tree.tar", "i.sqfs", "--rootless-owners"]);
    let expected =
        "user.rootlesscontainers: bad: \\x08 is not a message with owners (expected fields 1 (user) and 2 (group)";
    assert!(line.contains(expected), "{line}");
    assert_eq!(other.names(), ["tree.tar"]);
}

#[test]
fn numbers_of_owners_are_mapped() {
    let sandbox = with_tar(&[
        Node::dir(""),
        Node::file("a", "a").owner(1000, 1000),
        Node::file("b", "b").owner(100_007, 100_008),
        Node::file("c", "c").owner(u32::MAX, 1),
    ]);
    sandbox.write("map", "# of a user namespace\n\n100000-165535:0\nu:1000:65535\n  g:1000:1000000 \n");
    let expected = [". 0:0", "a 65535:1000000", "b 7:8", "c 4294967295:1"];
    assert_eq!(packed(&sandbox, &["--owner-map=map"]), expected);
    assert_eq!(packed(&sandbox, &["--owner-map=100000-165535:0,u:1000:65535", "--owner-map=g:1000:1000000"]), expected);
    sandbox.write("wrong", "1:2\nu:1:3\n");
    for (given, status, part) in [
        ("u:1", 2, "--owner-map: 'u:1': not a rule of owners (expected [u:|g:]FIRST[-LAST]:TO)"),
        ("5-9:1,7:2", 2, "--owner-map: '7:2': an earlier rule has some of these numbers"),
        ("-", 2, "--owner-map: rules are not read from standard input"),
        ("wrong", 1, "wrong: line 2: 'u:1:3': an earlier rule has some of these numbers"),
        ("./u:1:2", 1, "./u:1:2: cannot read"),
    ] {
        let line = sandbox.bad(status, &["pack", "tree.tar", "none.sqfs", "--owner-map", given]);
        assert!(line.contains(part), "{given}: {line}");
    }
    let line = sandbox.bad(2, &["pack", "tree.tar", "none.lrz", "--owner-map=1:2"]);
    assert!(line.contains("--owner-map: not supported for .lrz output"), "{line}");
    assert!(!sandbox.at("none.sqfs").exists());
}

#[test]
fn labels_are_those_of_the_file_contexts() {
    let sandbox = with_tar(&[
        Node::dir(""),
        Node::dir("bin"),
        Node::file("bin/a", "a").xattr("security.selinux", *b"old").xattr("user.k", *b"v"),
        Node::new("bin/b", NodeKind::HardLink(b"bin/a".to_vec())),
        Node::new("bin/l", NodeKind::Symlink(b"a".to_vec())),
        Node::new("null", NodeKind::CharDevice(1, 3)),
        Node::file("tmp", "t").xattr("security.selinux", *b"own"),
    ]);
    let policy = "# comment\n/.* all\n/ -d root\n/bin(/.*)? bin\n/bin/a exact\n/bin/.* -- late\n/bin/l -l link\n/n.* -c device\n/tmp <<none>>\n";
    sandbox.write("contexts", policy);
    let label = "security.selinux";
    let expected = [
        format!(". 0:0 {label}=root"),
        format!("bin 0:0 {label}=bin"),
        format!("bin/a 0:0 {label}=exact user.k=v"),
        format!("bin/b 0:0 {label}=exact user.k=v"),
        format!("bin/l 0:0 {label}=link"),
        format!("null 0:0 {label}=device"),
        format!("tmp 0:0 {label}=own"),
    ];
    let sorted = |mut lines: Vec<String>| {
        for line in &mut lines {
            let mut words: Vec<&str> = line.split(' ').collect();
            words[2..].sort_unstable();
            *line = words.join(" ");
        }
        lines
    };
    assert_eq!(sorted(packed(&sandbox, &["--file-contexts=contexts"])), expected);
    // Attributes of the source can be left out first.
    let clean = packed(&sandbox, &["--file-contexts=contexts", "--xattrs-exclude=security.*", "--xattrs-exclude=*.k"]);
    assert_eq!((&*clean[2], &*clean[6]), ("bin/a 0:0 security.selinux=exact", "tmp 0:0"));
    let kept = packed(&sandbox, &["--xattrs-include=user.*", "--xattrs-include=*.other"]);
    assert_eq!((&*kept[2], &*kept[6]), ("bin/a 0:0 user.k=v", "tmp 0:0"));
    sandbox.write("contexts", "/a\n");
    let line = sandbox.bad(1, &["pack", "tree.tar", "none.sqfs", "--file-contexts=contexts"]);
    assert!(line.contains("contexts: line 1: '/a' has no context (expected pathname [type] context)"), "{line}");
    for option in ["--file-contexts=contexts", "--rootless-owners", "--xattrs-include=a", "--xattrs-exclude=a"] {
        let line = sandbox.bad(2, &["pack", "tree.tar", "none.sqfs", "--no-xattrs", option]);
        assert!(line.contains("--no-xattrs"), "{option}: {line}");
    }
}

/// The kernel grants what is in the image, although the user who packed it could not set it on a file.
#[test]
fn capabilities_are_packed_without_root() {
    if !tools::need(&["setpriv", "chmod"]) || !kernel_mounts("gzip") {
        return;
    }
    let sandbox =
        with_tar(&[Node::dir(""), Node::file("ping", "x").mode(0o755).xattr("security.capability", CAPABILITY)]);
    sandbox.peer("chmod", &["777", "."]);
    sandbox.write("content", "x");
    let digits: String = CAPABILITY.iter().map(|byte| format!("{byte:02x}")).collect();
    let definitions = format!("/ d 755 0 0\nping l content\nping x security.capability=0x{digits}\n");
    sandbox.write("definitions", definitions);
    for (image, source) in [("tar.sqfs", &["tree.tar"][..]), ("definitions.sqfs", &["--manifest", "definitions"])] {
        let user = ["--reuid=12345", "--regid=12345", "--clear-groups", PACKLINE, "pack", "-q", "-cgzip"];
        Ran::good(&mut sandbox.program("setpriv", &[&user[..], source, &[image]].concat()));
        let mounted = Mounted::kernel(&sandbox.at(image)).unwrap();
        let found = snapshot::of_directory(mounted.path()).unwrap();
        let xattrs = &found[&b"ping"[..]].xattrs;
        assert_eq!(xattrs.get(&b"security.capability"[..]), Some(&CAPABILITY.to_vec()), "{image}");
    }
}
