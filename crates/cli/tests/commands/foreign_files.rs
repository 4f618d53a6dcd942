//! Files that are neither an image nor a tar: each command names their format and writes nothing.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use packline_testkit::{Sandbox, tools};

use crate::sandbox;

/// Refuses the file `name` with each command that reads images or tars, from a file and from a pipe; `what` is in each message.
fn refused_everywhere(sandbox: &Sandbox, name: &str, what: &str) {
    let reading = [vec!["list", name], vec!["info", name], vec!["verify", name], vec!["cat", name, "x"]];
    let unpacking = [vec!["unpack", name, "none"], vec!["rdsquashfs", "-l", "/", name], vec!["sqfs2tar", name]];
    let packing = [vec!["pack", name, "none.sqfs"], vec!["pack", name, "none.lrz"]];
    for arguments in reading.iter().chain(&unpacking).chain(&packing) {
        let ran = sandbox.run(arguments);
        assert!(ran.status != 0 && ran.stderr.contains(what), "{arguments:?}: '{what}' is not in: {}", ran.stderr);
    }
    for arguments in
        ["list -", "verify -", "pack - none.sqfs", "pack - none.lrz", "tar2sqfs none.sqfs", "sqfstar none.sqfs"]
    {
        let ran = sandbox.shell(&format!("cat {name} | $P {arguments}"));
        assert!(ran.status != 0 && ran.stderr.contains(what), "{arguments}: '{what}' is not in: {}", ran.stderr);
    }
    assert!(!sandbox.names().iter().any(|found| found.starts_with("none")), "{name}: {:?}", sandbox.names());
}

#[test]
fn file_systems_are_named() {
    let sandbox = sandbox();
    sandbox.create_dir("tree/d");
    sandbox.write("tree/d/f", "content");
    for (program, script, what) in [
        ("mkfs.ext4", "truncate -s 4M f && mkfs.ext4 -q f", "an ext2, ext3 or ext4 image"),
        ("xorriso", "xorriso -as mkisofs -quiet -o f tree", "an ISO 9660 image"),
        ("mkfs.btrfs", "truncate -s 120M f && mkfs.btrfs -q f", "a btrfs image"),
    ] {
        if !tools::need(&[program]) {
            continue;
        }
        sandbox.remove("f");
        let ran = sandbox.shell(&format!("PATH=$PATH:/usr/sbin:/sbin; {script}"));
        assert_eq!(ran.status, 0, "{script}: {}", ran.stderr);
        refused_everywhere(&sandbox, "f", what);
    }
}

#[test]
fn archives_are_named() {
    let sandbox = sandbox();
    sandbox.create_dir("tree/d");
    sandbox.write("tree/d/f", "content");
    for (program, script, what) in [
        ("cpio", "cd tree && find . | cpio --quiet -o -H bin > ../f", "a cpio archive of the old binary form"),
        ("cpio", "(printf 070701; seq 100) > f", "a damaged cpio archive"),
    ] {
        if !tools::need(&[program]) {
            continue;
        }
        let ran = sandbox.shell(script);
        assert_eq!(ran.status, 0, "{script}: {}", ran.stderr);
        refused_everywhere(&sandbox, "f", what);
    }
}

/// A file of zeros with a magic number at an offset.
fn with_magic(sandbox: &Sandbox, at: u64, magic: &[u8]) {
    sandbox.remove("f");
    let file = File::create(sandbox.at("f")).unwrap();
    file.write_all_at(magic, at).unwrap();
    file.set_len(200_000).unwrap();
}

#[test]
fn formats_are_named_by_their_magic_numbers() {
    let sandbox = sandbox();
    for (at, magic, what) in [
        (0, &b"7z\xbc\xaf\x27\x1c\0\x04"[..], "a 7z archive"),
        (0, b"Rar!\x1a\x07\x01\0", "a rar archive"),
        (0, b"\x1f\x9d\x90", "a file compressed with compress (.Z)"),
        (0, b"\x89LZO\0\r\n\x1a\n", "a file compressed with lzop"),
        (0, b"QFI\xfb\0\0\0\x03", "a qcow2 disk image"),
        (512, b"EFI PART\0\0\x01\0", "a disk image with a GPT partition table"),
        (0, b"DWARFS\x02\x05", "a DwarFS image"),
    ] {
        with_magic(&sandbox, at, magic);
        refused_everywhere(&sandbox, "f", what);
    }
}

#[test]
fn the_program_of_an_appimage_with_dwarfs_is_named() {
    let sandbox = sandbox();
    let mut program = vec![0; 8192];
    program[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\0");
    program[0x28..0x2a].copy_from_slice(&4096u16.to_le_bytes());
    program[0x3a..0x3e].copy_from_slice(&[64, 0, 2, 0]);
    sandbox.write("f", [&program[..4096 + 128], b"DWARFS\x02\x05", &[7; 4096]].concat());
    for arguments in [["list", "f", "x"].as_slice(), &["pack", "f", "none.sqfs"], &["info", "f"]] {
        let message = sandbox.refused(arguments);
        assert!(message.contains("an AppImage or program with a DwarFS image"), "{message}");
    }
}

#[test]
fn zeros_are_an_empty_tar_and_nothing_else_after_them_is() {
    if !tools::need(&["tar"]) {
        return;
    }
    let sandbox = sandbox();
    for (script, count) in
        [("tar -cf f -T /dev/null", 10_240), ("truncate -s 1536 f", 1536), ("truncate -s 4M f", 4 << 20)]
    {
        sandbox.remove("f");
        assert_eq!(sandbox.shell(script).status, 0);
        assert!(sandbox.read("f") == vec![0; count], "{script}");
        fs::copy(sandbox.at("f"), sandbox.at("f.tar")).unwrap();
        for arguments in [
            "pack -q -f f.tar f.sqfs",
            "pack -q -f - f.sqfs < f",
            "tar2sqfs -q -f f.sqfs < f",
            "list f.tar",
            "list - < f",
            "info f.tar",
        ] {
            let ran = sandbox.shell(&format!("$P {arguments}"));
            assert!(ran.status == 0 && ran.stderr.is_empty(), "{script}, {arguments}: {}", ran.stderr);
        }
        assert_eq!(sandbox.good(&["list", "f.sqfs"]).text(), ".\n");
        // Without the name of a tar, zeros are the content of a file.
        sandbox.good(&["pack", "-q", "-f", "f", "f.sqfs"]);
        assert_eq!(sandbox.good(&["list", "f.sqfs"]).text(), ".\nf\n");
        sandbox.remove("f.sqfs");
    }
    with_magic(&sandbox, 150_000, b"unknown");
    fs::copy(sandbox.at("f"), sandbox.at("f.tar")).unwrap();
    for arguments in [
        "pack f.tar none.sqfs",
        "pack - none.sqfs < f",
        "tar2sqfs none.sqfs < f",
        "list f.tar",
        "list - < f",
        "info f.tar",
    ] {
        let ran = sandbox.shell(&format!("$P {arguments}"));
        let what = "other bytes after zeros: not an empty tar at byte 150000";
        assert!(ran.status != 0 && ran.stderr.contains(what), "{arguments}: {}", ran.stderr);
    }
    assert!(!sandbox.names().contains(&"none.sqfs".to_string()));
}
