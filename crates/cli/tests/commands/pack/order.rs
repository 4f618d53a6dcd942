//! `pack --order` stores contents in the requested order; the tree is the same, and the bytes depend only on the input.

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::{Random, Sandbox, generate, reader, snapshot, views};

use crate::sandbox;

/// The bytes of an image of `sources`.
fn pack(sandbox: &Sandbox, sources: &[&str], options: &[&str]) -> Vec<u8> {
    sandbox.good(&[&["pack", "-q", "-f"], sources, &["image.sqfs"], options].concat());
    sandbox.read("image.sqfs")
}

/// Families of contents that have most in common, their members far apart; large files with tail ends between them.
fn families() -> Vec<Node> {
    let mut random = Random::new(5);
    let mut nodes = vec![Node::dir("").time(5)];
    let texts: Vec<Vec<u8>> = (0..12).map(|_| random.noise(5_000)).collect();
    for directory in 0..10 {
        nodes.push(Node::dir(format!("{directory}")).time(5));
        for (family, text) in texts.iter().enumerate() {
            let mut content = text.clone();
            content.splice(2_000..2_100, random.noise(50 + directory));
            nodes.push(Node::file(format!("{directory}/{family:02}"), content).time(5));
        }
        nodes.push(Node::file(format!("{directory}/large"), random.prose(70_000)).time(5));
        nodes.push(Node::file(format!("{directory}/none"), "").time(5));
        nodes.push(Node::file(format!("{directory}/tiny"), format!("{directory}")).time(5));
    }
    nodes.push(Node::new("0/link", NodeKind::HardLink(b"9/03".to_vec())));
    nodes
}

#[test]
fn stores_similar_files_together() {
    let sandbox = sandbox();
    sandbox.plant("source", &families());
    for block in ["16K", "64K"] {
        let [path, similar] =
            ["path", "similar"].map(|order| pack(&sandbox, &["source"], &["-b", block, "--order", order]).len());
        assert!(similar < path * 2 / 3, "{block}: {similar} {path}");
    }
}

#[test]
fn bytes_depend_only_on_tree() {
    let sandbox = sandbox();
    let nodes = families();
    sandbox.plant("source", &nodes);
    sandbox.write_tar("source.tar", &nodes);
    sandbox.shell("gzip -k source.tar && tar --sort=name -C source -cf sorted.tar .");
    let plain = ["--all-root", "-c", "gzip:level=1", "-b", "16K"];
    sandbox.good(&[&["pack", "-q", "source", "source.sqfs", "-b", "64K"], &plain[..3]].concat());
    sandbox.good(&[&["pack", "-q", "source", "base.sqfs"], &plain[..]].concat());
    sandbox.write("list", "# boot\n5/tiny\n/9/large\n./0/link\n");
    let by_path = pack(&sandbox, &["source"], &plain);
    for order in ["path", "similar", "list", "list,similar"] {
        let pack = |source: &str, options: &[&str]| {
            pack(&sandbox, &[source], &[&plain[..], &["--order", order], options].concat())
        };
        let reference = pack("source", &["--serial"]);
        assert_eq!(reference == by_path, order == "path", "{order}");
        for source in ["source", "source.tar", "source.tar.gz", "sorted.tar", "source.sqfs"] {
            for options in [
                &["-j", "0"][..],
                &["-j", "1", "--verify"],
                &["-j", "2", "--cache", "cache"],
                &["-j", "7", "--mem", "64M"],
                &["--base", "base.sqfs"],
            ] {
                assert!(pack(source, options) == reference, "{order} {source} {options:?}: other bytes");
            }
        }
        let options = [&["pack", "-q", "-f", "-", "image.sqfs"], &plain[..], &["--order", order]].concat();
        sandbox.good_on(&options, "source.tar.gz");
        assert!(sandbox.read("image.sqfs") == reference, "{order}: other bytes from a stream");
    }
}

