//! Zip archives as sources of `pack`, and in `list`, `cat`, `info`, `verify`, `unpack`, `diff` and `du`.

use packline_testkit::{Sandbox, tools};

use crate::sandbox;
use crate::stack::support::shell;

/// A tree, a zip archive, and a tar with the entries in the order of the zip archive. All times are even seconds, as MS-DOS has them.
fn archives() -> Option<Sandbox> {
    if !tools::need(&["zip", "tar"]) {
        return None;
    }
    let sandbox = sandbox();
    shell(
        &sandbox,
        "mkdir -p tree/z/deep tree/empty && seq 100000 >tree/z/deep/numbers && echo a >tree/a && echo b >tree/z/b && \
         ln -s z/b tree/link && chmod 4755 tree/a && cp tree/z/deep/numbers tree/copy && : >tree/none && \
         find tree -exec touch -h -d @1600000000 {} + && cd tree && find . -mindepth 1 | sort -r >../names && \
         zip -qy -@ ../t.zip <../names && tar --no-recursion -T ../names -cf ../t.tar",
    );
    Some(sandbox)
}

#[test]
fn gives_the_image_of_a_tar_in_the_same_order() {
    let Some(sandbox) = archives() else { return };
    for options in [&["-j0"][..], &["-j3"], &["--order", "path"], &["--order", "similar"], &["-c", "xz", "-b", "4K"]] {
        sandbox.good(&[&["pack", "-qf", "--verify", "t.tar", "tar.sqfs"], options].concat());
        sandbox.good(&[&["pack", "-qf", "--verify", "t.zip", "zip.sqfs"], options].concat());
        assert!(sandbox.read("tar.sqfs") == sandbox.read("zip.sqfs"), "{options:?}");
    }
    sandbox.good(&["diff", "zip.sqfs", "tree", "--no-times"]);
    sandbox.good(&["pack", "-q", "t.tar", "tar.erofs"]);
    sandbox.good(&["pack", "-q", "t.zip", "zip.erofs", "--mem", "100M"]);
    assert!(sandbox.read("tar.erofs") == sandbox.read("zip.erofs"));
    let ran = sandbox.shell("cat t.zip | $P pack -q - pipe.sqfs && $P pack -q -c xz -b 4K - x.sqfs <t.zip");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    sandbox.good(&["pack", "-qf", "t.zip", "zip.sqfs"]);
    assert!(sandbox.read("pipe.sqfs") == sandbox.read("zip.sqfs"));
}

#[test]
fn zip_archives_are_listed_printed_and_verified() {
    let Some(sandbox) = archives() else { return };
    let listed = sandbox.good(&["list", "t.zip"]).text();
    let names: Vec<String> = sandbox.read_text("names").lines().map(|name| name[2..].to_string()).collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), names);
    assert_eq!(sandbox.shell("cat t.zip | $P list -").text(), listed);
    let long = sandbox.good(&["list", "-l", "--numeric-owner", "t.zip", "a", "link"]).text();
    assert!(
        long.contains("-rwsr-xr-x") && long.contains("2020-09-13 12:26 a\n") && long.contains("link -> z/b"),
        "{long}"
    );
    assert_eq!(sandbox.good(&["cat", "t.zip", "z/b", "a", "link"]).text(), "b\na\nb\n");
    assert!(sandbox.bad(2, &["cat", "t.zip"]).contains("a path in the zip archive is missing"));
    assert!(sandbox.good(&["info", "t.zip"]).text().starts_with("Format:      zip\nSize:"));
    assert!(sandbox.good(&["info", "--json", "t.zip"]).text().contains("\"format\":\"zip\""));
    assert!(sandbox.good(&["verify", "t.zip"]).text().contains("the CRC-32 that the archive states"));
    assert!(sandbox.good(&["du", "--json", "t.zip"]).text().contains("\"zip\""));
    sandbox.good(&["compress", "-q", "-k", "t.zip"]);
    assert_eq!(sandbox.good(&["list", "t.zip.pln"]).text(), listed);
    let mut damaged = sandbox.read("t.zip");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    sandbox.write("damaged.zip", damaged);
    let ran = sandbox.run(&["verify", "damaged.zip"]);
    assert!(ran.status == 1 && ran.text().contains("damaged.zip: "), "{ran:?}");
    let message = sandbox.refused(&["pack", "damaged.zip", "none.sqfs"]);
    assert!(message.contains("damaged.zip: ") && message.contains("in entry "), "{message}");
}

#[test]
fn zip_archives_from_files_and_pipes_are_unpacked() {
    let Some(sandbox) = archives() else { return };
    sandbox.good(&["unpack", "-q", "t.zip", "from-file"]);
    let ran = sandbox.shell(
        "cat t.zip | $P unpack -q - from-pipe && cat t.zip | $P unpack -q - t2.tar && \
         cat t.zip | $P diff - t2.tar && cat t.zip | $P unpack -q - part z/b",
    );
    assert_eq!((ran.status, ran.text().as_str(), ran.stderr.as_str()), (0, "", ""));
    for name in ["from-file", "from-pipe", "t2.tar"] {
        sandbox.good(&["diff", "--no-owner", "--no-times", "--no-permissions", "t.tar", name]);
    }
    assert_eq!(sandbox.read_text("part/z/b"), "b\n");
    for (words, what) in [
        (["--device", "a"], "--device: has no effect on a zip archive"),
        (["--to=tar", "--continue"], "because the source is a zip archive"),
    ] {
        let message = sandbox.bad(2, &[&["unpack", "t.zip", "none"], &words[..]].concat());
        assert!(message.contains(what), "{message}");
    }
    let ran = sandbox.shell("cat t.zip | $P unpack --offset 0 - none");
    assert!(ran.status == 2 && ran.stderr.contains("--offset: has no effect on a zip archive"), "{}", ran.stderr);
}

