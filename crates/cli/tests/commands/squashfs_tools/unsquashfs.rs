//! Compares `unsquashfs` and `sqfscat` with those of squashfs-tools, where its releases 4.5.1 and 4.7.5 agree.

use packline_testkit::mount::{self, Mounted};
use packline_testkit::snapshot::{Except, assert_same};
use packline_testkit::{Ran, Sandbox, generate, tools};

use crate::PACKLINE;

/// Printed lines, except the lines that differ between releases 4.5.1 and 4.7.5.
pub fn lines(text: &[u8]) -> Vec<String> {
    let of_one = ["Always-use-fragments", "Tailends", "\tCompression-level", "\tAcceleration"];
    let of_both = |line: &&str| !of_one.iter().any(|start| line.starts_with(start));
    String::from_utf8_lossy(text).lines().filter(of_both).map(str::to_string).collect()
}

/// A tree as `source`, and images of it, on a file system that keeps every attribute.
struct Images {
    sandbox: Sandbox,
    _mount: Mounted,
}

impl Images {
    /// `None` where a program or a privilege is missing.
    fn new(seed: u64) -> Option<Images> {
        let programs = ["unsquashfs", "sqfscat", "mksquashfs", "setfattr", "setpriv"];
        if !tools::need(&programs) || !mount::scratch_available() {
            return None;
        }
        let mount = Mounted::scratch(1 << 28).unwrap();
        let sandbox = Sandbox::within(PACKLINE, mount.path());
        sandbox.plant("source", &generate::small_tree(seed, 4096));
        Some(Images { sandbox, _mount: mount })
    }

    fn by_mksquashfs(&self, options: &[&str]) {
        let words = ["source", "image", "-noappend", "-no-progress", "-quiet", "-b", "16K"];
        self.sandbox.peer("mksquashfs", &[&words, options].concat());
    }

    fn by_packline(&self, codec: &str) {
        self.sandbox.good(&["pack", "-q", "-f", "-b", "16K", "-c", codec, "source", "image"]);
    }

    /// Returns the output and the exit status of both programs.
    fn run(&self, program: &str, words: &[&str]) -> (Ran, Ran) {
        let ours = self.sandbox.run(&[&[program], words].concat());
        (ours, Ran::of(&mut self.sandbox.program(program, words)))
    }

    /// Checks that both print the same and exit alike, except for lines in which the releases differ.
    fn same_output(&self, program: &str, words: &[&str]) {
        let (ours, theirs) = self.run(program, words);
        assert_eq!(lines(&ours.stdout), lines(&theirs.stdout), "{program} {words:?}");
        assert_eq!(ours.status, theirs.status, "{program} {words:?}: {}", ours.stderr);
        assert!(!ours.stdout.is_empty() || ours.status != 0, "{program} {words:?}");
    }

    /// Both extract the same tree, print the same counts and end alike.
    fn same_tree(&self, options: &[&str], files: &[&str]) {
        let words = |dest| [&["-n", "-p", "2", "-d", dest], options, &["image"], files].concat();
        let ours = self.sandbox.run(&[&["unsquashfs"], &*words("ours")].concat());
        let theirs = Ran::of(&mut self.sandbox.program("unsquashfs", &words("theirs")));
        assert_eq!(ours.status, theirs.status, "{options:?} {files:?}: {}", ours.stderr);
        let text = |ran: &Ran| String::from_utf8_lossy(&ran.stdout).replace("theirs", "ours");
        assert_eq!(text(&ours), text(&theirs), "{options:?} {files:?}");
        let [found, expected] = ["ours", "theirs"].map(|name| self.sandbox.snapshot(name));
        assert_same(&format!("{options:?} {files:?}"), &expected, &found, Except::default());
        ["ours", "theirs"].iter().for_each(|name| self.sandbox.remove(name));
    }
}