#[test]
fn layers_and_filters_have_the_order_of_their_result() {
    let sandbox = sandbox();
    let nodes = families();
    let (low, high) = nodes.split_at(70);
    sandbox.plant("source", &nodes);
    sandbox.write_tar("low.tar", low);
    sandbox.write_tar("high.tar", high);
    let options = ["--all-root", "-c", "none", "-b", "16K", "--order", "similar"];
    for more in
        [&[][..], &["-x", "3", "-x", "*1"], &["--remove", "*1"], &["--root-becomes", "7"], &["--layout", "stable"]]
    {
        let options = [&options, more].concat();
        let merged = pack(&sandbox, &["source"], &options);
        assert!(pack(&sandbox, &["low.tar", "high.tar"], &options) == merged, "{more:?}");
    }
}

#[test]
fn all_programs_see_the_tree() {
    if !views::available() {
        return;
    }
    let sandbox = sandbox();
    let nodes = generate::small_tree(12, 1 << 15);
    sandbox.plant("source", &nodes);
    let expected = snapshot::of_model(&nodes, true);
    for line in
        ["--order=similar -b 32K", "--order=similar -b 1M -c xz:level=0 --fragments=small", "--order=path -b 4K -c lz4"]
    {
        pack(&sandbox, &["source"], &line.split(' ').collect::<Vec<_>>());
        sandbox.good(&["verify", "image.sqfs"]);
        views::assert_all_agree(line, &sandbox.at("image.sqfs"), &expected, sandbox.path());
    }
}

/// Names in the order in which their contents lie in an image that is not compressed.
fn order<'n>(image: &[u8], files: &'n [(&str, Vec<u8>)]) -> Vec<&'n str> {
    let place = |content: &[u8]| image.windows(16).position(|window| window == &content[..16]).unwrap();
    let mut found: Vec<_> = files.iter().map(|(name, content)| (place(content), *name)).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name).collect()
}

#[test]
fn listed_files_come_first() {
    let sandbox = sandbox();
    let noise = |seed| Random::new(seed).noise(6_000);
    let files: Vec<_> = ["a", "b/x", "b.c", "c", "d e"].into_iter().zip((0..).map(noise)).collect();
    let mut nodes: Vec<_> = ["c", "d e", "a", "b.c", "b/x"]
        .map(|name| Node::file(name, files.iter().find(|file| file.0 == name).unwrap().1.clone()))
        .into();
    nodes.extend([Node::dir(""), Node::dir("b"), Node::new("l", NodeKind::HardLink(b"c".to_vec()))]);
    nodes.extend([Node::new("s", NodeKind::Symlink(b"a".to_vec()))]);
    sandbox.write_tar("x.tar", &nodes);
    sandbox.write("similar", "d e\nnone\nl\n\n# comment\n/b\ns\nc\n");
    sandbox.write("one", "c\nabsent\n");
    let pack = |order: &str| {
        let words = ["pack", "-f", "x.tar", "x.sqfs", "-c", "none", "-b", "4K", "--no-fragments", "--order", order];
        let ran = sandbox.good(&words);
        let report = reader::inspect(&sandbox.at("x.sqfs")).unwrap();
        assert_eq!(report.problems, Vec::<String>::new(), "{order}");
        (order_of(&sandbox, &files), report.tree, ran.stderr)
    };
    let (found, tree, _) = pack("input");
    assert_eq!(found, ["c", "d e", "a", "b.c", "b/x"]);
    for (value, expected, warning) in [
        ("path", ["a", "b/x", "b.c", "c", "d e"], ""),
        ("similar", ["a", "b/x", "b.c", "c", "d e"], ""),
        (
            "./similar",
            ["d e", "c", "b/x", "a", "b.c"],
            "./similar: 2 lines do not name a file of the source, such as 'none' (line 2)",
        ),
        ("one,similar", ["c", "a", "b/x", "b.c", "d e"], "one: line 2: 'absent' is not a file of the source"),
    ] {
        let (found, same, stderr) = pack(value);
        assert_eq!(found, expected, "{value}");
        assert!(same == tree, "{value}: the order changes nothing of the tree");
        assert!(stderr.contains(warning) && stderr.contains("file of the source") != warning.is_empty(), "{stderr}");
    }
}

