//! Compares definitions of `mksquashfs` and `unsquashfs`, and `sqfstar`, with those of squashfs-tools.

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::{Ran, Sandbox, tools};

use super::mksquashfs::{compare, listing, pack, ready, superblock, with_source};

/// Kinds that squashfs-tools 4.5 has.
const DEFINITIONS: &str = "\
# a comment
dev d 755 root root
dev/null c 666 root root 1 3
dev/sda b 660 0 6 8 0
dev/socket i 600 1 2 s
dev/fifo i 600 1 2 f
\"with space\" d 711 9 9
dir m 700 5 6
dir/one M 2000000 640 7 8
new s 777 1 1 dir/one
command f 644 3 3 echo what a command prints
D D 11 755 1 2
D/B B 12 600 3 4 5 6
D/C C 13 600 3 4 5 6
D/S S 14 777 3 4 anywhere
D/I I 15 600 3 4 f
D/F F 3000000 600 3 3 printf abc
";

const QUIET: &str = "-mkfs-time 0 -quiet -no-progress -noappend";

#[test]
fn definitions_give_the_same_tree() {
    if !ready() {
        return;
    }
    let sandbox = with_source();
    sandbox.write("definitions", DEFINITIONS);
    // Entries without a time get the time of the run.
    let timed = DEFINITIONS.lines().filter(|line| line.starts_with(['D', '#']));
    sandbox.write("timed", timed.collect::<Vec<_>>().join("\n") + "\n");
    for options in [
        "-pf definitions -all-time 5".to_string(),
        "-pf timed -p later\u{20a0}D\u{20a0}5\u{20a0}700\u{20a0}1\u{20a0}1".to_string(),
        "-pf definitions -all-root -all-time 5".to_string(),
        "-pf definitions -wildcards -e dev dir/t* -all-time 5".to_string(),
    ] {
        compare(&sandbox, &["source"], &options.replace(" -e", " -quiet -no-progress -mkfs-time 0 -e"));
    }
}

/// Matches squashfs-tools 4.7: forced attributes change the source, and override the root's own.
#[test]
fn definitions_override_what_is_forced() {
    let sandbox = crate::sandbox();
    sandbox.write_tar(
        "tree.tar",
        &[Node::dir("dir").owner(1, 2).mode(0o700), Node::file("dir/a", "a"), Node::file("b", "b")],
    );
    sandbox.write("definitions", "dir/a m 640 7 8\nadded d 711 5 6\n");
    let owners = |image: &str, more: &[&str]| {
        let forced =
            ["-tar", "-pf", "definitions", "-all-root", "-force-file-mode", "0444", "-root-uid", "3", "-quiet"];
        let words = [&["mksquashfs", "-", image], &forced[..], more].concat();
        sandbox.good_on(&words, "tree.tar");
        let listed = sandbox.good(&["list", "-l", "--numeric-owner", image]).text();
        let columns = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            format!("{} {} {}", words[0], words[1], words[words.len() - 1])
        };
        listed.lines().map(columns).collect::<Vec<_>>()
    };
    let all = owners("all.sqfs", &[]);
    assert!(all.iter().all(|line| line.contains(" 0/0 ")), "{all:?}");
    let spared = owners("spared.sqfs", &["-pseudo-override"]);
    for line in ["-rw-r----- 7/8 dir/a", "drwx--x--x 5/6 added", "-r--r--r-- 0/0 b", "drwx------ 0/0 dir"] {
        assert!(spared.iter().any(|found| found == line), "{line}: {spared:?}");
    }
}

