//! Effects of sort files and options on an image of `gensquashfs`, and messages for invalid input.

use packline_testkit::{Ran, Random, Sandbox, reader};
use std::fs;

use crate::sandbox;

const BLOCK: usize = 4096;

/// Content that can be found in an image: incompressible, and different for each seed.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    Random::new(seed).noise(length)
}

fn with_files(files: &[(&str, Vec<u8>)]) -> Sandbox {
    let sandbox = sandbox();
    files.iter().for_each(|(name, content)| drop(sandbox.write(format!("source/{name}"), content)));
    sandbox
}

fn pack(sandbox: &Sandbox, arguments: &[&str]) -> (Ran, Vec<u8>) {
    let options = ["-q", "-f", "-c", "zstd", "-b", "4096", "image"];
    let ran = sandbox.good(&[&["gensquashfs"], arguments, &options].concat());
    let report = reader::inspect(&sandbox.at("image")).unwrap();
    assert_eq!(report.problems, Vec::<String>::new(), "{arguments:?}");
    (ran, sandbox.read("image"))
}

fn refused(sandbox: &Sandbox, arguments: &[&str]) -> String {
    sandbox.refused(&[&["gensquashfs"], arguments, &["image"]].concat())
}

fn position(image: &[u8], content: &[u8]) -> Option<usize> {
    image.windows(16).position(|window| window == &content[..16])
}

/// Names in the order in which their contents lie in the image.
fn order<'a>(image: &[u8], files: &'a [(&str, Vec<u8>)]) -> Vec<&'a str> {
    let mut found: Vec<(usize, &str)> =
        files.iter().map(|(name, content)| (position(image, content).unwrap(), *name)).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name).collect()
}

#[test]
fn files_are_packed_by_priority() {
    let names = ["a", "b/one", "b/two", "c", "d e", "z/deep/x.so"];
    let files: Vec<_> = names.iter().zip(1..).map(|(name, seed)| (*name, noise(seed, 2 * BLOCK))).collect();
    let sandbox = with_files(&files);
    assert_eq!(order(&pack(&sandbox, &["-D", "source"]).1, &files), names);
    let plain = reader::inspect(&sandbox.at("image")).unwrap();
    sandbox.write(
        "order",
        "# first this\n-9000000000  z/deep/x.so\n10 [glob] b/*\n-5 b/two\n3 c\n7 [glob] */x.so\n  -6 \"d e\"\n",
    );
    let sorted = ["z/deep/x.so", "d e", "a", "c", "b/one", "b/two"];
    let (ran, image) = pack(&sandbox, &["-D", "source", "-S", "order"]);
    assert_eq!(order(&image, &files), sorted);
    assert_eq!(
        ran.stderr,
        "WARNING: order: line 4: no match for 'b/two'\nWARNING: order: line 6: no match for '*/x.so'\n"
    );
    let report = reader::inspect(&sandbox.at("image")).unwrap();
    assert_eq!(report.tree, plain.tree, "the order changes nothing of the tree");
    sandbox.write("list", "glob / * * * source\n");
    assert_eq!(order(&pack(&sandbox, &["-F", "list", "--sort-file", "order"]).1, &files), sorted);
}

#[test]
fn flags_have_their_effects() {
    let zeros = vec![0; 3 * BLOCK];
    let text = b"compresses very well, ".repeat(1000);
    let files = [
        ("align", noise(1, BLOCK)),
        ("first", noise(2, 100)),
        ("holes", zeros),
        ("same1", noise(3, 3 * BLOCK)),
        ("same2", noise(3, 3 * BLOCK)),
        ("tail", noise(4, BLOCK + 50)),
        ("text", text),
    ];
    let sandbox = with_files(&files);
    let (_, plain) = pack(&sandbox, &["-D", "source", "-B", "8K"]);
    assert!(!position(&plain, &files[6].1).is_some_and(|at| plain[at + 16..].starts_with(&files[6].1[16..BLOCK])));
    for (rule, grows) in [
        ("1 [nosparse,dont_compress] holes", 3 * BLOCK),
        ("1 [dont_deduplicate] same2", 3 * BLOCK),
        ("1 [dont_compress] text", 4 * BLOCK),
    ] {
        sandbox.write("order", rule);
        let (_, image) = pack(&sandbox, &["-D", "source", "-B", "8K", "-S", "order"]);
        assert!(image.len() > plain.len() + grows - BLOCK, "{rule}: {} after {}", image.len(), plain.len());
    }
    sandbox.write("order", "-9 same1\n-8 [align] align\n5 [dont_fragment] tail\n");
    let (_, image) = pack(&sandbox, &["-D", "source", "-B", "8K", "-S", "order"]);
    assert_eq!(position(&image, &files[0].1).unwrap() % 8192, 0);
    let tail = position(&image, &files[5].1[BLOCK..]).unwrap();
    assert_eq!(tail, position(&image, &files[5].1).unwrap() + BLOCK, "the tail end is a block of its own");
}

