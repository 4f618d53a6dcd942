//! `list`, `cat`, `info` and `verify` of tars and of standard input.

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::{Sandbox, generate, tools};
use serde_json::Value;

use crate::inspect::support::{pack, quiet, with_source, zoo};

/// A sandbox with the tree of [`zoo`] as tars in all compressions, with their names.
fn tars() -> Option<(Sandbox, Vec<String>)> {
    let programs = ["gzip", "xz", "zstd", "bzip2", "lz4"];
    if !tools::root() || !tools::need(&programs) {
        return None;
    }
    let sandbox = with_source(&zoo());
    let mut names = vec!["source.tar".to_string(), "source.lrz".to_string()];
    for program in programs {
        let name = format!("source.tar.{program}");
        assert_eq!(sandbox.shell(&format!("{program} -c source.tar > {name}")).status, 0);
        names.push(name);
    }
    quiet(&sandbox, &["pack", "source.tar", "source.lrz", "-q"]);
    Some((sandbox, names))
}

#[test]
fn cat_prints_files_of_tar() {
    let Some((sandbox, names)) = tars() else { return };
    let read = |name: &str| sandbox.read(format!("source/{name}"));
    for name in &names {
        // Paths in the order of the tar and against it, links, and the same path twice.
        let expected = [read("e/small"), read("d/hole"), read("d/big"), read("d/big"), read("d/f")].concat();
        let paths = ["e/small", "/d/hole", "./d/big", "e/root", "d/up"];
        assert!(quiet(&sandbox, &[&["cat", name], &paths[..]].concat()).stdout == expected, "{name}");
        assert_eq!(quiet(&sandbox, &["cat", name, "d/hard", "--mem", "96M", "-j", "0"]).stdout, b"hello", "{name}");
        let piped = sandbox.shell(&format!("cat {name} | $P cat - e/small d/hole d/big e/root d/up"));
        assert!(piped.stdout == expected && piped.stderr.is_empty(), "{name}: {piped:?}");
        for (path, what) in
            [("d", "is a directory"), ("dev", "not a regular file"), ("nope", "no such entry"), ("loop", "too many")]
        {
            let ran = sandbox.run(&["cat", name, "d/f", path]);
            assert_eq!((ran.status, ran.stdout.len()), (1, 0), "{name} {path}");
            assert!(ran.stderr.contains(what) && ran.stderr.contains(path), "{}", ran.stderr);
        }
    }
}

#[test]
fn a_tar_is_read_as_it_would_be_unpacked() {
    let sandbox = crate::sandbox();
    let link = |path: &str, target: &str| Node::new(path, NodeKind::HardLink(target.as_bytes().to_vec()));
    let nodes = [
        link("early", "d/file"),
        Node::dir("d"),
        Node::file("d/file", *b"old"),
        Node::new("lib", NodeKind::Symlink(b"d/../d".to_vec())),
        link("hard", "d/file"),
        Node::file("d/file", *b"new"),
    ];
    sandbox.write_tar("tar", &nodes);
    let cat = |paths: &[&str]| quiet(&sandbox, &[&["cat", "tar"], paths].concat()).text();
    assert_eq!((cat(&["d/file"]), cat(&["lib/file"]), cat(&["hard"])), ("new".into(), "new".into(), "old".into()));
    assert_eq!(cat(&["early"]), "new");
    assert_eq!(cat(&["d/file", "hard", "d/file", "hard"]), "newoldnewold");
    sandbox.good(&["pack", "-q", "tar", "image"]);
    let of_image = quiet(&sandbox, &["cat", "image", "d/file", "lib/file", "hard", "early"]).text();
    assert_eq!(cat(&["d/file", "lib/file", "hard", "early"]), of_image);
}

#[test]
fn too_many_entries_for_the_memory_are_an_error() {
    let sandbox = crate::sandbox();
    let nodes: Vec<Node> = (0..60_000).map(|at| Node::file(format!("{at:0100}"), *b"")).collect();
    sandbox.write_tar("tar", &nodes);
    let refusal = sandbox.refused(&["cat", "tar", "x", "--mem", "8M"]);
    assert!(
        refusal.contains("the names of the entries of tar") && refusal.contains("give a larger --mem"),
        "{refusal}"
    );
    assert_eq!(quiet(&sandbox, &["cat", "tar", &format!("{:0100}", 7), "--mem", "64M"]).stdout, b"");
}

