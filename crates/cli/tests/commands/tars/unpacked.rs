//! `packline unpack` makes the tree that GNU tar makes.

use super::{assert_equal, shell, with_tree};

/// Archivers whose tars are unpacked, as commands that write `x.tar` from `source`.
const WRITERS: [&str; 4] = [
    "tar --format=pax --xattrs --xattrs-include='*' --sparse -C source -cf x.tar .",
    "tar --format=gnu --sparse -C source -cf x.tar .",
    "tar --format=pax --xattrs --xattrs-include='*' -C source -cf x.tar --transform 's,^\\./,,' .",
    "bsdtar --format pax -C plain -cf x.tar .",
];

#[test]
fn unpacks_tars_as_gnu_tar_does() {
    let Some(sandbox) = with_tree(51) else { return };
    let sandbox = &sandbox;
    // bsdtar takes only names in UTF-8.
    shell(
        sandbox,
        "mkdir plain && cp -a source/precise source/sparse-file plain && ln plain/precise plain/linked && mkfifo -m 640 plain/pipe",
    );
    shell(
        sandbox,
        "mkdir -p plain/$(printf '%0120d' 7)/$(printf '%0120d' 8) && ln -s ../precise plain/$(printf '%0120d' 7)/link",
    );
    for writer in WRITERS {
        shell(sandbox, writer);
        shell(sandbox, "mkdir theirs && tar --xattrs --xattrs-include='*' --numeric-owner -p -C theirs -xf x.tar");
        // GNU tar does not restore the times of all directories of a tar of bsdtar, whose directories come after some of their entries.
        let expected = if writer.starts_with("bsdtar") { "plain" } else { "theirs" };
        sandbox.good(&["unpack", "-q", "x.tar", "ours"]);
        assert_equal(sandbox, writer, expected, "ours");
        sandbox.remove("ours");
        shell(sandbox, "umask 077; $P unpack -q - ours < x.tar; cat x.tar | $P unpack -q - piped");
        assert_equal(sandbox, "standard input", expected, "ours");
        assert_equal(sandbox, "a pipe", expected, "piped");
        ["ours", "theirs", "piped"].iter().for_each(|name| sandbox.remove(name));
    }
}

#[test]
fn unpacks_each_compression() {
    let Some(sandbox) = with_tree(52) else { return };
    let sandbox = &sandbox;
    shell(sandbox, "tar --format=pax --xattrs --xattrs-include='*' --sparse -C source -cf x.tar .");
    // GNU tar stores two names of a FIFO as two FIFOs.
    shell(sandbox, "mkdir theirs && tar --xattrs --xattrs-include='*' --numeric-owner -p -C theirs -xf x.tar");
    for program in ["gzip", "xz", "zstd", "bzip2", "lz4"] {
        if !packline_testkit::tools::need(&[program]) {
            continue;
        }
        shell(sandbox, &format!("{program} -c < x.tar > x.tar.z"));
        for options in ["-j 0", "-j 3", "-j 7 --mem 64M"] {
            shell(sandbox, &format!("$P unpack -q {options} x.tar.z ours"));
            assert_equal(sandbox, program, "theirs", "ours");
            sandbox.remove("ours");
        }
        shell(sandbox, "cat x.tar.z | $P unpack -q - ours");
        assert_equal(sandbox, program, "theirs", "ours");
        sandbox.remove("ours");
    }
}

#[test]
fn holes_stay_holes() {
    let Some(sandbox) = with_tree(53) else { return };
    let sandbox = &sandbox;
    let blocks = |file: &str| -> u64 { shell(sandbox, &format!("stat -c %b {file}")).trim().parse().unwrap() };
    assert!(blocks("source/sparse-file") < 100, "{}", blocks("source/sparse-file"));
    shell(sandbox, "tar --format=pax --sparse -C source -cf theirs.tar sparse-file");
    sandbox.good(&["pack", "-q", "source", "ours.tar"]);
    sandbox.good(&["pack", "-q", "source", "dense.tar", "--no-sparse"]);
    for tar in ["theirs.tar", "ours.tar"] {
        sandbox.good(&["unpack", "-q", tar, "out"]);
        assert!(blocks("out/sparse-file") < 100, "{tar}: {}", blocks("out/sparse-file"));
        shell(sandbox, "cmp source/sparse-file out/sparse-file");
        sandbox.remove("out");
        sandbox.good(&["unpack", "-q", "--no-sparse", tar, "out"]);
        assert!(blocks("out/sparse-file") > 6000, "{tar}: {}", blocks("out/sparse-file"));
        shell(sandbox, "cmp source/sparse-file out/sparse-file");
        sandbox.remove("out");
    }
    let size = |name: &str| sandbox.at(name).metadata().unwrap().len();
    assert!(size("dense.tar") > size("ours.tar") + (2 << 20), "{} {}", size("dense.tar"), size("ours.tar"));
}