#[test]
fn listed_directory_stands_for_its_files_by_path() {
    let sandbox = sandbox();
    let names = ["a", "b/c/x", "b/c.x", "b/d", "b/e", "f"];
    let files: Vec<_> = names.into_iter().zip((0..).map(|seed| Random::new(seed).noise(6_000))).collect();
    files.iter().for_each(|(name, content)| drop(sandbox.write(format!("source/{name}"), content)));
    let options = ["-c", "none", "-b", "4K", "--no-fragments", "--order", "list"];
    for (list, expected) in [
        ("f\nb\n", ["f", "b/c/x", "b/c.x", "b/d", "b/e", "a"]),
        ("b/e\nb/\nb/d\nf\n", ["b/e", "b/c/x", "b/c.x", "b/d", "f", "a"]),
        ("b/c\n/b\na\nb\n", ["b/c/x", "b/c.x", "b/d", "b/e", "a", "f"]),
    ] {
        sandbox.write("list", list);
        let ran = sandbox.good(&[&["pack", "-q", "-f", "source", "x.sqfs"][..], &options].concat());
        assert_eq!((order_of(&sandbox, &files), ran.stderr.as_str()), (expected.to_vec(), ""), "{list}");
    }
}

fn order_of<'n>(sandbox: &Sandbox, files: &'n [(&str, Vec<u8>)]) -> Vec<&'n str> {
    order(&sandbox.read("x.sqfs"), files)
}

#[test]
fn rejects_order_without_effect() {
    let sandbox = sandbox();
    sandbox.write("source/a", "a");
    sandbox.write("bad", "a\n../b\n");
    for (words, status, part) in [
        (&["source", "x.sqfs", "--order", "simular"][..], 2, "--order: simular: cannot read: "),
        (&["source", "x.sqfs", "--order", "-"], 2, "a list cannot come from standard input; name a file"),
        (&["source", "x.sqfs", "--order", "bad"], 1, "bad: line 2: '../b' is not a path in an image"),
        (
            &["source", "x.sqfs", "--order", "similar", "--continue"],
            2,
            "--order: only --order=input can be used with --continue",
        ),
        (
            &["source", "x.sqfs", "--order", "similar", "-j", "1", "-c", "gzip", "-b", "16K", "--mem", "23M"],
            1,
            "source: comparing 1 files may need ",
        ),
        (&["source", "x.lrz", "--order", "path"], 2, "--order: a .lrz file stores a tar in its own order"),
    ] {
        let line = sandbox.bad(status, &[&["pack"], words].concat());
        assert!(line.contains(part), "{words:?}: {line}");
        assert_eq!(sandbox.names(), ["bad", "source"], "{words:?}");
    }
    sandbox.good(&["pack", "-q", "source", "x.sqfs", "--order", "similar", "--dry-run"]);
    sandbox.good(&["pack", "-q", "source", "x.sqfs", "--order", "input", "--continue"]);
}

#[test]
fn the_smallest_image_is_that_of_the_strongest_codec_and_similar_order() {
    let sandbox = sandbox();
    sandbox.plant("source", &families());
    for (codec, strongest) in [("xz:arm64", "xz:level=max,x86,arm64"), ("zstd", "zstd:level=max"), ("lz4", "lz4:hc")] {
        let smallest = pack(&sandbox, &["source"], &["-b", "16K", "-c", codec, "--smallest"]);
        let named = pack(&sandbox, &["source"], &["-b", "16K", "-c", strongest, "--order", "similar", "-j", "0"]);
        assert!(smallest == named, "{codec}");
        let by_path = pack(&sandbox, &["source"], &["-b", "16K", "-c", codec, "--smallest", "--order", "input"]);
        assert!(by_path == pack(&sandbox, &["source"], &["-b", "16K", "-c", strongest]), "{codec}");
    }
}
