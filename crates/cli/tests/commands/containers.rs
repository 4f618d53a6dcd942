//! Gives each container to each command: the command reads it, or the message names its format.

use std::fs;

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::{Sandbox, tools};

use crate::encrypted::{PUBLIC, SECRET};
use crate::inspect::support::{pack, quiet, with_source};
use crate::sandbox;

fn with_containers() -> Sandbox {
    let sandbox = with_source(&[
        Node::dir(""),
        Node::dir("d").mode(0o1777),
        Node::file("d/f", "hello").owner(7, 8).xattr("user.note", "value").mode(0o4755),
        Node::new("d/hard", NodeKind::HardLink(b"d/f".to_vec())),
        Node::new("d/link", NodeKind::Symlink(b"f".to_vec())),
        Node::new("e", NodeKind::CharDevice(5, 70)),
    ]);
    pack(&sandbox, "i.sqfs", &[]);
    quiet(&sandbox, &["pack", "-q", "source.tar", "i.lrz"]);
    quiet(&sandbox, &["compress", "-q", "-o", "i.pln", "source.tar"]);
    sandbox.peer("gzip", &["-k", "source.tar"]);
    sandbox.write("plain", "no container at all\n".repeat(99));
    quiet(&sandbox, &["lrzip", "-Q", "-o", "plain.lrz", "plain"]);
    sandbox
}

