//! What sort files and options do to an image of `gensquashfs`, and how it refuses what is wrong.

use packline_testkit::packer::{Packer, left_in, refusal};
use packline_testkit::{Random, reader, tools};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const BLOCK: usize = 4096;

/// Files that are found again in an image: bytes that do not compress, each another's.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    Random::new(seed).noise(length)
}

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new(files: &[(&str, Vec<u8>)]) -> Place {
        let place = Place { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(place.path("source")).unwrap();
        fs::create_dir(place.path("out")).unwrap();
        for (name, content) in files {
            let path = place.path("source").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(Packer::new(env!("CARGO_BIN_EXE_packline")).binary());
        command.arg("gensquashfs").args(arguments).arg("out/image").current_dir(self.directory.path());
        command.env_remove("SOURCE_DATE_EPOCH").stdin(Stdio::null());
        command
    }

    fn pack(&self, arguments: &[&str]) -> (Output, Vec<u8>) {
        let output = tools::run(self.command(arguments).args(["-q", "-f", "-c", "zstd", "-b", "4096"])).unwrap();
        let report = reader::inspect(&self.path("out/image")).unwrap();
        assert_eq!(report.problems, Vec::<String>::new(), "{arguments:?}");
        (output, fs::read(self.path("out/image")).unwrap())
    }

    fn refused(&self, arguments: &[&str]) -> String {
        refusal(self.command(arguments), &self.path("out"))
    }

    fn list(&self, name: &str, text: &str) -> &Place {
        fs::write(self.path(name), text).unwrap();
        self
    }
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
    let place = Place::new(&files);
    assert_eq!(order(&place.pack(&["-D", "source"]).1, &files), names);
    let plain = reader::inspect(&place.path("out/image")).unwrap();
    place.list(
        "order",
        "# first this\n-9000000000  z/deep/x.so\n10 [glob] b/*\n-5 b/two\n3 c\n7 [glob] */x.so\n  -6 \"d e\"\n",
    );
    let sorted = ["z/deep/x.so", "d e", "a", "c", "b/one", "b/two"];
    let (output, image) = place.pack(&["-D", "source", "-S", "order"]);
    assert_eq!(order(&image, &files), sorted);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said, "WARNING: order: line 4: no match for 'b/two'\nWARNING: order: line 6: no match for '*/x.so'\n");
    let report = reader::inspect(&place.path("out/image")).unwrap();
    assert_eq!(report.tree, plain.tree, "the order changes nothing of the tree");
    place.list("list", "glob / * * * source\n");
    assert_eq!(order(&place.pack(&["-F", "list", "--sort-file", "order"]).1, &files), sorted);
}

#[test]
fn flags_do_what_they_say() {
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
    let place = Place::new(&files);
    let (_, plain) = place.pack(&["-D", "source", "-B", "8K"]);
    assert!(!position(&plain, &files[6].1).is_some_and(|at| plain[at + 16..].starts_with(&files[6].1[16..BLOCK])));
    for (rule, grows) in [
        ("1 [nosparse,dont_compress] holes", 3 * BLOCK),
        ("1 [dont_deduplicate] same2", 3 * BLOCK),
        ("1 [dont_compress] text", 4 * BLOCK),
    ] {
        place.list("order", rule);
        let (_, image) = place.pack(&["-D", "source", "-B", "8K", "-S", "order"]);
        assert!(image.len() > plain.len() + grows - BLOCK, "{rule}: {} after {}", image.len(), plain.len());
    }
    place.list("order", "-9 same1\n-8 [align] align\n5 [dont_fragment] tail\n");
    let (_, image) = place.pack(&["-D", "source", "-B", "8K", "-S", "order"]);
    assert_eq!(position(&image, &files[0].1).unwrap() % 8192, 0);
    let tail = position(&image, &files[5].1[BLOCK..]).unwrap();
    assert_eq!(tail, position(&image, &files[5].1).unwrap() + BLOCK, "the tail end is a block of its own");
}

