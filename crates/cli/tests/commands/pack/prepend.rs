//! `pack --prepend` writes the bytes of another file before the image.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use packline_testkit::mount::{self, LoopDevice};
use packline_testkit::{Sandbox, tools};

use crate::sandbox;
use crate::stack::support::shell;

/// A tree, and a program of an odd size.
fn tree() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("tree/a/f", "content ".repeat(100_000));
    sandbox.write("tree/tail", "tail");
    sandbox.write("runtime", [&b"\x7fELF\x02\x01\x01\0AI\x02"[..], &[7; 35_653]].concat());
    fs::set_permissions(sandbox.at("runtime"), fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.good(&["pack", "-q", "tree", "plain.sqfs"]);
    sandbox.good(&["pack", "-q", "tree", "plain.erofs"]);
    sandbox
}

fn mode(sandbox: &Sandbox, name: &str) -> u32 {
    fs::metadata(sandbox.at(name)).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_image_follows_the_file_without_padding() {
    let sandbox = tree();
    let runtime = sandbox.read("runtime");
    for (plain, name) in [("plain.sqfs", "i.sqfs"), ("plain.erofs", "i.erofs")] {
        for options in [&["-j0"][..], &["-j3", "--verify"]] {
            sandbox.good(&[&["pack", "-qf", "tree", name, "--prepend", "runtime"], options].concat());
            let bytes = sandbox.read(name);
            assert!(bytes.starts_with(&runtime) && bytes[runtime.len()..] == sandbox.read(plain), "{name} {options:?}");
        }
        assert!(sandbox.good(&["info", "--json", name]).text().contains(&format!("\"offset\":{}", runtime.len())));
        sandbox.good(&["verify", "-q", name]);
        sandbox.good(&["diff", name, "tree"]);
    }
    let ran = sandbox.shell("$P pack -q tree - --prepend runtime >out.sqfs && cmp out.sqfs i.sqfs");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    // A pipe gets the bytes too.
    assert_eq!(sandbox.shell("$P pack -q tree - --prepend runtime | cmp - i.sqfs").status, 0);
}

#[test]
fn keep_packs_an_appimage_again() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "My.AppImage", "--format", "squashfs", "-c", "gzip", "--prepend", "runtime"]);
    sandbox.good(&["pack", "-q", "My.AppImage", "New.AppImage", "--format", "squashfs", "--prepend", "keep"]);
    sandbox.good(&["pack", "-q", "tree", "expected", "--format", "squashfs", "--prepend", "runtime"]);
    assert!(sandbox.read("New.AppImage") == sandbox.read("expected"));
    assert_eq!(
        (mode(&sandbox, "New.AppImage") & 0o111, mode(&sandbox, "plain.sqfs") & 0o111),
        (mode(&sandbox, "New.AppImage") >> 2 & 0o111, 0)
    );
    // In place of itself, with its permissions.
    fs::set_permissions(sandbox.at("My.AppImage"), fs::Permissions::from_mode(0o700)).unwrap();
    let again = [
        "pack",
        "-qf",
        "My.AppImage",
        "My.AppImage",
        "--format",
        "squashfs",
        "--prepend",
        "keep",
        "--base",
        "New.AppImage",
    ];
    sandbox.good(&again);
    assert!(sandbox.read("My.AppImage") == sandbox.read("expected"));
    assert_eq!(mode(&sandbox, "My.AppImage"), 0o700);
    let message = sandbox.bad(2, &["pack", "plain.sqfs", "none.sqfs", "--prepend", "keep"]);
    assert!(message.contains("there is nothing before the image in plain.sqfs"), "{message}");
    let message = sandbox.bad(2, &["pack", "tree", "none.sqfs", "--prepend", "keep"]);
    assert!(message.contains("--prepend: keep works only with one SOURCE"), "{message}");
    assert!(!sandbox.names().contains(&"none.sqfs".to_string()));
}

#[test]
fn rejects_what_cannot_follow_other_bytes() {
    let sandbox = tree();
    for (options, what) in [
        (&["--prepend", "runtime", "--offset", "4096"][..], "cannot be used with"),
        (&["--prepend", "runtime", "--verity"], "--verity: cannot be used with --prepend"),
    ] {
        let message = sandbox.bad(2, &[&["pack", "tree", "none.sqfs"], options].concat());
        assert!(message.contains(what), "{options:?}: {message}");
    }
    let message = sandbox.bad(2, &["pack", "tree", "none.lrz", "--prepend", "runtime"]);
    assert!(message.contains("--prepend"), "{message}");
    assert!(sandbox.refused(&["pack", "tree", "none.sqfs", "--prepend", "missing"]).contains("missing: cannot open"));
    assert!(sandbox.refused(&["pack", "tree", "none.sqfs", "--prepend", "tree"]).contains("tree: is a directory"));
    assert!(!sandbox.names().iter().any(|name| name.starts_with("none")));
    if mount::loop_devices() {
        sandbox.write("disk", vec![0xaa; 4 << 20]);
        let device = LoopDevice::over(&sandbox.at("disk")).unwrap();
        let message = sandbox.refused(&["pack", "-qf", "tree", device.path(), "--prepend", "runtime"]);
        assert!(message.contains("a block device keeps the bytes before the image"), "{message}");
        drop(device);
        assert!(sandbox.read("disk") == vec![0xaa; 4 << 20]);
    }
}

#[test]
fn other_readers_find_the_image_after_a_script() {
    if !tools::need(&["unsquashfs"]) {
        return;
    }
    let sandbox = tree();
    shell(&sandbox, "printf '#!/bin/sh\\nexit 0\\n' >script && truncate -s %4096 script");
    sandbox.good(&["pack", "-q", "tree", "run.sqfs", "--prepend", "script"]);
    sandbox.peer("unsquashfs", &["-q", "-n", "-o", "4096", "-d", "peer", "run.sqfs"]);
    assert_eq!(sandbox.read("peer/a/f"), sandbox.read("tree/a/f"));
    assert_eq!(mode(&sandbox, "run.sqfs") & 0o111, 0);
}