#[test]
fn lists_tars_like_images() {
    if !tools::root() {
        return;
    }
    let sandbox = with_containers();
    for name in ["source.tar", "source.tar.gz", "i.lrz"] {
        assert_eq!(quiet(&sandbox, &["list", name]).text(), ".\nd\nd/f\nd/hard\nd/link\ne\n", "{name}");
        assert_eq!(quiet(&sandbox, &["list", "-0", name, "d/l*"]).text(), "d/link\0", "{name}");
        assert_eq!(quiet(&sandbox, &["list", "-x", "d", name]).text(), ".\ne\n", "{name}");
        let ours = quiet(&sandbox, &["list", "-l", "--numeric-owner", name]).text();
        let image = quiet(&sandbox, &["list", "-l", "--numeric-owner", "i.sqfs"]).text();
        // A tar has no sizes of directories, and a hard link has a line of its own kind.
        for (line, same) in ours.lines().zip(image.lines()) {
            assert!(line == same || line.starts_with('d') || line.starts_with('h'), "{name}: {line}");
        }
        assert!(ours.contains("\nhrw-r--r-- ") && ours.contains("d/hard link to d/f"), "{ours}");
        let ran = sandbox.run(&["list", name, "none"]);
        assert!(ran.status == 1 && ran.stderr.contains("'none' matches nothing"), "{ran:?}");
    }
    let json = quiet(&sandbox, &["list", "--json", "i.lrz", "d/f", "d/hard", "e"]).text();
    let lines: Vec<&str> = json.lines().collect();
    assert!(lines[0].contains(r#""xattrs":[{"name":"user.note","value":"value"}]"#), "{json}");
    assert!(lines[1].contains(r#""target":"d/f","type":"hard link""#), "{json}");
    assert!(lines[2].contains(r#""major":5,"minor":70"#) && lines.len() == 3, "{json}");
}

/// Every container with a tree is listed, also in a .pln file, as help and README say.
#[test]
fn lists_and_reads_content_of_pln_file() {
    if !tools::root() {
        return;
    }
    let sandbox = with_containers();
    sandbox.write("key", SECRET);
    for name in ["source.tar", "source.tar.gz", "i.lrz", "i.sqfs"] {
        let expected = quiet(&sandbox, &["list", "-l", "--numeric-owner", name]).text();
        for options in [&["-c", "none"][..], &["--recipient", PUBLIC], &["--recovery", "20%"]] {
            quiet(&sandbox, &[&["compress", "-qf", "-o", "in.pln"], options, &[name]].concat());
            let keys: &[&str] = if options[0] == "--recipient" { &["--identity", "key"] } else { &[] };
            let list = ["list", "-l", "--numeric-owner", "in.pln"];
            assert_eq!(quiet(&sandbox, &[&list, keys].concat()).text(), expected, "{name} {options:?}");
            let cat = [&["cat", "in.pln", "d/f"], keys].concat();
            assert_eq!(quiet(&sandbox, &cat).text(), "hello", "{name} {options:?}");
            let piped = format!("cat in.pln | $P list -l --numeric-owner - {}", keys.join(" "));
            assert_eq!(sandbox.shell(&piped).text(), expected, "{name} {options:?}, from a pipe");
        }
    }
    quiet(&sandbox, &["compress", "-qf", "--recovery", "50%", "-o", "in.pln", "source.tar"]);
    let mut damaged = sandbox.read("in.pln");
    damaged[100] ^= 1;
    sandbox.write("in.pln", damaged);
    assert_eq!(quiet(&sandbox, &["list", "in.pln"]).text(), ".\nd\nd/f\nd/hard\nd/link\ne\n", "repaired");
    quiet(&sandbox, &["compress", "-qf", "-o", "in.pln", "plain"]);
    for command in [&["list", "in.pln"][..], &["cat", "in.pln", "d/f"]] {
        let line = sandbox.refused(command);
        assert!(line.contains("in.pln: a .pln file whose content is neither an image nor a tar"), "{line}");
    }
    assert_eq!(quiet(&sandbox, &["cat", "in.pln"]).stdout, sandbox.read("plain"));
}

#[test]
fn damage_to_a_pln_file_is_named_with_the_command_that_repairs_it() {
    let sandbox = sandbox();
    let files: Vec<Node> = (10..70).map(|number| Node::file(format!("f{number}"), vec![b'x'; 600])).collect();
    sandbox.write_tar("a.tar", &files);
    quiet(&sandbox, &["compress", "-q", "-c", "none", "--record-size", "4K", "-o", "t.pln", "a.tar"]);
    quiet(&sandbox, &["protect", "-q", "t.pln"]);
    let whole = sandbox.read("t.pln");
    let commands = [&["list", "t.pln"][..], &["cat", "t.pln", "f69"], &["decompress", "-q", "-o", "out", "t.pln"]];
    for (at, record) in [(100, "record 0, at byte 32: "), (20_000, "record 4, at byte 16512: ")] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        sandbox.damage("t.pln", damaged);
        for words in commands {
            let message = sandbox.bad(1, words);
            assert!(message.contains(record) && message.matches("t.pln: ").count() == 1, "{words:?}: {message}");
            assert!(message.ends_with("; 'packline repair t.pln' repairs it\n"), "{words:?}: {message}");
        }
    }
    let protected = sandbox.at("t.pln.recovery").metadata().unwrap().modified().unwrap();
    let file = fs::File::options().write(true).open(sandbox.at("t.pln")).unwrap();
    file.set_modified(protected + std::time::Duration::from_secs(1)).unwrap();
    for words in commands {
        let message = sandbox.bad(1, words);
        let hint =
            "; changed after t.pln.recovery was written; 'packline repair -f t.pln' restores the protected content\n";
        assert!(message.contains("record 4, ") && message.ends_with(hint), "{words:?}: {message}");
    }
    sandbox.bad(1, &["repair", "t.pln"]);
    sandbox.good(&["repair", "-qf", "t.pln"]);
    assert!(sandbox.read("t.pln") == whole);
    sandbox.damage("t.pln", [&whole[..20_000], b"????", &whole[20_004..]].concat());
    sandbox.remove("t.pln.recovery");
    for words in commands {
        let message = sandbox.bad(1, words);
        assert!(message.contains("record 4, at byte 16512: ") && !message.contains("repair"), "{words:?}: {message}");
    }
}

#[test]
fn damage_below_an_image_in_a_pln_file_is_named_with_the_command_that_repairs_it() {
    let sandbox = sandbox();
    sandbox.write("s/f", "some content\n".repeat(4000));
    quiet(&sandbox, &["pack", "-q", "-c", "none", "s", "i.sqfs"]);
    let image = sandbox.read("i.sqfs");
    quiet(&sandbox, &["compress", "-q", "-c", "none", "--record-size", "4K", "-o", "i.pln", "i.sqfs"]);
    quiet(&sandbox, &["protect", "-q", "i.pln"]);
    // The inode table is in this record; each has a head of 24 bytes.
    let inodes = u64::from_le_bytes(image[64..72].try_into().unwrap()) as usize;
    let record = inodes / 4096;
    let mut damaged = sandbox.read("i.pln");
    damaged[32 + record * 4120 + 24 + inodes % 4096] ^= 1;
    sandbox.damage("i.pln", damaged);
    let message = sandbox.bad(1, &["cat", "i.pln", "f"]);
    assert!(message.contains(&format!("record {record}, at byte ")), "{message}");
    assert!(message.ends_with("; 'packline repair i.pln' repairs it\n"), "{message}");
}

#[test]
fn lists_truncated_tar_up_to_its_end() {
    if !tools::root() {
        return;
    }
    let sandbox = with_containers();
    let tar = sandbox.read("source.tar");
    sandbox.write("cut.tar", &tar[..tar.len() / 512 / 2 * 512 - 100]);
    let ran = sandbox.run(&["list", "cut.tar"]);
    assert!(ran.status == 1 && ran.text().starts_with(".\nd\n") && ran.stderr.contains("cut.tar"), "{ran:?}");
    let lrz = sandbox.read("i.lrz");
    sandbox.write("cut.lrz", &lrz[..lrz.len() - 20]);
    let ran = sandbox.run(&["list", "cut.lrz"]);
    assert!(ran.status == 1 && ran.stderr.contains("cut.lrz"), "{ran:?}");
}

#[test]
fn an_image_inside_of_a_tar_is_reached_by_its_offset() {
    if !tools::root() {
        return;
    }
    let sandbox = with_containers();
    sandbox.peer("tar", &["-cf", "around.tar", "i.sqfs"]);
    assert_eq!(quiet(&sandbox, &["list", "around.tar"]).text(), "i.sqfs\n");
    let inside = quiet(&sandbox, &["list", "--offset", "512", "around.tar"]);
    assert_eq!(inside.text(), quiet(&sandbox, &["list", "i.sqfs"]).text());
    assert_eq!(quiet(&sandbox, &["cat", "--offset", "512", "around.tar", "d/f"]).text(), "hello");
}

#[test]
fn info_and_verify_of_a_lrz_file() {
    if !tools::root() {
        return;
    }
    let sandbox = with_containers();
    let info = quiet(&sandbox, &["info", "i.lrz"]).text();
    assert_eq!(info, quiet(&sandbox, &["lrzip", "-i", "i.lrz"]).text());
    assert!(info.contains("Compression Method: rzip + lzma"), "{info}");
    assert!(quiet(&sandbox, &["info", "--json", "i.lrz"]).text().contains(r#""format":"lrz""#));
    let sound = quiet(&sandbox, &["verify", "i.lrz"]).text();
    assert!(sound.starts_with("i.lrz: sound\n") && sound.contains("as stored"), "{sound}");
    let mut bytes = sandbox.read("i.lrz");
    *bytes.last_mut().unwrap() ^= 1;
    sandbox.write("bad.lrz", &bytes);
    let ran = sandbox.run(&["verify", "bad.lrz"]);
    assert!(ran.status == 1 && ran.text().starts_with("bad.lrz: ") && ran.stderr.is_empty(), "{ran:?}");
    let ran = sandbox.run(&["verify", "--json", "bad.lrz"]);
    assert!(ran.status == 1 && ran.text().contains(r#""finding":"fault""#), "{ran:?}");
    sandbox.write("cut.lrz", &bytes[..10]);
    assert_eq!(sandbox.run(&["verify", "cut.lrz"]).status, 1);
    for words in [["info", "--quick", "i.lrz"], ["verify", "--notes", "i.lrz"], ["list", "--offset=1", "i.pln"]] {
        assert_ne!(sandbox.run(&words).status, 0, "{words:?}");
    }
}

#[test]
fn names_wrong_container() {
    if !tools::root() {
        return;
    }
    let sandbox = with_containers();
    sandbox.create_dir("point");
    let files = [
        ("i.sqfs", "a SquashFS image"),
        ("i.lrz", "a .lrz file"),
        ("i.pln", "a .pln file"),
        ("source.tar", "a tar"),
        ("source.tar.gz", "compressed with gzip"),
    ];
    let commands: [(&[&str], &[&str]); 14] = [
        (&["list", "IN"], &["i.sqfs", "i.lrz", "i.pln", "source.tar", "source.tar.gz"]),
        (&["diff", "IN", "source"], &["i.sqfs", "i.lrz", "i.pln", "source.tar", "source.tar.gz"]),
        (&["diff", "source", "IN"], &["i.sqfs", "i.lrz", "i.pln", "source.tar", "source.tar.gz"]),
        (&["mount", "IN", "point"], &["i.sqfs", "i.pln"]),
        (&["unpack", "IN", "made"], &["i.sqfs", "i.lrz", "i.pln", "source.tar", "source.tar.gz"]),
        (&["unpack", "IN", "made.tar"], &["i.sqfs", "i.lrz", "i.pln", "source.tar", "source.tar.gz"]),
        (&["sqfs2tar", "IN"], &["i.sqfs"]),
        (&["rdsquashfs", "-d", "IN"], &["i.sqfs"]),
        (&["sqfsdiff", "-a", "IN", "-b", "i.sqfs"], &["i.sqfs"]),
        (&["pack", "IN", "made.sqfs"], &["i.sqfs", "i.pln", "source.tar", "source.tar.gz"]),
        (&["pack", "IN", "made.lrz"], &["i.sqfs", "i.pln", "source.tar", "source.tar.gz"]),
        (&["decompress", "-o", "made", "IN"], &["i.pln"]),
        (&["lrzip", "-d", "-o", "made", "IN"], &["i.lrz"]),
        (&["lrzuntar", "-O", "point", "IN"], &["i.lrz"]),
    ];
    for (words, readable) in commands {
        for (name, what) in files.iter().filter(|(name, _)| !readable.contains(name)) {
            let words: Vec<&str> = words.iter().map(|word| if *word == "IN" { *name } else { *word }).collect();
            let ran = sandbox.run(&words);
            let named = ran.stderr.contains(&format!("{name}: ")) && ran.stderr.contains(what);
            assert!(ran.status != 0 && named && ran.stderr.contains("packline"), "{words:?}: {ran:?}");
            assert!(!["made", "made.tar", "made.sqfs", "made.lrz"].iter().any(|made| sandbox.at(made).exists()));
        }
    }
    for words in [&["list", "plain.lrz"][..], &["unpack", "plain.lrz", "made"]] {
        let ran = sandbox.run(words);
        assert!(ran.status == 1 && ran.stderr.contains("a .lrz file whose content is not a tar"), "{ran:?}");
    }
}