#[test]
fn listings_and_superblocks_are_printed_alike() {
    let Some(images) = Images::new(61) else { return };
    let check = || {
        for words in [&["-s"][..], &["-stat", "-UTC"], &["-lls"], &["-lln", "-UTC"], &["-lc", "-d", "x"]] {
            images.same_output("unsquashfs", &[words, &["image"]].concat());
        }
    };
    for options in [
        &["-comp", "gzip", "-Xcompression-level", "4", "-Xstrategy", "fixed,huffman_only"][..],
        &["-comp", "xz", "-Xbcj", "x86,arm", "-Xdict-size", "8K"],
        &["-comp", "lzo", "-Xalgorithm", "lzo1x_1_12"],
        &["-comp", "lzo", "-Xcompression-level", "3"],
        &["-comp", "lz4", "-Xhc"],
        &["-comp", "zstd", "-Xcompression-level", "3", "-noI", "-noD", "-noF", "-noX", "-no-exports"],
        &["-no-fragments", "-no-xattrs", "-no-duplicates", "-noId"],
    ] {
        images.by_mksquashfs(options);
        check();
    }
    for codec in ["gzip:level=5", "xz:x86", "lzo", "lz4:hc", "zstd:level=7", "lzma", "none"] {
        images.by_packline(codec);
        check();
    }
}

#[test]
fn parts_are_listed_alike() {
    let Some(images) = Images::new(62) else { return };
    images.by_packline("gzip");
    for (options, files) in [
        (&["-l"][..], &[][..]),
        (&["-ll", "-max-depth", "1"], &[]),
        (&["-llc", "-d", ""], &[]),
        (&["-ls"], &["*s", "l*/*"]),
        (&["-l", "-r"], &["^[a-e].*$"]),
        (&["-l", "-no-wildcards"], &["links"]),
        (&["-l", "-excludes"], &["l*", "*a*/*1"]),
        (&["-l", "-ex", "l*", "s*", ";"], &[]),
        (&["-l"], &["no such", "l*"]),
        (&["-l", "-q", "-da", "16", "-fr", "16", "-o", "0"], &[]),
    ] {
        images.same_output("unsquashfs", &[options, &["image"], files].concat());
    }
    let anywhere = images.sandbox.good(&["unsquashfs", "-l", "-excludes", "image", "... *a*"]).text();
    assert!(anywhere.contains("/deep/0/1") && !anywhere.contains("/a"), "{anywhere}");
    for fails in [&["-l", "-missing", "image", "no such"][..], &["-nonesuch", "image"], &["-l", "source"]] {
        let (ours, theirs) = images.run("unsquashfs", fails);
        assert_eq!((ours.status, theirs.status), (1, 1), "{fails:?}");
    }
}

#[test]
fn trees_are_extracted_alike() {
    let Some(images) = Images::new(63) else { return };
    images.sandbox.write("list", "# names\n  l*\n\\s*\n\n");
    for codec in [&["-comp", "gzip"][..], &["-comp", "zstd", "-all-root"], &["-comp", "lzo"]] {
        images.by_mksquashfs(codec);
        images.same_tree(&[], &[]);
    }
    for codec in ["xz", "lz4"] {
        images.by_packline(codec);
        images.same_tree(&[], &[]);
    }
    for (options, files) in [
        (&["-no-xattrs"][..], &[][..]),
        (&["-user-xattrs", "-max-depth", "2"], &[]),
        (&["-no-xattrs", "-xattrs", "-i"], &["l*"]),
        (&["-q", "-li", "-UTC"], &["*a*/*"]),
        (&["-excludes", "-r"], &["^l"]),
        (&["-ef", "list"], &[]),
        (&["-excf", "list"], &["*"]),
        (&["-ignore-errors"], &["l*"]),
        (&["-follow", "-no-wildcards"], &["links"]),
        (&["-strict-errors", "-no-wildcards"], &["links", "nothing"]),
    ] {
        images.same_tree(options, files);
    }
}