/// Matches squashfs-tools 4.7: no attribute of a definition is left out.
#[test]
fn definitions_keep_their_attributes() {
    let sandbox = crate::sandbox();
    sandbox
        .write_tar("tree.tar", &[Node::file("a", "a").xattr("user.a", "1"), Node::file("b", "b").xattr("user.b", "2")]);
    for (filter, expected) in [("-xattrs-exclude", [true, false, false]), ("-xattrs-include", [true, true, true])] {
        let words = ["-", "image", "-tar", "-noappend", "-quiet", filter, "^user.[ab]", "-p", "b x user.c=3"];
        sandbox.good_on(&[&["mksquashfs"], &words[..]].concat(), "tree.tar");
        let listed = sandbox.good(&["list", "--json", "image"]).text();
        assert_eq!(["user.c", "user.a", "user.b"].map(|name| listed.contains(name)), expected, "{filter}: {listed}");
    }
}

#[test]
fn packs_definitions_without_source() {
    if !ready() {
        return;
    }
    let sandbox = with_source();
    sandbox.write(
        "definitions",
        format!("/ d 711 1 2\n{}", DEFINITIONS.replace("dir m", "dir d").replace("dir/one M", "dir/one D")),
    );
    compare(&sandbox, &["-"], &format!("-pf definitions -all-time 5 {QUIET}"));
    // Missing directories are created, and the root.
    let words = ["mksquashfs", "-", "made.sqfs", "-p", "a/b/c f 644 0 0 echo hi", "-pd", "D 7 700 1 2", "-quiet"];
    sandbox.good(&words);
    let made = sandbox.peer("unsquashfs", &["-lln", "-UTC", "made.sqfs"]).text();
    let lines: Vec<String> = made.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for path in ["squashfs-root", "squashfs-root/a", "squashfs-root/a/b"] {
        let line = lines.iter().find(|line| line.ends_with(&format!(" {path}"))).unwrap();
        assert!(line.starts_with("drwx------ 1/2 ") && line.contains(" 1970-01-01 00:00 "), "{line}");
    }
}

#[test]
fn what_unsquashfs_defines_gives_the_same_bytes() {
    if !ready() {
        return;
    }
    let sandbox = with_source();
    // Definitions of 4.5 have no extended attributes.
    pack(sandbox.command(&["mksquashfs"]), "first.sqfs", &["source"], &format!("-no-xattrs {QUIET}"));
    sandbox.peer("unsquashfs", &["-pf", "definitions", "first.sqfs"]);
    let options = format!("-no-xattrs -pf definitions {QUIET}");
    pack(sandbox.command(&["mksquashfs"]), "second.sqfs", &["-"], &options);
    let mut piped = sandbox.command(&["mksquashfs"]);
    piped.stdin(sandbox.open("definitions"));
    pack(piped, "third.sqfs", &["-"], &options.replace("-pf definitions", "-pf -"));
    let bytes = |image: &str| std::fs::read(sandbox.at(image)).unwrap();
    assert!(bytes("first.sqfs") == bytes("second.sqfs") && bytes("first.sqfs") == bytes("third.sqfs"));
}

/// A tar with every kind of entry, hard links, holes, attributes and the given names, in the order of an image's walk.
fn every_kind(sandbox: &Sandbox, first: &str, quoted: &str) {
    let nodes = [
        Node::dir("").mode(0o751).owner(11, 12).time(1_000_000),
        Node::file(first, "x".repeat(300_000)).xattr("user.bytes", "\u{1}\\"),
        Node::dir("a dir").mode(0o2775).time(5),
        Node::file(format!("a dir/{quoted}"), "some content").mode(0o4755).xattr("user.plain", "text"),
        Node::new("again", NodeKind::HardLink(first.as_bytes().to_vec())),
        Node::new("disk", NodeKind::BlockDevice(8, 1)),
        Node::file("empty", ""),
        Node::new("fifo", NodeKind::Fifo),
        Node::file("holes", vec![0; 400_000]),
        Node::new("link", NodeKind::Symlink(b"a dir/to nowhere".to_vec())),
        Node::new("null", NodeKind::CharDevice(1, 3)),
    ];
    sandbox.write_tar("tree.tar", &nodes);
}