#[test]
fn info_counts_the_entries_of_a_tar() {
    let Some((sandbox, names)) = tars() else { return };
    for name in names.iter().filter(|name| !name.ends_with(".lrz")) {
        let info: Value = serde_json::from_str(&quiet(&sandbox, &["info", "--json", name]).text()).unwrap();
        let count = |key: &str| info[key].as_u64().unwrap();
        assert_eq!(
            [count("files"), count("directories"), count("symlinks"), count("hard_links")],
            [6, 4, 4, 1],
            "{name}"
        );
        assert_eq!([count("devices"), count("fifos"), count("with_xattrs")], [2, 1, 1], "{name}");
        assert_eq!((count("content_bytes"), count("size")), (700_907, sandbox.read(name).len() as u64), "{name}");
        let compression = name.strip_prefix("source.tar.");
        assert_eq!(info["compression"].as_str(), compression, "{name}");
        let text = quiet(&sandbox, &["info", name]).text();
        assert!(text.contains(&format!("Compression: {}\n", compression.unwrap_or("none"))), "{text}");
        assert_eq!(sandbox.shell(&format!("cat {name} | $P info -")).text(), text);
    }
}

#[test]
fn verify_reads_tars_to_the_end() {
    let Some((sandbox, names)) = tars() else { return };
    for name in names.iter().filter(|name| !name.ends_with(".lrz")) {
        let text = quiet(&sandbox, &["verify", name]).text();
        assert!(
            text.starts_with(&format!("{name}: readable to its end\n18 entries with 684.5 KiB of content")),
            "{text}"
        );
        let whole = sandbox.read(name);
        sandbox.write("cut", &whole[..whole.len() * 2 / 3]);
        let ran = sandbox.run(&["verify", "cut", "--json"]);
        let fault: Value = serde_json::from_str(&ran.text()).unwrap();
        assert_eq!((ran.status, &fault["finding"], &fault["file"]), (1, &"fault".into(), &"cut".into()), "{name}");
    }
    // Cut off between two entries: only the mark at the end shows it.
    let whole = sandbox.read("source.tar");
    let end = whole.len() - whole.iter().rev().take_while(|byte| **byte == 0).count();
    sandbox.write("cut", &whole[..end.next_multiple_of(512)]);
    let ran = sandbox.run(&["verify", "cut"]);
    assert!(ran.status == 1 && ran.text().contains("ends without an end mark"), "{ran:?}");
    assert_eq!(sandbox.run(&["list", "cut"]).status, 0);
}

#[test]
fn reads_standard_input_like_file() {
    if !tools::root() {
        return;
    }
    let sandbox = with_source(&zoo());
    pack(&sandbox, "image", &["-c", "none", "-b", "4K"]);
    quiet(&sandbox, &["pack", "-q", "source", "x.lrz"]);
    quiet(&sandbox, &["compress", "-q", "source/d/big", "-o", "pln"]);
    sandbox.write("behind", [vec![7; 5000], sandbox.read("image")].concat());
    for words in [
        "list -l image",
        "list --json image e",
        "list -l source.tar",
        "list x.lrz",
        "cat image d/f d/big",
        "cat x.lrz d/f",
        "cat x.lrz",
        "cat source.tar d/f",
        "cat pln",
        "cat pln --range 5..500",
        "info image",
        "info --json image",
        "info x.lrz",
        "info --json pln",
        "info source.tar",
        "list --offset 5000 behind",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let known = ["image", "x.lrz", "pln", "source.tar", "behind"];
        let name = words.iter().find(|word| known.contains(word)).unwrap();
        let expected = quiet(&sandbox, &words).stdout;
        let dashed: Vec<&str> = words.iter().map(|word| if word == name { "-" } else { word }).collect();
        // The name is part of reports.
        let same = |found: &[u8], shown: &str| {
            found == expected
                || String::from_utf8_lossy(found) == String::from_utf8_lossy(&expected).replace(name, shown)
        };
        let opened = sandbox.good_on(&dashed, name);
        assert!(same(&opened.stdout, "standard input"), "{words:?}: {opened:?}");
        let piped = sandbox.shell(&format!("cat {name} | $P {}", dashed.join(" ")));
        assert!(piped.status == 0 && same(&piped.stdout, "standard input"), "{words:?}: {piped:?}");
    }
    for name in ["image", "x.lrz", "pln", "source.tar"] {
        let opened = sandbox.good_on(&["verify", "-"], name);
        let piped = sandbox.shell(&format!("cat {name} | $P verify -"));
        let verdict = if name == "source.tar" { "readable to its end" } else { "sound" };
        assert!(opened.text().starts_with(&format!("standard input: {verdict}")), "{name}: {opened:?}");
        assert!(
            piped.text().starts_with(&format!("standard input: {verdict}")) && piped.status == 0,
            "{name}: {piped:?}"
        );
    }
    // From where it is read, if that is not its start.
    let rest = sandbox.shell("(head -c 5000 > /dev/null; $P cat - d/f) < behind");
    assert_eq!((rest.text().as_str(), rest.status), ("hello", 0), "{rest:?}");
}