#[test]
fn wrong_input_is_refused_with_its_line() {
    let place = Place::new(&[("a", b"1".to_vec())]);
    for (list, part) in [
        ("dir /a 0755 0 0\nfoo /b 0 0 0\n", "packline: list: line 2: entry type `foo`"),
        ("file /x 0644 0 0 none\n", "list: line 1: `none`: No such file"),
        ("dir /x 0755 0 0\ndir /x 0755 0 0\n", "list: line 2: `x` is there already, from line 1"),
        ("link /x 0 0 0 /none\n", "list: line 1: `x` is a hard link to `none`, which is not there"),
        ("glob / * * * none\n", "list: line 1: `none` is not a directory"),
    ] {
        place.list("list", list);
        let said = place.refused(&["-F", "list"]);
        assert!(said.contains(part), "{list}: {said}");
    }
    place
        .list("order", "1 a\nx b\n")
        .list("attrs", "user.k=1\n")
        .list("policy", "\n/(?=x) c\n")
        .list("acl", "# file: a\nsystem.x=\"1\"\n");
    for (option, name, part) in [
        ("-S", "order", "order: line 2: priority `x`"),
        ("-A", "attrs", "attrs: line 1: `user.k=1` before any path"),
        ("-s", "policy", "policy: line 2: pathname `/(?=x)`"),
        ("-A", "acl", "system.x"),
        ("-S", "none", "none: cannot read"),
        ("-A", "none", "none: cannot read"),
        ("-s", "none", "none: cannot read"),
    ] {
        let said = place.refused(&["-D", "source", option, name]);
        assert!(said.contains(part), "{option} {name}: {said}");
    }
    assert!(place.refused(&["-F", "none"]).contains("none: cannot read"));
    assert!(place.refused(&["-D", "none"]).contains("none: cannot open"));
    assert!(place.refused(&[]).contains("--pack-file or --pack-dir"));
}

#[test]
fn options_of_a_directory_are_not_ignored_silently() {
    let place = Place::new(&[("a", b"1".to_vec())]);
    place.list("list", "file /a 0644 0 0 source/a\n");
    let (output, _) = place.pack(&["-F", "list", "-k", "-o"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let warning = |option: &str| format!("WARNING: --{option} changes nothing with --pack-file\n");
    assert_eq!(said, warning("keep-time") + &warning("one-file-system"));
}

#[test]
fn attributes_of_paths_that_are_not_there_are_told() {
    let place = Place::new(&[("a", b"1".to_vec())]);
    place.list("attrs", "# file: a\nuser.k=\"v\"\n# file: none\nuser.k=\"v\"\n");
    let (output, _) = place.pack(&["-D", "source", "-A", "attrs"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("WARNING: attrs: line 3: `none` is not in the image"), "{said}");
}

#[test]
fn an_output_in_its_own_directory_is_left_out() {
    let place = Place::new(&[("a", b"1".to_vec())]);
    place.list("order", "1 a\n");
    let source = place.path("source");
    for arguments in [&["-j1"][..], &["-j2"], &["-S", "../order"], &["-S", "../order"]] {
        let mut command = Command::new(Packer::new(env!("CARGO_BIN_EXE_packline")).binary());
        command.args(["gensquashfs", "-q", "-f", "-D", "."]).args(arguments).arg("image").current_dir(&source);
        tools::run(command.stdin(Stdio::null())).unwrap();
        let tree = reader::inspect(&source.join("image")).unwrap().tree;
        let paths: Vec<_> = tree.keys().map(|path| String::from_utf8_lossy(path)).collect();
        assert_eq!(paths, ["", "a"], "{arguments:?}");
    }
    assert_eq!(left_in(&place.path("source")).len(), 2);
}

#[test]
fn workers_and_readers_change_nothing() {
    let files: Vec<_> =
        (0..40u64).map(|seed| (format!("d{}/f{seed}", seed % 7), noise(seed, 700 * seed as usize + 1))).collect();
    let files: Vec<_> = files.iter().map(|(name, content)| (name.as_str(), content.clone())).collect();
    let place = Place::new(&files);
    place
        .list("list", "glob /x * * * source\nglob /y 0600 1 1 -nohardlinks source\n")
        .list("order", "-1 [glob] y/d3/*\n2 [glob_no_path] x*5\n");
    let images: Vec<_> =
        ["1", "2", "7"].iter().map(|jobs| place.pack(&["-F", "list", "-S", "order", "-j", jobs]).1).collect();
    assert!(images.windows(2).all(|pair| pair[0] == pair[1]));
    let again = fs::canonicalize(Path::new(&place.path("list"))).unwrap();
    assert_eq!(place.pack(&["-F", again.to_str().unwrap(), "-S", "order"]).1, images[0]);
}