#[test]
fn zip_archives_among_several_sources_are_files() {
    let Some(sandbox) = archives() else { return };
    sandbox.good(&["pack", "-q", "tree/z/b", "t.zip", "both.sqfs"]);
    assert_eq!(sandbox.good(&["list", "both.sqfs"]).text(), ".\nb\nt.zip\n");
    let message = sandbox.bad(2, &["pack", "--lenient", "t.zip", "none.sqfs"]);
    assert!(message.contains("works only with a tar (the source is a zip archive)"), "{message}");
    let message = sandbox.refused(&["pack", "-f", "--format", "squashfs", "t.zip", "t.zip"]);
    assert!(message.contains("t.zip"), "{message}");
    for arguments in [["sqfs2tar", "t.zip"], ["rdsquashfs", "t.zip"]] {
        assert!(sandbox.run(&arguments).status != 0, "{arguments:?}");
    }
    let ran = sandbox.shell("$P tar2sqfs none.sqfs <t.zip");
    assert!(ran.status != 0 && ran.stderr.contains("a zip archive"), "{}", ran.stderr);
}

#[test]
fn mksquashfs_merges_zip_archives() {
    let Some(sandbox) = archives() else { return };
    shell(&sandbox, "mkdir more && echo new >more/a && echo c >more/c && cd more && zip -q ../more.zip a c");
    sandbox.good(&["mksquashfs", "t.zip", "more.zip", "both.sqfs", "-zip", "-quiet", "-no-progress"]);
    assert_eq!(sandbox.good(&["cat", "both.sqfs", "a", "z/b", "c"]).text(), "new\nb\nc\n");
    sandbox.good(&["mksquashfs", "t.zip", "one.sqfs", "-zip", "-quiet", "-no-progress", "-wildcards", "-e", "z", "c*"]);
    assert_eq!(sandbox.good(&["list", "one.sqfs"]).text(), ".\na\nempty\nlink\nnone\n");
    for (words, what) in [
        (&["tree", "n.sqfs", "-zip"][..], "tree: is not a zip archive"),
        (&["-", "n.sqfs", "-zip"], "-zip: the source is -"),
        (&["t.zip", "n.sqfs", "-zip", "-e", "a"], "expected -wildcards or -regex, too"),
        (&["t.zip", "one.sqfs", "-zip"], "cannot be appended to with -zip"),
    ] {
        let ran = sandbox.run(&[&["mksquashfs"], words].concat());
        assert!(ran.status != 0 && ran.stderr.contains(what), "{words:?}: {}", ran.stderr);
    }
}

/// A program that unpacks itself is a zip archive; so is every file that has other bytes before one.
#[test]
fn zip_archives_after_other_bytes_are_read() {
    let Some(sandbox) = archives() else { return };
    shell(
        &sandbox,
        "head -c 70001 /bin/sh >program && cat program t.zip >self.zip && cp self.zip self && cp self adjusted && zip -qA adjusted",
    );
    let listed = sandbox.good(&["list", "t.zip"]).text();
    sandbox.good(&["pack", "-q", "t.zip", "plain.sqfs"]);
    for name in ["self.zip", "self", "adjusted"] {
        assert_eq!(sandbox.good(&["list", name]).text(), listed, "{name}");
        assert_eq!(sandbox.good(&["cat", name, "z/b"]).text(), "b\n", "{name}");
        assert!(sandbox.good(&["info", name]).text().starts_with("Format:      zip\n"), "{name}");
        sandbox.good(&["verify", "-q", name]);
        sandbox.good(&["diff", name, "t.tar", "--no-owner", "--no-times", "--no-permissions"]);
        sandbox.good(&["unpack", "-qf", name, "out"]);
        assert_eq!(sandbox.read_text("out/z/b"), "b\n", "{name}");
        sandbox.good(&["pack", "-qf", name, "x.sqfs"]);
        assert!(sandbox.read("x.sqfs") == sandbox.read("plain.sqfs"), "{name}");
    }
    sandbox.good(&["pack", "-q", "self", "program", "both.sqfs"]);
    assert_eq!(sandbox.good(&["list", "both.sqfs"]).text(), ".\nprogram\nself\n");
}

/// A file whose name promises entries is never packed as a file by itself.
#[test]
fn files_that_are_zip_archives_only_by_name_are_errors() {
    let Some(sandbox) = archives() else { return };
    let whole = sandbox.read("t.zip");
    sandbox.write("text.zip", "text\n".repeat(1000));
    sandbox.write("start.zip", &whole[3..]);
    sandbox.write("cut.zip", [&b"#!"[..], &whole[..whole.len() - 1]].concat());
    sandbox.write("empty.zip", "");
    for (name, what) in [
        ("text.zip", "no end record of a zip archive"),
        ("start.zip", "a central directory of"),
        ("cut.zip", "no end record of a zip archive"),
        ("empty.zip", "no end record of a zip archive"),
    ] {
        let message = sandbox.refused(&["pack", name, "none.sqfs"]);
        assert!(message.contains(&format!("{name}: {what}")), "{message}");
        assert!(!sandbox.at("none.sqfs").exists());
    }
}