#[test]
fn stores_piped_image_in_unnamed_file() {
    let sandbox = crate::sandbox();
    sandbox.write("source/random", packline_testkit::Random::new(1).noise(9 << 20));
    sandbox.good(&["pack", "-q", "source", "image"]);
    sandbox.create_dir("tmp");
    let listed = sandbox.shell("cat image | TMPDIR=$PWD/tmp $P list -");
    assert_eq!((listed.text().as_str(), listed.status), (".\nrandom\n", 0), "{listed:?}");
    assert!(sandbox.names_in("tmp").is_empty());
    let refused = sandbox.shell("cat image | TMPDIR=/nonexistent $P list -");
    assert!(refused.status == 1 && refused.stderr.contains("standard input: "), "{refused:?}");
}

#[test]
fn verifies_all_files_despite_faults() {
    let sandbox = crate::sandbox();
    sandbox.write("source/file", generate::small_tree(1, 4096).len().to_string());
    sandbox.good(&["pack", "-q", "source", "good"]);
    sandbox.good(&["compress", "-q", "source/file", "-o", "pln"]);
    let mut bytes = sandbox.read("pln");
    bytes[40] ^= 1;
    sandbox.write("bad", bytes);
    let ran = sandbox.run(&["verify", "bad", "none", "good", "pln"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.stderr.starts_with("packline: none: cannot open: ") && ran.stderr.lines().count() == 1, "{ran:?}");
    let text = ran.text();
    assert!(text.starts_with("bad: record 0, at byte 32: ") && text.contains("\nbad: 1 fault\n"), "{text}");
    assert!(text.contains("\ngood: sound\ngood: 1 file, 1 directory\n"), "{text}");
    assert!(text.contains("\npln: sound\npln: 1 record intact, "), "{text}");
    let json = sandbox.run(&["verify", "--json", "good", "bad"]);
    let lines: Vec<Value> = json.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |line: &Value| (line["file"].as_str().unwrap().to_string(), line["faults"].as_u64());
    let expected =
        [("good", Some(0)), ("bad", None), ("bad", Some(1))].map(|(name, faults)| (name.to_string(), faults));
    assert_eq!(lines.iter().map(of).collect::<Vec<_>>(), expected);
    assert_eq!(sandbox.run(&["verify", "-q", "good", "pln"]).text(), "");
}

#[test]
fn names_of_owners_are_shown() {
    if !tools::root() {
        return;
    }
    let sandbox =
        with_source(&[Node::dir(""), Node::file("mine", *b"x"), Node::file("theirs", *b"y").owner(4_000_000_000, 7)]);
    pack(&sandbox, "image", &[]);
    let of = |words: &[&str]| quiet(&sandbox, words).text();
    let listed = of(&["list", "-l", "image"]);
    assert!(listed.contains(" root/root ") && listed.contains(" 4000000000/"), "{listed}");
    let numbers = of(&["list", "-l", "--numeric-owner", "image"]);
    assert!(numbers.contains(" 0/0 ") && numbers.contains(" 4000000000/7 "), "{numbers}");
    // A tar has its own names, in the header or, if they are long, in a PAX record.
    let long = "u".repeat(40);
    for format in ["v7", "gnu", "ustar", "pax"] {
        let owner = if format == "pax" { &long } else { "ann" };
        let script = format!("tar --format={format} --owner={owner}:7 --group=staff:8 -C source -cf own.tar mine");
        assert_eq!(sandbox.shell(&script).status, 0);
        let listed = of(&["list", "-l", "own.tar"]);
        let theirs = sandbox.peer("tar", &["-tvf", "own.tar"]).text();
        let owner = theirs.split_whitespace().nth(1).unwrap();
        assert_eq!(listed.split_whitespace().nth(1), Some(owner), "{format}: {listed}{theirs}");
        assert_eq!(owner.starts_with('7'), format == "v7", "{theirs}");
    }
}

#[test]
fn prints_ranges_of_files_in_images() {
    let sandbox = crate::sandbox();
    let content: Vec<u8> = (0..9_000u32).flat_map(u32::to_be_bytes).collect();
    sandbox.write("source/f", &content);
    sandbox.good(&["pack", "-q", "-b", "4K", "source", "i.sqfs"]);
    sandbox.good(&["compress", "-q", "-c", "none", "i.sqfs"]);
    for (range, expected) in [
        ("..", 0..36_000),
        ("4095..4097", 4_095..4_097),
        ("100..20000", 100..20_000),
        ("35999..", 35_999..36_000),
        ("36000..", 36_000..36_000),
        ("7..7", 7..7),
    ] {
        for image in ["i.sqfs", "i.sqfs.pln"] {
            let printed = sandbox.good(&["cat", "--range", range, image, "f"]).stdout;
            assert!(printed == content[expected.clone()], "{range} {image}: {} bytes", printed.len());
        }
    }
    for range in ["0..36001", "36001.."] {
        let line = sandbox.refused(&["cat", "--range", range, "i.sqfs", "f"]);
        assert!(line.contains("i.sqfs: f: has no byte 36000 (expected a range within 36000 bytes)"), "{line}");
    }
}
