//! SquashFS images of versions before 4.0 and in big-endian order: all commands that read images, and the refusals of those that cannot.

use std::fs;
use std::path::{Path, PathBuf};

use packline_testkit::snapshot::{self, Except};
use packline_testkit::{Sandbox, mount, tools};

use crate::sandbox;

/// The images of the reader's tests.
fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../squashfs/tests/old")
}

/// The names of the images of the larger tree.
fn names() -> Vec<String> {
    let entries = fs::read_dir(directory()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".sqfs") && !name.starts_with("tiny"));
    names.sort();
    assert!(names.len() > 10, "{names:?}");
    names
}

fn with_image(name: &str) -> Sandbox {
    let sandbox = sandbox();
    fs::copy(directory().join(name), sandbox.at("old")).unwrap();
    sandbox
}

/// Line `Format:` of `info`.
fn format_of(sandbox: &Sandbox, image: &str) -> String {
    let info = sandbox.good(&["info", image]).text();
    info.lines().next().unwrap().trim_start_matches("Format:").trim().to_string()
}

#[test]
fn every_command_reads_them_and_pack_makes_a_current_image() {
    for name in names() {
        let sandbox = with_image(&name);
        let version = name.split('-').next().unwrap();
        let format = format_of(&sandbox, "old");
        assert!(format.starts_with(&format!("SquashFS {version}")), "{name}: {format}");
        assert_eq!(format.contains("big-endian"), name.contains("-be") || name.contains("markers"), "{name}: {format}");
        let numbers: String = (1..=2600).map(|number| format!("{number}\n")).collect();
        assert_eq!(sandbox.good(&["cat", "old", "etc/numbers"]).text(), numbers, "{name}");
        sandbox.good(&["verify", "-q", "old"]);
        sandbox.good(&["pack", "-q", "old", "new.sqfs", "-b", "4K"]);
        assert_eq!(format_of(&sandbox, "new.sqfs"), "SquashFS 4.0, at byte 0 of the file", "{name}");
        sandbox.good(&["verify", "-q", "new.sqfs"]);
        sandbox.good(&["diff", "old", "new.sqfs"]);
        let paths = |image| sandbox.good(&["list", image]).text();
        assert_eq!(paths("old"), paths("new.sqfs"), "{name}");
        sandbox.good(&["unpack", "-q", "old", "old.tar"]);
        sandbox.good(&["pack", "-q", "old.tar", "again.sqfs", "-b", "4K"]);
        // A tar has no sockets.
        let without_socket: String =
            paths("old").lines().filter(|path| !path.contains("dev/sock")).map(|path| format!("{path}\n")).collect();
        assert_eq!(paths("again.sqfs"), without_socket, "{name}");
        sandbox.good(&["pack", "-q", "old", "new.erofs"]);
        sandbox.good(&["diff", "old", "new.erofs"]);
    }
}

#[test]
fn unpacked_trees_are_those_of_unsquashfs() {
    if !tools::need(&["unsquashfs"]) || !tools::root() {
        return;
    }
    for name in names().iter().filter(|name| !name.starts_with('4') && !name.contains("lzma")) {
        let sandbox = with_image(name);
        sandbox.good(&["unpack", "-q", "old", "ours"]);
        sandbox.peer("unsquashfs", &["-no-progress", "-d", "theirs", "old"]);
        snapshot::assert_same(name, &sandbox.snapshot("theirs"), &sandbox.snapshot("ours"), Except::default());
        let [ours, theirs] = [sandbox.good(&["unsquashfs", "-s", "old"]), sandbox.peer("unsquashfs", &["-s", "old"])];
        assert_eq!(ours.text(), theirs.text(), "{name}");
    }
}

#[test]
fn mounted_trees_are_the_unpacked_ones() {
    if !mount::fuse_available() || !tools::root() {
        return;
    }
    for name in ["1.0-be.sqfs", "2.1-be.sqfs", "3.1-le.sqfs", "4.0-be.sqfs"] {
        let sandbox = with_image(name);
        sandbox.create_dir("on");
        sandbox.good(&["unpack", "-q", "old", "tree"]);
        sandbox.good(&["mount", "old", "on"]);
        let mounted = sandbox.snapshot("on");
        sandbox.good(&["umount", "on"]);
        snapshot::assert_same(name, &sandbox.snapshot("tree"), &mounted, Except::default());
    }
}

#[test]
fn what_needs_the_current_format_is_refused_by_name() {
    let sandbox = with_image("3.1-be.sqfs");
    sandbox.write("file", "content");
    let refused = sandbox.refused(&["pack", "file", "new.sqfs", "-c", "gzip", "--base", "old"]);
    let base = "old: is SquashFS 3.1, big-endian; pack it to an image of version 4.0 first, or use no base";
    assert!(refused.contains(base), "{refused}");
    let before = sandbox.read("old");
    let refused = sandbox.bad(1, &["mksquashfs", "file", "old"]);
    assert!(refused.contains("old: SquashFS 3.1, big-endian is not appended to; -noappend replaces it"), "{refused}");
    assert_eq!(sandbox.read("old"), before);
    let refused = sandbox.bad(1, &["rdsquashfs", "-s", "etc/motd", "old"]);
    assert!(refused.contains("fields of inodes of SquashFS 3.1, big-endian (expected SquashFS 4.0)"), "{refused}");
    // A delta compares the bytes of the files.
    sandbox.good(&["pack", "-q", "old", "new.sqfs"]);
    sandbox.good(&["delta", "-q", "old", "new.sqfs", "change.pld"]);
    sandbox.good(&["patch", "-q", "old", "change.pld", "patched"]);
    assert_eq!(sandbox.read("patched"), sandbox.read("new.sqfs"));
}

#[test]
fn damage_is_reported_with_its_place() {
    let sandbox = with_image("2.1-be.sqfs");
    let mut image = sandbox.read("old");
    image[200] ^= 0xff;
    sandbox.damage("old", &image);
    let ran = sandbox.run(&["verify", "old"]);
    assert!(ran.status == 1 && ran.text().contains(" at byte "), "{ran:?}");
    sandbox.write("short", &image[..5000]);
    let refused = sandbox.bad(1, &["list", "short"]);
    assert!(refused.contains("the image is cut off: 5000 of "), "{refused}");
    sandbox.write("later", [&b"sqsh\0\0\0\x01"[..], &[0; 20], b"\0\x05\0\0", &[0; 200]].concat());
    let refused = sandbox.bad(1, &["list", "later"]);
    let expected = "SquashFS version 5.0 (expected version 1.0, 2.0, 2.1, 3.0, 3.1 or 4.0)";
    assert!(refused.contains(expected), "{refused}");
}