#[test]
fn wrong_input_is_refused_with_its_line() {
    let sandbox = with_files(&[("a", b"1".to_vec())]);
    for (list, part) in [
        ("dir /a 0755 0 0\nfoo /b 0 0 0\n", "packline: list: line 2: entry type 'foo'"),
        ("file /x 0644 0 0 none\n", "list: line 1: 'none': No such file"),
        ("dir /x 0755 0 0\ndir /x 0755 0 0\n", "list: line 2: 'x' was already added by line 1"),
        ("link /x 0 0 0 /none\n", "list: line 1: 'x' is a hard link to 'none', which does not exist"),
        ("glob / * * * none\n", "list: line 1: 'none' is not a directory"),
    ] {
        sandbox.write("list", list);
        let message = refused(&sandbox, &["-F", "list"]);
        assert!(message.contains(part), "{list}: {message}");
    }
    sandbox.write("order", "1 a\nx b\n");
    sandbox.write("attrs", "user.k=1\n");
    sandbox.write("policy", "\n/(?=x) c\n");
    sandbox.write("acl", "# file: a\nsystem.x=\"1\"\n");
    for (option, name, part) in [
        ("-S", "order", "order: line 2: priority 'x'"),
        ("-A", "attrs", "attrs: line 1: 'user.k=1' before any path"),
        ("-s", "policy", "policy: line 2: pathname '/(?=x)'"),
        ("-A", "acl", "system.x"),
        ("-S", "none", "none: cannot read"),
        ("-A", "none", "none: cannot read"),
        ("-s", "none", "none: cannot read"),
    ] {
        let message = refused(&sandbox, &["-D", "source", option, name]);
        assert!(message.contains(part), "{option} {name}: {message}");
    }
    assert!(refused(&sandbox, &["-F", "none"]).contains("none: cannot read"));
    assert!(refused(&sandbox, &["-D", "none"]).contains("none: cannot open"));
    assert!(refused(&sandbox, &[]).contains("--pack-file or --pack-dir"));
}

#[test]
fn options_of_a_directory_are_not_ignored_silently() {
    let sandbox = with_files(&[("a", b"1".to_vec())]);
    sandbox.write("list", "file /a 0644 0 0 source/a\n");
    let (ran, _) = pack(&sandbox, &["-F", "list", "-k", "-o"]);
    let warning = |option: &str| format!("WARNING: --{option} changes nothing with --pack-file\n");
    assert_eq!(ran.stderr, warning("keep-time") + &warning("one-file-system"));
}

#[test]
fn attributes_of_missing_paths_are_a_warning() {
    let sandbox = with_files(&[("a", b"1".to_vec())]);
    sandbox.write("attrs", "# file: a\nuser.k=\"v\"\n# file: none\nuser.k=\"v\"\n");
    let (ran, _) = pack(&sandbox, &["-D", "source", "-A", "attrs"]);
    assert!(ran.stderr.starts_with("WARNING: attrs: line 3: 'none' is not in the image"), "{}", ran.stderr);
}

#[test]
fn an_output_in_its_own_directory_is_left_out() {
    let sandbox = with_files(&[("a", b"1".to_vec())]);
    sandbox.write("order", "1 a\n");
    let source = sandbox.at("source");
    for arguments in [&["-j1"][..], &["-j2"], &["-S", "../order"], &["-S", "../order"]] {
        let words = [&["gensquashfs", "-q", "-f", "-D", "."], arguments, &["image"]].concat();
        Ran::good(sandbox.command(&words).current_dir(&source));
        let tree = reader::inspect(&source.join("image")).unwrap().tree;
        let paths: Vec<_> = tree.keys().map(|path| String::from_utf8_lossy(path)).collect();
        assert_eq!(paths, ["", "a"], "{arguments:?}");
    }
    assert_eq!(sandbox.names_in("source").len(), 2);
}

#[test]
fn workers_and_readers_change_nothing() {
    let files: Vec<_> =
        (0..40u64).map(|seed| (format!("d{}/f{seed}", seed % 7), noise(seed, 700 * seed as usize + 1))).collect();
    let files: Vec<_> = files.iter().map(|(name, content)| (name.as_str(), content.clone())).collect();
    let sandbox = with_files(&files);
    sandbox.write("list", "glob /x * * * source\nglob /y 0600 1 1 -nohardlinks source\n");
    sandbox.write("order", "-1 [glob] y/d3/*\n2 [glob_no_path] x*5\n");
    let images: Vec<_> =
        ["1", "2", "7"].iter().map(|jobs| pack(&sandbox, &["-F", "list", "-S", "order", "-j", jobs]).1).collect();
    assert!(images.windows(2).all(|pair| pair[0] == pair[1]));
    let again = fs::canonicalize(sandbox.at("list")).unwrap();
    assert_eq!(pack(&sandbox, &["-F", again.to_str().unwrap(), "-S", "order"]).1, images[0]);
}