#[test]
fn definitions_of_an_image_give_its_bytes_again() {
    let sandbox = crate::sandbox();
    every_kind(&sandbox, "#comment", "\"quoted\" \\ and\ttab");
    sandbox.good_on(
        &["mksquashfs", "-", "first.sqfs", "-tar", "-mkfs-time", "0", "-quiet", "-p", "socket I 7 600 1 2 s"],
        "tree.tar",
    );
    sandbox.good(&["unsquashfs", "-pf", "definitions", "first.sqfs"]);
    let words = ["mksquashfs", "-", "second.sqfs", "-tailends", "-pf", "definitions", "-mkfs-time", "0", "-quiet"];
    sandbox.good(&words);
    let bytes = |name: &str| std::fs::read(sandbox.at(name)).unwrap();
    assert!(bytes("first.sqfs") == bytes("second.sqfs"));
    // Any number of workers, with and without a file.
    for processors in ["1", "3"] {
        let printed = sandbox.good(&["unsquashfs", "-p", processors, "-pf", "-", "first.sqfs"]).stdout;
        assert!(printed == bytes("definitions"));
    }
    let part = sandbox.good(&["unsquashfs", "-no-xattrs", "-pf", "-", "first.sqfs", "a dir"]).text();
    assert!(
        part.starts_with("/ D 1000000 751 11 12\na\\ dir D 5 2775 0 0\n") && part.ends_with("\n#\nsome content"),
        "{part}"
    );
}

#[test]
fn definitions_are_those_of_unsquashfs() {
    if !tools::need(&["unsquashfs"]) {
        return;
    }
    let sandbox = crate::sandbox();
    every_kind(&sandbox, "Comment", "\"quoted\" \\ and blank");
    // Version 4.5 writes no attributes, and no mark of holes.
    sandbox.good_on(&["mksquashfs", "-", "image", "-tar", "-no-xattrs", "-quiet"], "tree.tar");
    sandbox.good(&["unsquashfs", "-pf", "ours", "image"]);
    sandbox.peer("unsquashfs", &["-pf", "peers", "image"]);
    let [ours, peers] = ["ours", "peers"].map(|name| std::fs::read(sandbox.at(name)).unwrap());
    let mark = b"START OF DATA";
    let data = |all: &[u8]| all.windows(mark.len()).position(|part| part == mark).unwrap();
    let lines = |all: &[u8]| -> Vec<String> {
        String::from_utf8(all[..data(all)].to_vec()).unwrap().lines().map(str::to_string).collect()
    };
    let without_mark = |line: &String| {
        if line.split(' ').any(|word| word == "R") {
            line.rsplit_once(' ').unwrap().0.to_string()
        } else {
            line.clone()
        }
    };
    assert_eq!(lines(&ours).iter().map(without_mark).collect::<Vec<_>>(), lines(&peers));
    assert!(ours[data(&ours)..] == peers[data(&peers)..]);
}

#[test]
fn rejects_entries_that_definitions_cannot_express() {
    let sandbox = crate::sandbox();
    sandbox.write_tar("tree.tar", &[Node::dir(""), Node::file("a\nb", "x")]);
    sandbox.good_on(&["pack", "-", "image"], "tree.tar");
    let line = sandbox.bad(1, &["unsquashfs", "-pf", "definitions", "image"]);
    assert!(line.contains("line break") && line.lines().count() == 1 && !sandbox.at("definitions").exists(), "{line}");
}

#[test]
fn malformed_definitions_leave_no_image() {
    let sandbox = with_empty_source();
    for (text, place) in [
        ("\n\na q 1 2\n", "line 3"),
        ("a d 9 0 0\n", "line 1"),
        ("a d 755 nobody-of-this-name 0\n", "line 1"),
        ("# x\na f 644 0 0 exit 3\n", "line 2"),
        ("a R 0 644 0 0 1 0 0\n", "line 1"),
        ("a/b d 755 0 0\n", "line 1"),
    ] {
        sandbox.write("definitions", text);
        let line = sandbox.bad(1, &["mksquashfs", "source", "image", "-pf", "definitions", "-quiet"]);
        let one_line = line.trim_end().lines().count() == 1;
        assert!(one_line && line.contains("definitions") && line.contains(place), "{text:?}: {line}");
        assert!(!sandbox.at("image").exists(), "{text:?}");
    }
}