/// Matches 4.7.5; 4.5.1 extracts only the root.
#[test]
fn directory_above_the_root_is_everything() {
    let sandbox = crate::sandbox();
    sandbox.write("tree/a", "a");
    sandbox.write("tree/d/b", "b");
    sandbox.good(&["pack", "-q", "tree", "image"]);
    let listed = |words: &[&str]| {
        let ran = sandbox.good(&[&["unsquashfs", "-ls", "-d", ""], words].concat());
        ran.text().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let all = listed(&["image"]);
    assert!(all.contains("/a") && all.contains("/d/b"), "{all}");
    for path in ["..", "/..", "../..", "../d", "d/../.."] {
        assert_eq!(listed(&["image", path]), all, "{path}");
        assert_eq!(listed(&["-excludes", "image", path]), all, "-excludes {path}");
    }
    sandbox.good(&["unsquashfs", "-q", "-n", "-d", "out", "image", ".."]);
    assert_eq!(sandbox.names_in("out"), ["a", "d"]);
}

#[test]
fn existing_files_are_replaced_with_force_only() {
    let Some(images) = Images::new(64) else { return };
    images.by_packline("gzip");
    let extract = |words: &[&str]| images.run("unsquashfs", &[&["-n", "-q", "-d", "x"], words].concat()).0;
    images.sandbox.write("x/stays", "stays");
    assert_eq!(extract(&["image", "links"]).status, 0);
    let again = extract(&["image", "links"]);
    assert!(again.status == 1 && again.stderr.contains("failed to"), "{}", again.stderr);
    assert_eq!(extract(&["-f", "image", "links"]).status, 0);
    assert_eq!(images.sandbox.read_text("x/stays"), "stays");
    assert!(images.sandbox.names_in("x").iter().all(|name| !name.contains("partial")));
}

#[test]
fn attributes_that_no_older_release_sets() {
    let Some(images) = Images::new(65) else { return };
    images.by_packline("gzip");
    images.sandbox.write("source/own", "");
    images.sandbox.shell("setfattr -n user.one -v 1 source/own; setfattr -n trusted.two -v 2 source/own");
    images.by_packline("gzip");
    let options = [
        &["unsquashfs", "-q", "-n", "-all-time", "2001-09-09 01:46:40 UTC", "-mem", "64M", "-mem-percent", "10"][..],
        &["-xattrs-include", "^(user|trusted)", "-xattrs-exclude", "two$", "-force-uid", "5", "-force-gid", "daemon"],
        &["-force-file-mode", "u+x,go=", "-force-dir-mode", "2750", "-max-files", "9", "-d", "y", "image", "own"],
    ];
    images.sandbox.good(&options.concat());
    let seen = images.sandbox.shell("stat -c '%Y %u %g %a' y y/own; getfattr -d -m - y/own").text();
    assert!(seen.starts_with("1000000000 5 1 2750\n1000000000 5 1 700\n"), "{seen}");
    assert!(seen.contains("user.one") && !seen.contains("two"), "{seen}");
    let percents = images.sandbox.good(&["unsquashfs", "-q", "-percentage", "-d", "z", "image"]).text();
    assert!(percents.ends_with("100\n"), "{percents}");
}

#[test]
fn devices_without_root_are_errors_that_callers_forgive() {
    let Some(images) = Images::new(66) else { return };
    images.sandbox.shell("rm -rf source; mkdir source; mknod source/b b 8 1; mknod source/c c 1 3; echo x > source/file; setfattr -n trusted.t -v 1 source/file");
    images.by_packline("gzip");
    images.sandbox.shell("chmod 777 .; cp $P packline");
    let run = |options: &str| {
        let dest = format!("d{}", options.len());
        let line = format!(
            "setpriv --reuid 65534 --regid 65534 --clear-groups ./packline unsquashfs -n -d {dest} {options} image"
        );
        (images.sandbox.shell(&format!("{line} 2>&1; echo status $?")).text(), dest)
    };
    let (text, dest) = run("");
    for part in
        ["failed to create block device d0/b, because", "failed to create character device d0/c, because", "trusted.t"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("created 1 file\n") && text.ends_with("status 2\n"), "{text}");
    assert_eq!(images.sandbox.read_text(format!("{dest}/file")), "x\n");
    let (text, _) = run("-no-exit-code");
    assert!(text.ends_with("status 0\n"), "{text}");
    let (text, dest) = run("-strict-errors");
    assert!(text.ends_with("status 1\n") && !images.sandbox.at(dest).exists(), "{text}");
    let (text, _) = run("-force-uid 3");
    assert!(
        text.contains("-force-uid can only be used running as superuser") && text.ends_with("status 1\n"),
        "{text}"
    );
}

#[test]
fn files_are_printed_alike() {
    let Some(images) = Images::new(67) else { return };
    images.sandbox.shell("mkdir source/cat; seq 50000 > source/cat/a; echo b > source/cat/b; ln -s cat/a source/way; ln -s /etc source/cat/out");
    images.by_mksquashfs(&["-comp", "xz"]);
    for words in [
        &["image", "cat/a", "cat/b"][..],
        &["-r", "image", "^cat$/[ab]"],
        &["image", "cat/*"],
        &["image", "cat", "cat/b"],
    ] {
        images.same_output("sqfscat", words);
        images.same_output("unsquashfs", &[&["-cat"], words].concat());
    }
    images.same_output("sqfscat", &["-no-exit-code", "image", "nothing", "cat/b"]);
}