#[test]
fn the_last_entry_of_a_name_is_unpacked() {
    let Some(sandbox) = with_tree(54) else { return };
    let sandbox = &sandbox;
    shell(sandbox, "mkdir one two; echo first > one/file; echo x > one/kind");
    shell(sandbox, "echo second > two/file; chmod 600 two/file; ln -s file two/kind");
    shell(sandbox, "tar -C one -cf x.tar file kind; tar -C two -rf x.tar file kind");
    sandbox.good(&["unpack", "-q", "x.tar", "out"]);
    assert_eq!(sandbox.read_text("out/file"), "second\n");
    assert_eq!(shell(sandbox, "stat -c %a out/file; readlink out/kind"), "600\nfile\n");
}

#[test]
fn reports_whiteouts_and_options_without_effect() {
    let Some(sandbox) = with_tree(55) else { return };
    let sandbox = &sandbox;
    shell(sandbox, "mkdir layer && touch layer/.wh.gone layer/kept && tar -C layer -cf x.tar .");
    let ran = sandbox.good(&["unpack", "x.tar", "out"]);
    assert!(ran.stderr.contains("1 whiteout of a layer (.wh.NAME), unpacked as plain files"), "{ran:?}");
    assert!(sandbox.at("out/.wh.gone").exists());
    for (words, named) in [
        (&["unpack", "--dedupe", "reflink", "x.tar", "new"][..], "--dedupe"),
        (&["unpack", "--device", "x.tar", "x.tar", "new"], "--device"),
        (&["unpack", "-c", "gzip", "x.tar", "new"], "--compress"),
        (&["unpack", "--no-times", "x.tar", "new.tar"], "--no-times"),
        (&["unpack", "--continue", "x.tar", "new.tar"], "--continue"),
    ] {
        let message = sandbox.bad(2, words);
        assert!(message.contains(named), "{words:?}: {message}");
        assert!(!sandbox.at("new").exists() && !sandbox.at("new.tar").exists(), "{words:?}");
    }
    let stdout = sandbox.good(&["unpack", "--json", "x.tar", "counted"]).text();
    assert!(stdout.contains("\"entries\":2") && stdout.contains("\"errors\":0"), "{stdout}");
    // The default destination is the name without its ending.
    sandbox.good(&["unpack", "-q", "x.tar"]);
    assert!(sandbox.at("x/kept").exists());
}

/// A directory that the tar only implies, and a new destination, can be read by all users, as in an image of the tar.
#[test]
fn implied_directories_have_the_usual_permissions() {
    let sandbox = crate::sandbox();
    sandbox.write("source/d/file", "content\n");
    sandbox.write("source/a", "a\n");
    let sandbox = &sandbox;
    shell(sandbox, "chmod 751 source && tar -C source -cf x.tar d/file a && mkdir -m 700 present present/d");
    shell(sandbox, "umask 077; $P unpack -q x.tar ours && $P unpack -qf x.tar present");
    let modes = |path: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(sandbox.at(path)).unwrap().permissions().mode() & 0o7777
    };
    assert_eq!((modes("ours"), modes("ours/d")), (0o755, 0o755));
    assert_eq!((modes("present"), modes("present/d")), (0o700, 0o700));
    shell(sandbox, "tar -C source -cf x.tar . && $P unpack -q x.tar again");
    assert_eq!(modes("again"), 0o751);
}

/// A program that dies between two entries leaves a tar that looks complete.
#[test]
fn a_tar_without_an_end_mark_is_read_with_a_warning() {
    let sandbox = crate::sandbox();
    sandbox.write("source/a", "a\n");
    sandbox.write("source/b", "b\n");
    let sandbox = &sandbox;
    shell(sandbox, "tar -C source --format=ustar -cf x.tar a b && head -c 1024 x.tar > cut.tar && gzip -k cut.tar");
    let warning = "the archive ends without an end mark at byte 1024 (expected two blocks of zeros";
    for name in ["cut.tar", "cut.tar.gz"] {
        for words in [&["unpack", name, "-f", "out"][..], &["pack", "-f", name, "x.sqfs"], &["list", name]] {
            let ran = sandbox.run(words);
            assert!(ran.status == 0 && ran.stderr.contains(warning), "{words:?}: {ran:?}");
        }
        let verified = sandbox.run(&["verify", name]);
        assert!(
            verified.status == 1 && verified.text().contains("the archive ends without an end mark"),
            "{verified:?}"
        );
    }
    assert!(sandbox.at("out/a").exists() && !sandbox.at("out/b").exists());
    assert!(!sandbox.good(&["unpack", "x.tar", "whole"]).stderr.contains("end mark"));
}

