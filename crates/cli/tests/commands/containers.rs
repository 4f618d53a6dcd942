//! Every container by every command: what reads it, and what the others say that it is.

use std::fs;

use packline_testkit::model::{Node, NodeKind};

use crate::inspect_support::Place;

fn place() -> Place {
    let place = Place::new(&[
        Node::dir(""),
        Node::dir("d").mode(0o1777),
        Node::file("d/f", "hello").owner(7, 8).xattr("user.note", "value").mode(0o4755),
        Node::new("d/hard", NodeKind::HardLink(b"d/f".to_vec())),
        Node::new("d/link", NodeKind::Symlink(b"f".to_vec())),
        Node::new("e", NodeKind::CharDevice(5, 70)),
    ]);
    place.pack("i.sqfs", &[]);
    place.good(&["pack", "-q", "source.tar", "i.lrz"]);
    place.good(&["compress", "-q", "-o", "i.pln", "source.tar"]);
    let packed = place.peer("gzip", &["-k", "source.tar"]);
    assert_eq!(packed.status, 0);
    fs::write(place.at("plain"), "no container at all\n".repeat(99)).unwrap();
    place.good(&["lrzip", "-Q", "-o", "plain.lrz", "plain"]);
    place
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn tars_are_listed_as_images_are() {
    let place = place();
    for name in ["source.tar", "source.tar.gz", "i.lrz"] {
        assert_eq!(text(&place.good(&["list", name]).out), ".\nd\nd/f\nd/hard\nd/link\ne\n", "{name}");
        assert_eq!(text(&place.good(&["list", "-0", name, "d/l*"]).out), "d/link\0", "{name}");
        assert_eq!(text(&place.good(&["list", "-x", "d", name]).out), ".\ne\n", "{name}");
        let ours = text(&place.good(&["list", "-l", name]).out);
        let image = text(&place.good(&["list", "-l", "i.sqfs"]).out);
        // Of a directory a tar says no size, and a hard link is a line of its own kind.
        for (line, same) in ours.lines().zip(image.lines()) {
            assert!(line == same || line.starts_with('d') || line.starts_with('h'), "{name}: {line}");
        }
        assert!(ours.contains("\nhrw-r--r-- ") && ours.contains("d/hard link to d/f"), "{ours}");
        let ran = place.ours(&["list", name, "none"]);
        assert!(ran.status == 1 && ran.err.contains("'none' matches nothing"), "{ran:?}");
    }
    let json = text(&place.good(&["list", "--json", "i.lrz", "d/f", "d/hard", "e"]).out);
    let lines: Vec<&str> = json.lines().collect();
    assert!(lines[0].contains(r#""xattrs":[{"name":"user.note","value":"value"}]"#), "{json}");
    assert!(lines[1].contains(r#""target":"d/f","type":"hard link""#), "{json}");
    assert!(lines[2].contains(r#""major":5,"minor":70"#) && lines.len() == 3, "{json}");
}

#[test]
fn a_tar_that_ends_early_is_listed_as_far_as_it_goes() {
    let place = place();
    let tar = fs::read(place.at("source.tar")).unwrap();
    fs::write(place.at("cut.tar"), &tar[..tar.len() / 512 / 2 * 512 - 100]).unwrap();
    let ran = place.ours(&["list", "cut.tar"]);
    assert!(ran.status == 1 && text(&ran.out).starts_with(".\nd\n") && ran.err.contains("cut.tar"), "{ran:?}");
    let lrz = fs::read(place.at("i.lrz")).unwrap();
    fs::write(place.at("cut.lrz"), &lrz[..lrz.len() - 20]).unwrap();
    let ran = place.ours(&["list", "cut.lrz"]);
    assert!(ran.status == 1 && ran.err.contains("cut.lrz"), "{ran:?}");
}

#[test]
fn an_image_inside_of_a_tar_is_reached_by_its_offset() {
    let place = place();
    let made = place.peer("tar", &["-cf", "around.tar", "i.sqfs"]);
    assert_eq!(made.status, 0);
    assert_eq!(text(&place.good(&["list", "around.tar"]).out), "i.sqfs\n");
    let inside = place.good(&["list", "--offset", "512", "around.tar"]);
    assert_eq!(text(&inside.out), text(&place.good(&["list", "i.sqfs"]).out));
    assert_eq!(text(&place.good(&["cat", "around.tar", "d/f"]).out), "hello");
}

#[test]
fn info_and_verify_of_a_lrz_file() {
    let place = place();
    let info = text(&place.good(&["info", "i.lrz"]).out);
    assert_eq!(info, text(&place.good(&["lrzip", "-i", "i.lrz"]).out));
    assert!(info.contains("Compression Method: rzip + lzma"), "{info}");
    assert!(text(&place.good(&["info", "--json", "i.lrz"]).out).contains(r#""format":"lrz""#));
    let sound = text(&place.good(&["verify", "i.lrz"]).out);
    assert!(sound.starts_with("i.lrz: sound\n") && sound.contains("as stored"), "{sound}");
    let mut bytes = fs::read(place.at("i.lrz")).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(place.at("bad.lrz"), &bytes).unwrap();
    let ran = place.ours(&["verify", "bad.lrz"]);
    assert!(ran.status == 1 && text(&ran.out).starts_with("bad.lrz: ") && ran.err.is_empty(), "{ran:?}");
    let ran = place.ours(&["verify", "--json", "bad.lrz"]);
    assert!(ran.status == 1 && text(&ran.out).contains(r#""finding":"fault""#), "{ran:?}");
    fs::write(place.at("cut.lrz"), &bytes[..10]).unwrap();
    assert_eq!(place.ours(&["verify", "cut.lrz"]).status, 1);
    for words in [["info", "--quick", "i.lrz"], ["verify", "--notes", "i.lrz"], ["list", "--offset=1", "i.pln"]] {
        assert_ne!(place.ours(&words).status, 0, "{words:?}");
    }
}

#[test]
fn a_wrong_container_is_named() {
    let place = place();
    fs::create_dir(place.at("point")).unwrap();
    let files = [
        ("i.sqfs", "a SquashFS image"),
        ("i.lrz", "a .lrz file"),
        ("i.pln", "a .pln file"),
        ("source.tar", "a tar"),
        ("source.tar.gz", "compressed with gzip"),
    ];
    let commands: [(&[&str], &[&str]); 17] = [
        (&["list", "IN"], &["i.sqfs", "i.lrz", "source.tar", "source.tar.gz"]),
        (&["cat", "IN", "d/f"], &["i.sqfs", "i.pln"]),
        (&["info", "IN"], &["i.sqfs", "i.lrz", "i.pln"]),
        (&["verify", "IN"], &["i.sqfs", "i.lrz", "i.pln"]),
        (&["diff", "IN", "source"], &["i.sqfs"]),
        (&["diff", "source", "IN"], &["i.sqfs"]),
        (&["mount", "IN", "point"], &["i.sqfs"]),
        (&["unpack", "IN", "made"], &["i.sqfs", "i.lrz"]),
        (&["unpack", "IN", "made.tar"], &["i.sqfs", "i.lrz"]),
        (&["sqfs2tar", "IN"], &["i.sqfs"]),
        (&["rdsquashfs", "-d", "IN"], &["i.sqfs"]),
        (&["sqfsdiff", "-a", "IN", "-b", "i.sqfs"], &["i.sqfs"]),
        (&["pack", "IN", "made.sqfs"], &["source.tar", "source.tar.gz"]),
        (&["pack", "IN", "made.lrz"], &["source.tar", "source.tar.gz"]),
        (&["decompress", "-o", "made", "IN"], &["i.pln"]),
        (&["lrzip", "-d", "-o", "made", "IN"], &["i.lrz"]),
        (&["lrzuntar", "-O", "point", "IN"], &["i.lrz"]),
    ];
    for (words, readable) in commands {
        for (name, what) in files.iter().filter(|(name, _)| !readable.contains(name)) {
            let words: Vec<&str> = words.iter().map(|word| if *word == "IN" { *name } else { *word }).collect();
            let ran = place.ours(&words);
            let named = ran.err.contains(&format!("{name}: ")) && ran.err.contains(what);
            assert!(ran.status != 0 && named && ran.err.contains("packline"), "{words:?}: {ran:?}");
            assert!(!["made", "made.tar", "made.sqfs", "made.lrz"].iter().any(|made| place.at(made).exists()));
        }
    }
    for words in [&["list", "plain.lrz"][..], &["unpack", "plain.lrz", "made"]] {
        let ran = place.ours(words);
        assert!(ran.status == 1 && ran.err.contains("a .lrz file whose content is not a tar"), "{ran:?}");
    }
}