fn with_empty_source() -> Sandbox {
    let sandbox = crate::sandbox();
    std::fs::create_dir(sandbox.at("source")).unwrap();
    sandbox
}

#[test]
fn sqfstar_matches_peer() {
    if !ready() || !tools::need(&["sqfstar", "tar"]) {
        return;
    }
    let sandbox = with_source();
    sandbox.peer("tar", &["-C", "source", "-cf", "tree.tar", "big", "dir", "empty", "link", "noise", "zero"]);
    for options in [
        "-all-time 9",
        "-comp zstd -all-root -root-mode 0700 -all-time 9 -exports",
        "-no-tailends -b 16K -force-uid 7 -all-time 9",
        // With -no-fragments, mksquashfs 4.5 sometimes crashes.
        "-comp xz -no-duplicates -all-time 9",
    ] {
        for (mut program, image) in
            [(sandbox.command(&["sqfstar"]), "ours.sqfs"), (sandbox.program("sqfstar", &[""; 0]), "peers.sqfs")]
        {
            program.stdin(sandbox.open("tree.tar"));
            let words = format!("-mkfs-time 0 -quiet -no-progress {options}");
            Ran::good(program.args(words.split(' ')).args([image, "dir/t*", "... x.c"]));
        }
        let [ours, peers] = ["ours.sqfs", "peers.sqfs"].map(|image| listing(&sandbox, image, ""));
        assert!(!ours.is_empty() && ours == peers, "{options}: {ours:#?} {peers:#?}");
        // How many fragment blocks there are depends on how tail ends are spread over them.
        let [ours, peers] = ["ours.sqfs", "peers.sqfs"].map(|image| {
            let lines = superblock(&sandbox, image, "-mkfs-time").into_iter();
            lines.filter(|line| !line.starts_with("Number of fragments")).collect::<Vec<_>>()
        });
        assert_eq!(ours, peers, "{options}");
        ["ours.sqfs", "peers.sqfs"].into_iter().for_each(|image| std::fs::remove_file(sandbox.at(image)).unwrap());
    }
    sandbox.write("there", "");
    let ran = Ran::of(sandbox.command(&["sqfstar", "there"]).stdin(sandbox.open("tree.tar")));
    assert!(
        ran.status == 1 && ran.stderr.contains("-force") && std::fs::read(sandbox.at("there")).unwrap().is_empty(),
        "{ran:?}"
    );
}

/// A definition needs a value: `x user.empty=` ends mksquashfs.
#[test]
fn definitions_have_no_empty_attributes() {
    let sandbox = crate::sandbox();
    let file = |name: &str| Node::file(name, "text").xattr("user.empty", *b"").xattr("user.full", *b"v");
    sandbox.write_tar("tree.tar", &[Node::dir(""), file("a"), file("b")]);
    sandbox.good(&["pack", "-q", "tree.tar", "tree.sqfs"]);
    let written = sandbox.good(&["unsquashfs", "-pf", "definitions", "tree.sqfs"]);
    let warning = "unsquashfs: /a: mksquashfs reads no empty extended attribute from a pseudo file";
    assert!(written.stderr.starts_with(warning) && written.stderr.contains("(2 in total)"), "{}", written.stderr);
    let definitions = sandbox.read_text("definitions");
    assert!(!definitions.contains("user.empty") && definitions.contains("b x user.full=v\n"), "{definitions}");
    let none = sandbox.good(&["unsquashfs", "-no-xattrs", "-pf", "definitions", "tree.sqfs"]);
    assert_eq!(none.stderr, "");
    sandbox.good(&["mksquashfs", "-", "again.sqfs", "-pf", "definitions", "-quiet"]);
    sandbox.good(&["diff", "-q", "--no-xattrs", "tree.sqfs", "again.sqfs"]);
}
