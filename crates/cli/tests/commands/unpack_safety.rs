//! What unpacking does not do: follow what was planted, leave halves, lose errors.

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::packer::{Packer, left_in};
use packline_testkit::snapshot::{self, Except, assert_same};
use packline_testkit::{generate, signal, tar, tools};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");

fn image_of(directory: &Path, nodes: &[Node]) -> PathBuf {
    let (archive, image) = (directory.join("source.tar"), directory.join("image.sqfs"));
    fs::write(&archive, tar::to_bytes(nodes)).unwrap();
    Packer::new(PACKLINE).pack(&archive, &image, &["-f", "-b", "4K", "-c", "lz4"]);
    image
}

fn unpack(image: &Path, destination: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(PACKLINE);
    command.args(["unpack", "-q", "-j", "2"]).args(options).arg(image).arg(destination).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn sample() -> Vec<Node> {
    let bytes: Vec<u8> = (0..40_000u32).flat_map(|number| number.to_be_bytes()).collect();
    vec![
        Node::dir("").mode(0o755),
        Node::dir("dir"),
        Node::file("dir/big", bytes),
        Node::file("dir/empty", ""),
        Node::file("dir/small", "small"),
        Node::new("dir/zlink", NodeKind::HardLink(b"dir/small".to_vec())),
        Node::new("fifo", NodeKind::Fifo),
        Node::new("sym", NodeKind::Symlink(b"dir".to_vec())),
    ]
}

#[test]
fn a_destination_that_is_not_empty_is_refused() {
    let top = tempfile::tempdir().unwrap();
    let image = image_of(top.path(), &sample());
    let into = top.path().join("out");
    fs::create_dir(&into).unwrap();
    fs::write(into.join("mine"), "mine").unwrap();
    let refused = unpack(&image, &into, &[]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("is not empty") && said(&refused).contains("--force"), "{}", said(&refused));
    assert_eq!(left_in(&into).len(), 1);
    let file = unpack(&image, &into.join("mine"), &["--force"]);
    assert!(file.status.code() == Some(1) && said(&file).contains("is not a directory"), "{}", said(&file));
}

/// Puts traps into a destination; the second path is what they lead to.
type Plant = fn(&Path, &Path);

#[test]
fn nothing_planted_is_followed() {
    if !tools::root() {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let image = image_of(top.path(), &sample());
    let outside = top.path().join("outside");
    let plants: [(&str, Plant); 9] = [
        ("a link where a directory belongs", |into, outside| symlink(outside, into.join("dir")).unwrap()),
        ("a file where a directory belongs", |into, _| fs::write(into.join("dir"), "old").unwrap()),
        ("links where files belong", |into, outside| {
            fs::create_dir(into.join("dir")).unwrap();
            for name in ["big", "empty", "small", "zlink"] {
                symlink(outside.join("secret"), into.join("dir").join(name)).unwrap();
            }
        }),
        ("hard links where files belong", |into, outside| {
            fs::create_dir(into.join("dir")).unwrap();
            for name in ["big", "empty", "small", "zlink"] {
                fs::hard_link(outside.join("secret"), into.join("dir").join(name)).unwrap();
            }
        }),
        ("pipes where files belong", |into, _| {
            fs::create_dir(into.join("dir")).unwrap();
            tools::run(Command::new("mkfifo").arg(into.join("dir/big")).arg(into.join("dir/small"))).unwrap();
        }),
        ("links where a pipe and a link belong", |into, outside| {
            symlink(outside.join("secret"), into.join("fifo")).unwrap();
            symlink(outside.join("secret"), into.join("sym")).unwrap();
        }),
        ("links where temporary files would be", |into, outside| {
            fs::create_dir(into.join(".packline-partial")).unwrap();
            for name in ["0-0", "0-1", "0-2", "w1", "w2", "w3"] {
                symlink(outside.join("secret"), into.join(".packline-partial").join(name)).unwrap();
            }
        }),
        ("the tree itself, read-only", |into, _| {
            fs::create_dir(into.join("dir")).unwrap();
            fs::write(into.join("dir/big"), "old").unwrap();
            tools::run(Command::new("chmod").args(["-R", "a-w"]).arg(into.join("dir"))).unwrap();
        }),
        ("nothing", |_, _| {}),
    ];
    for (what, plant) in plants {
        let into = top.path().join("out");
        fs::create_dir(&into).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        let before = snapshot::of_directory(&outside).unwrap();
        plant(&into, &outside);
        let ran = unpack(&image, &into, &["--force"]);
        assert_eq!((ran.status.code(), said(&ran)), (Some(0), String::new()), "{what}");
        let except = Except { links: true, ..Except::default() };
        assert_same(what, &before, &snapshot::of_directory(&outside).unwrap(), except);
        assert_same(
            what,
            &snapshot::of_model(&sample(), true),
            &snapshot::of_directory(&into).unwrap(),
            Except::default(),
        );
        fs::remove_dir_all(&into).unwrap();
        fs::remove_dir_all(&outside).unwrap();
    }
}

#[test]
fn a_directory_does_not_give_way_to_a_file() {
    let top = tempfile::tempdir().unwrap();
    let image =
        image_of(top.path(), &[Node::dir(""), Node::file("a", "a"), Node::file("b", "b"), Node::file("c", "c")]);
    let into = top.path().join("out");
    fs::create_dir_all(into.join("b/kept")).unwrap();
    let refused = unpack(&image, &into, &["--force"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("out/b: ") && said(&refused).contains("directory"), "{}", said(&refused));
    let went_on = unpack(&image, &into, &["--force", "--continue"]);
    assert_eq!(went_on.status.code(), Some(2));
    assert_eq!(said(&went_on).lines().count(), 1, "{}", said(&went_on));
    assert!(into.join("b/kept").is_dir());
    assert_eq!(fs::read(into.join("c")).unwrap(), b"c");
    let mut names: Vec<_> = left_in(&into).into_iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    names.sort();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn what_is_there_beside_the_image_stays() {
    if !tools::root() {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let image = image_of(top.path(), &sample());
    let into = top.path().join("out");
    fs::create_dir_all(into.join("dir/more")).unwrap();
    fs::write(into.join("dir/other"), "other").unwrap();
    fs::write(into.join("dir/small"), "old, and longer").unwrap();
    for _ in 0..2 {
        assert_eq!(unpack(&image, &into, &["-f"]).status.code(), Some(0));
        let mut found = snapshot::of_directory(&into).unwrap();
        assert!(found.remove(&b"dir/more"[..]).is_some());
        assert!(found.remove(&b"dir/other"[..]).is_some());
        assert_same("merged", &snapshot::of_model(&sample(), true), &found, Except::default());
    }
}

/// An image of noise, with one byte in the middle of each of two data blocks turned over.
fn damaged(directory: &Path) -> (PathBuf, Vec<Node>) {
    let mut nodes = vec![Node::dir("").mode(0o755)];
    for name in ["a", "b", "c"] {
        let bytes: Vec<u8> = (0..30_000u32).map(|at| (at / 7) as u8 ^ name.as_bytes()[0]).collect();
        nodes.push(Node::file(name, bytes));
    }
    let (archive, image) = (directory.join("source.tar"), directory.join("damaged.sqfs"));
    fs::write(&archive, tar::to_bytes(&nodes)).unwrap();
    Packer::new(PACKLINE).pack(&archive, &image, &["-f", "-b", "4K", "-c", "gzip"]);
    let mut bytes = fs::read(&image).unwrap();
    // The first data block is a's; the adler32 at its end no longer fits.
    bytes[100] ^= 0x55;
    bytes[101] ^= 0x55;
    fs::write(&image, bytes).unwrap();
    (image, nodes)
}

#[test]
fn damage_is_an_error_and_with_continue_all_else_is_there() {
    let top = tempfile::tempdir().unwrap();
    let (image, nodes) = damaged(top.path());
    let into = top.path().join("out");
    let before = left_in(top.path()).len();
    let failed = unpack(&image, &into, &[]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(said(&failed).contains("damaged.sqfs: a: ") && said(&failed).contains("at byte"), "{}", said(&failed));
    assert_eq!(left_in(top.path()).len(), before, "nothing is left of it");
    let went_on = unpack(&image, &into, &["--continue"]);
    assert_eq!(went_on.status.code(), Some(2), "{}", said(&went_on));
    assert_eq!(said(&went_on).lines().count(), 1, "{}", said(&went_on));
    let (expected, found) = (snapshot::of_model(&nodes, true), snapshot::of_directory(&into).unwrap());
    for name in ["b", "c"] {
        assert_eq!(found[name.as_bytes()].kind, expected[name.as_bytes()].kind);
    }
    let a = fs::read(into.join("a")).unwrap();
    assert!(a.len() == 30_000 && a[..4096] == [0; 4096] && a[4096..].iter().any(|byte| *byte != 0));
    assert_eq!(left_in(top.path()).len(), before + 1);
}

#[test]
fn the_error_is_the_same_whatever_the_workers() {
    let top = tempfile::tempdir().unwrap();
    let (image, _) = damaged(top.path());
    let mut bytes = fs::read(&image).unwrap();
    for at in (0..1200).step_by(61) {
        bytes[150 + at] ^= 0xff;
    }
    fs::write(&image, bytes).unwrap();
    let one = said(&unpack(&image, &top.path().join("out"), &[]));
    for jobs in ["0", "1", "5"] {
        let mut command = Command::new(PACKLINE);
        let ran = command.args(["unpack", "-q", "-j", jobs]).arg(&image).arg(top.path().join("out")).output().unwrap();
        assert_eq!(said(&ran), one, "{jobs} workers");
    }
}

#[test]
fn a_second_run_succeeds_after_a_kill_and_a_signal_leaves_nothing() {
    let top = tempfile::tempdir_in("/dev/shm").unwrap();
    let nodes = generate::without_privileges(generate::small_tree(31, 65_536), 0, 0);
    let archive = top.path().join("source.tar");
    fs::write(&archive, tar::to_bytes(&nodes)).unwrap();
    let image = top.path().join("image.sqfs");
    Packer::new(PACKLINE).pack(&archive, &image, &["-b", "4K", "-c", "xz"]);
    let expected = snapshot::of_model(&nodes, false);
    let except = Except { root: true, ..Except::default() };
    for (signal, there) in [("KILL", false), ("KILL", true), ("TERM", false), ("INT", true)] {
        let into = top.path().join("out");
        if there {
            fs::create_dir(&into).unwrap();
        }
        for pause in [0u64, 2, 5, 9, 14] {
            let mut command = Command::new(PACKLINE);
            command.args(["unpack", "-q", "-j", "1"]).arg(&image).arg(&into).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(pause));
            signal::send(signal, child.id()).unwrap();
            let status = child.wait().unwrap();
            // Under a final name there is nothing, or all of it.
            if status.success() {
                assert_same(signal, &expected, &snapshot::of_directory(&into).unwrap(), except);
                fs::remove_dir_all(&into).unwrap();
            } else if !there {
                assert!(!into.exists(), "{signal} after {pause} ms");
            }
            if there && !into.exists() {
                fs::create_dir(&into).unwrap();
            }
            if signal != "KILL" {
                let hidden =
                    |place: &Path| left_in(place).iter().any(|path| path.to_string_lossy().contains("partial"));
                let left = hidden(top.path()) || (there && hidden(&into));
                assert!(!left, "{signal} after {pause} ms");
            }
            if there && signal != "KILL" {
                fs::remove_dir_all(&into).unwrap();
                fs::create_dir(&into).unwrap();
            }
        }
        assert_eq!(unpack(&image, &into, &[]).status.code(), Some(0), "{signal}");
        assert_same(signal, &expected, &snapshot::of_directory(&into).unwrap(), except);
        fs::remove_dir_all(&into).unwrap();
        assert_eq!(left_in(top.path()).len(), 2, "{signal}");
    }
}

#[test]
fn too_little_memory_is_said_and_enough_is_enough() {
    let top = tempfile::tempdir().unwrap();
    let image = image_of(top.path(), &sample());
    let refused = unpack(&image, &top.path().join("out"), &["--mem", "1M"]);
    assert_eq!(refused.status.code(), Some(1));
    let text = said(&refused);
    assert!(text.contains("; --mem allows more"), "{text}");
    let needed = text.split("at least ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().to_string();
    assert_eq!(unpack(&image, &top.path().join("out"), &["--mem", &needed]).status.code(), Some(0), "{text}");
}