/// /dev has a directory of files in memory. Zeros before an image in such a file are not an empty tar.
#[test]
fn an_image_after_zeros_below_dev_is_unpacked() {
    let Ok(top) = tempfile::tempdir_in("/dev/shm") else { return };
    let sandbox = crate::sandbox();
    sandbox.write("source/a", "a\n");
    let image = top.path().join("x.erofs");
    let image = image.to_str().unwrap();
    sandbox.good(&["pack", "-q", "--offset=512", "source", image]);
    sandbox.good(&["unpack", "-q", image, "out"]);
    sandbox.good(&["diff", image, "out"]);
}

/// As in GNU tar and bsdtar, the last entry of a name counts, of whatever kind it is.
#[test]
fn an_entry_replaces_one_of_another_kind() {
    let sandbox = crate::sandbox();
    sandbox.write("file/d", "a file\n");
    sandbox.write("full/d/e/f", "content\n");
    let sandbox = &sandbox;
    shell(sandbox, "mkdir -m 711 -p empty/d link/to && chmod 711 empty/d && ln -s to link/d");
    let mode = |path: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::symlink_metadata(sandbox.at(path)).unwrap().permissions().mode()
    };
    for (first, second) in [("file", "full"), ("empty", "file"), ("link", "full"), ("empty", "link")] {
        shell(sandbox, &format!("tar -C {first} -cf x.tar d && tar -C {second} -rf x.tar d && rm -rf out out.tar"));
        sandbox.good(&["unpack", "-q", "x.tar", "out"]);
        assert_eq!(mode("out/d"), mode(&format!("{second}/d")), "{first}, {second}");
        shell(sandbox, &format!("diff -r --no-dereference {second}/d out/d || test -L out/d"));
    }
    shell(sandbox, "mkdir linked && echo content > linked/a && ln linked/a linked/d && rm -rf out && mkdir -p out/d");
    shell(sandbox, "tar -C empty -cf x.tar d && tar -C linked -rf x.tar a d");
    for place in ["out", "fresh"] {
        sandbox.good(&["unpack", "-qf", "x.tar", place]);
        shell(sandbox, &format!("test {place}/a -ef {place}/d"));
    }
    // A directory with entries is not removed.
    shell(sandbox, "tar -C full -cf x.tar d && tar -C file -rf x.tar d");
    assert!(sandbox.bad(1, &["unpack", "-q", "x.tar", "kept"]).contains("kept/d: cannot remove: Directory not empty"));
    shell(sandbox, "tar -C link -cf x.tar d && tar -C full -rf x.tar d/e/f");
    let below = sandbox.bad(1, &["unpack", "-q", "x.tar", "below"]);
    assert!(
        below.contains("below/d/e: cannot open: an entry is below it, and a symbolic link in it leads to a path that does not exist"),
        "{below}"
    );
}

/// In an existing directory, a file gets its name when it is complete, and an earlier file of that name stays until then.
#[test]
fn an_existing_file_is_replaced_by_a_complete_one() {
    let sandbox = crate::sandbox();
    sandbox.write("source/a", "a\n");
    sandbox.write("source/b", "b".repeat(5000));
    let sandbox = &sandbox;
    shell(
        sandbox,
        "ln source/b source/c && tar -C source --format=ustar -cf x.tar a b c && head -c 3000 x.tar > cut.tar",
    );
    sandbox.write("old/a", "old a\n");
    sandbox.write("old/b", "old b\n");
    sandbox.write("old/mounted/none", "");
    let cut = sandbox.bad(1, &["unpack", "-qf", "cut.tar", "old"]);
    assert!(cut.contains("cut.tar: the archive is cut off"), "{cut}");
    assert_eq!((sandbox.read("old/a"), sandbox.read("old/b")), (b"a\n".to_vec(), b"old b\n".to_vec()));
    for _ in 0..2 {
        sandbox.good(&["unpack", "-qf", "x.tar", "old"]);
        shell(sandbox, "cmp source/b old/b && test old/b -ef old/c");
    }
    if packline_testkit::tools::need(&["unshare"]) && packline_testkit::mount::namespaces() {
        // No file can be moved to another file system.
        let mounted = "mount -t tmpfs none old/mounted; echo old > old/mounted/b
            tar -C source -cf x.tar --transform s,^,mounted/,rh a b c && $P unpack -qf x.tar old
            cmp source/b old/mounted/b && test old/mounted/b -ef old/mounted/c";
        shell(sandbox, &format!("unshare -m sh -ec '{mounted}'"));
    }
    shell(sandbox, "test $(ls -A old | wc -l) = 4");
    shell(sandbox, "mkdir source/.packline-partial && tar -C source -cf x.tar .packline-partial");
    assert!(sandbox.bad(1, &["unpack", "-qf", "x.tar", "old"]).contains("old/.packline-partial: this name is needed"));
}
