//! Several directories and plain files as sources: side by side under their own names, or merged with `--overlay`.

use std::fs;
use std::os::unix::fs::MetadataExt;

use packline_testkit::{Sandbox, tools};
use serde_json::Value;

use crate::stack::support::shell;
use crate::{PACKLINE, sandbox};

/// Two directories that both have a `profile`, and two plain files.
fn two() -> Sandbox {
    let sandbox = sandbox();
    shell(
        &sandbox,
        "mkdir -p home/.ssh etc docs && echo 1 >home/profile && echo 2 >etc/profile && echo 3 >etc/passwd && \
         echo 4 >home/.ssh/id && echo 5 >docs/a.md && echo 6 >docs/b.md && : >docs/empty.md && \
         ln -s docs current && ln -s a.md docs/link.md && tar -cf plain.tar -C docs a.md",
    );
    sandbox
}

fn list(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    sandbox.good(&[&["pack", "-qf"], words, &["o.sqfs"]].concat());
    let listed = sandbox.good(&["list", "o.sqfs"]).text();
    listed.lines().skip(1).map(str::to_string).collect()
}

#[test]
fn keeps_several_directories_and_files_side_by_side() {
    let sandbox = two();
    let both = ["etc", "etc/passwd", "etc/profile", "home", "home/.ssh", "home/.ssh/id", "home/profile"];
    assert_eq!(list(&sandbox, &["home", "etc"]), both);
    assert_eq!(sandbox.good(&["cat", "o.sqfs", "home/profile", "etc/profile"]).text(), "1\n2\n");
    let image = sandbox.read("o.sqfs");
    for words in [["-j0", "./home/", "etc"], ["-j3", "home", "etc/."], ["--readers=0", "home", "docs/../etc"]] {
        list(&sandbox, &words);
        assert!(sandbox.read("o.sqfs") == image, "{words:?}");
    }
    assert!(sandbox.good(&["list", "-l", "--numeric-owner", "o.sqfs"]).text().starts_with("drwxr-xr-x 0/0 "));
    // Patterns are of paths in the image, of any order.
    assert_eq!(list(&sandbox, &["home", "etc", "-x", "/etc/p*", "-x", ".ssh/"]), ["etc", "home", "home/profile"]);
    assert_eq!(list(&sandbox, &["home", "etc", "-x", "/etc"]), ["home", "home/.ssh", "home/.ssh/id", "home/profile"]);
    for order in ["path", "similar"] {
        assert_eq!(list(&sandbox, &["home", "etc", "docs/a.md", "--order", order]).len(), both.len() + 1);
        sandbox.good(&["verify", "-q", "o.sqfs"]);
    }
    assert_eq!(list(&sandbox, &["home", "etc", "--root-becomes", "home"]), [".ssh", ".ssh/id", "profile"]);
    let warned = sandbox.good(&["pack", "-qf", "home", "etc", "o.sqfs", "-x", "none"]);
    assert!(warned.stderr.contains("none"), "{warned:?}");
}

/// The descriptors of a few open files are enough for many operands.
#[test]
fn packs_more_plain_files_than_may_be_open() {
    if !tools::need(&["prlimit"]) {
        return;
    }
    let sandbox = sandbox();
    let names: Vec<String> = (0..200).map(|number| format!("f{number}")).collect();
    for name in &names {
        sandbox.write(name, name);
    }
    let mut words = vec!["--nofile=64:64", PACKLINE, "pack", "-q", "-j1"];
    words.extend(names.iter().map(String::as_str));
    words.push("o.sqfs");
    packline_testkit::Ran::good(&mut sandbox.program("prlimit", &words));
    assert_eq!(sandbox.good(&["cat", "o.sqfs", "f0", "f199"]).text(), "f0f199");
}

#[test]
fn packs_plain_files_under_their_own_names() {
    let sandbox = two();
    assert_eq!(list(&sandbox, &["etc/passwd"]), ["passwd"]);
    assert_eq!(sandbox.good(&["cat", "o.sqfs", "passwd"]).text(), "3\n");
    let files = ["docs/a.md", "docs/b.md", "docs/empty.md", "docs/link.md"];
    assert_eq!(list(&sandbox, &files), ["a.md", "b.md", "empty.md", "link.md"]);
    assert_eq!(sandbox.good(&["cat", "o.sqfs", "link.md"]).text(), "5\n");
    assert_eq!(list(&sandbox, &["docs/link.md"]), ["link.md"], "a link that is given alone is followed");
    assert!(sandbox.good(&["list", "-l", "o.sqfs"]).text().lines().last().unwrap().starts_with('-'));
    assert_eq!(list(&sandbox, &["docs/a.md", "docs/b.md", "-x", "a.*"]), ["b.md"]);
    // A tar, and what is compressed with a tar in it, is a layer as before; other compressed files are files.
    shell(&sandbox, "gzip -k docs/b.md && gzip -k plain.tar");
    assert_eq!(list(&sandbox, &["docs/b.md.gz", "etc/passwd"]), ["b.md.gz", "passwd"]);
    for tar in ["plain.tar", "plain.tar.gz"] {
        assert_eq!(list(&sandbox, &[tar, "etc/passwd"]), ["a.md", "passwd"], "{tar}");
    }
    for sources in [&["docs/a.md"][..], &["--overlay", "home", "docs/a.md"], &["home", "docs/a.md"]] {
        let words = [&["pack", "-f", "--format", "squashfs"], sources, &["docs/a.md"]].concat();
        let error = sandbox.bad(1, &words);
        assert!(error.contains("docs/a.md: is both source and output"), "{error}");
        assert_eq!(sandbox.read("docs/a.md"), b"5\n");
    }
}

#[test]
fn refuses_two_sources_with_one_name_and_options_of_layers() {
    let sandbox = two();
    fs::create_dir_all(sandbox.at("old/etc")).unwrap();
    for (words, expected) in [
        (&["etc", "old/etc", "o.sqfs"][..], "etc and old/etc have the same name etc; --overlay"),
        (
            &["home/profile", "etc/profile", "o.sqfs"],
            "home/profile and etc/profile have the same name profile; --files-from keeps",
        ),
        (&["home", "etc", "o.sqfs", "--remove", "x"], "--remove: the sources are put side by side; --overlay"),
        (&["home", "etc", "o.sqfs", "--whiteouts=keep"], "--whiteouts: the sources are put side by side"),
        (&["etc/passwd", "o.sqfs", "--files-from", "x"], "--files-from: works only with one SOURCE, a directory"),
    ] {
        let error = sandbox.bad(2, &[&["pack"], words].concat());
        assert!(error.contains(expected), "{error}");
    }
    let error = sandbox.bad(1, &["pack", "home", "/", "o.sqfs"]);
    assert!(error.contains("/: has no name for the image"), "{error}");
}

#[test]
fn counts_and_names_what_layers_replace() {
    let sandbox = two();
    let ran = sandbox.good(&["pack", "--overlay", "home", "etc", "o.sqfs"]);
    assert!(ran.stderr.contains("\nreplaced:  1 entry of earlier layers, by later ones (profile)\n"), "{}", ran.stderr);
    assert_eq!(sandbox.good(&["cat", "o.sqfs", "profile"]).text(), "2\n");
    let ran = sandbox.good(&["pack", "-f", "--overlay", "home", "etc", "home", "o.sqfs"]);
    assert!(ran.stderr.contains(" by later ones (profile, .ssh/id)\n"), "{}", ran.stderr);
    // Entries that whiteouts hide do not count as replaced; a directory does, with everything in it.
    shell(&sandbox, "mkdir over && : >over/.wh.profile && : >over/.ssh && : >over/passwd && tar -C etc -cf etc.tar .");
    let json = |words: &[&str]| -> Value {
        let ran = sandbox.good(&[&["pack", "-f", "--json"], words, &["o.sqfs"]].concat());
        serde_json::from_str(&ran.text()).unwrap()
    };
    assert_eq!(json(&["--overlay", "home", "over"])["replaced"], 1);
    assert_eq!(json(&["--overlay", "home", "etc.tar", "over"])["replaced"], 3);
    assert_eq!(json(&["--overlay", "home", "etc.tar", "over", "--dry-run"])["replaced"], 3);
    assert_eq!(json(&["home", "etc"])["replaced"], 0);
}

#[test]
fn wants_overlay_where_a_layer_stands_beside_several_sources() {
    let sandbox = two();
    sandbox.good(&["pack", "-q", "docs", "docs.sqfs"]);
    for words in [["home", "etc", "plain.tar"], ["docs.sqfs", "home", "etc/passwd"], ["home", "-", "etc"]] {
        let error = sandbox.bad(2, &[&["pack", "-f"], &words[..], &["o.sqfs"]].concat());
        assert!(error.contains("use --overlay to merge them into one root"), "{error}");
    }
    // The other sources of one directory or file are merged with it.
    assert_eq!(list(&sandbox, &["docs.sqfs", "home"])[..3], [".ssh", ".ssh/id", "a.md"]);
    assert_eq!(
        list(&sandbox, &["--overlay", "plain.tar", "home", "etc"]),
        [".ssh", ".ssh/id", "a.md", "passwd", "profile"]
    );
}

#[test]
fn stores_links_and_files_of_other_formats_among_several_sources() {
    if !tools::need(&["gzip", "xz"]) {
        return;
    }
    let sandbox = two();
    shell(
        &sandbox,
        "ln -s nowhere dangling && printf 'PK\\003\\004zip' >a.zip && head -c 1M /dev/zero >zero.img && head -c 600 /dev/zero >zeros && \
         gzip -k zeros && xz -k docs/a.md && head -c 40 docs/a.md.xz >cut.xz",
    );
    sandbox.good(&["compress", "-q", "-k", "docs/a.md"]);
    let words =
        ["a.zip", "current", "cut.xz", "dangling", "docs/a.md.pln", "home/.ssh", "zero.img", "zeros", "zeros.gz"];
    let names = list(&sandbox, &words);
    assert_eq!(
        names,
        [".ssh", ".ssh/id", "a.md.pln", "a.zip", "current", "cut.xz", "dangling", "zero.img", "zeros", "zeros.gz"]
    );
    sandbox.good(&["unpack", "-q", "o.sqfs", "out"]);
    for (name, target) in [("current", "docs"), ("dangling", "nowhere")] {
        assert_eq!(fs::read_link(sandbox.at("out").join(name)).unwrap().to_str(), Some(target));
    }
    for (from, to) in [("zero.img", "out/zero.img"), ("cut.xz", "out/cut.xz"), ("docs/a.md.pln", "out/a.md.pln")] {
        assert!(sandbox.read(from) == sandbox.read(to), "{from}");
    }
    // Alone, a file of zeros is a file too, but not under the name of an image.
    assert_eq!(list(&sandbox, &["zeros"]), ["zeros"]);
    assert_eq!(list(&sandbox, &["zeros.gz"]), ["zeros.gz"]);
    let error = sandbox.bad(1, &["pack", "-f", "zero.img", "o.sqfs"]);
    assert!(error.contains("zero.img: zeros at byte 0, as in a blank disk image"), "{error}");
    assert_eq!(list(&sandbox, &["--overlay", "home", "a.zip"]), [".ssh", ".ssh/id", "a.zip", "profile"]);
    let followed = list(&sandbox, &["current", "home", "--dereference"]);
    assert!(followed.contains(&"current/a.md".to_string()), "{followed:?}");
}

#[test]
fn keeps_hard_links_between_sources() {
    let sandbox = two();
    shell(&sandbox, "ln home/profile etc/linked && ln home/profile docs/linked && ln etc/passwd docs/passwd");
    let links = |image: &str| {
        sandbox.remove("out");
        sandbox.good(&["unpack", "-q", image, "out"]);
        let number = |path: &str| fs::metadata(sandbox.at("out").join(path)).unwrap().ino();
        (number("home/profile") == number("etc/linked"), number("etc/passwd") == number("docs/passwd"))
    };
    for options in [&[][..], &["-j0"], &["--order=path"], &["-x", "/home/.ssh"]] {
        list(&sandbox, &[&["home", "etc", "docs"], options].concat());
        assert_eq!(links("o.sqfs"), (true, true), "{options:?}");
        sandbox.good(&["verify", "-q", "o.sqfs"]);
    }
    list(&sandbox, &["home", "etc", "docs", "--no-hard-links"]);
    assert_eq!(links("o.sqfs"), (false, false));
    sandbox.write("sort", "home/profile 5\n");
    let words = ["mksquashfs", "home", "etc", "docs", "m.sqfs", "-quiet", "-no-progress"];
    for options in [&["-noappend"][..], &["-noappend", "-sort", "sort"], &["-noappend", "-action", "exclude@name(x)"]] {
        sandbox.good(&[&words[..], options].concat());
        assert_eq!(links("m.sqfs"), (true, true), "{options:?}");
    }
    // Appended at once, they are linked to each other.
    sandbox.write("first/x", "x");
    sandbox.good(&["mksquashfs", "first", "m.sqfs", "-noappend", "-quiet", "-no-progress"]);
    sandbox.good(&words);
    assert_eq!(links("m.sqfs"), (true, true));
    sandbox.good(&["mksquashfs", "home", "etc", "m.sqfs", "-noappend", "-no-hardlinks", "-quiet", "-no-progress"]);
    sandbox.remove("out");
    sandbox.good(&["unpack", "-q", "m.sqfs", "out"]);
    assert_eq!(fs::metadata(sandbox.at("out/etc/linked")).unwrap().nlink(), 1);
}

#[test]
fn warns_of_times_that_images_cannot_have() {
    let sandbox = sandbox();
    shell(
        &sandbox,
        "mkdir m && touch -d 1960-01-01 m/neg && touch -d 2150-01-01 m/fut && touch -d '2001-02-03 04:05:06.5' m/half m",
    );
    let warning = "2 entries have a time that SquashFS cannot store, before 1970 or after 2106: the nearest is stored (the first is fut)";
    for words in [&["pack", "-q", "m", "o.sqfs"][..], &["mksquashfs", "m", "m.sqfs", "-quiet", "-no-progress"]] {
        let ran = sandbox.good(words);
        assert!(ran.stderr.contains(warning), "{words:?}: {ran:?}");
    }
    let ran = sandbox.good(&["pack", "-f", "m", "o.sqfs", "--json"]);
    for counted in ["\"warnings\":1,", "\"clamped_times\":2,", "\"truncated_times\":2,"] {
        assert!(ran.text().contains(counted), "{ran:?}");
    }
    let line = "times:     the fractions of a second of 2 entries are not stored\n";
    assert!(sandbox.good(&["pack", "-fv", "m", "o.sqfs"]).stderr.contains(line));
    assert!(!sandbox.good(&["pack", "-f", "m", "o.sqfs"]).stderr.contains(line));
    assert!(!sandbox.good(&["pack", "-fv", "m", "o.erofs"]).stderr.contains("times:"));
    assert_eq!(sandbox.good(&["pack", "-qf", "m", "o.sqfs", "--mtime", "7"]).stderr, "");
}

/// A log that grows, and a file that is truncated and rewritten, while each program packs them.
#[test]
fn packs_files_that_change_while_they_are_read() {
    let sandbox = sandbox();
    let seed: Vec<u8> = (0..3_000_000u32).map(|number| (number % 251) as u8).collect();
    let log = sandbox.write("tree/log", &seed);
    let cut = sandbox.write("tree/cut", &seed);
    (0..200).for_each(|number| drop(sandbox.write(format!("tree/other{number}"), &seed[number..5000])));
    sandbox.write("list", "file log 0644 0 0 tree/log\nfile cut 0644 0 0 tree/cut\n");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let going = || !stop.load(std::sync::atomic::Ordering::Relaxed);
    std::thread::scope(|scope| {
        let grow = || {
            let mut file = fs::OpenOptions::new().append(true).open(&log).unwrap();
            while going() && file.metadata().unwrap().len() < 50_000_000 {
                std::io::Write::write_all(&mut file, &seed[..20_000]).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        };
        let cut_off = || {
            let file = fs::OpenOptions::new().write(true).open(&cut).unwrap();
            while going() {
                for size in [3_000_000, 1_000_000, 100, 2_000_000] {
                    file.set_len(size).unwrap();
                    std::thread::sleep(std::time::Duration::from_millis(3));
                }
            }
        };
        std::thread::Builder::new().spawn_scoped(scope, grow).unwrap();
        std::thread::Builder::new().spawn_scoped(scope, cut_off).unwrap();
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pack_all(&sandbox)));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        ran.unwrap();
    });
}

fn pack_all(sandbox: &Sandbox) {
    let quiet = ["-quiet", "-no-progress", "-noappend"];
    let has = |image: &str| {
        let listed = sandbox.good(&["list", image]).text();
        assert!(["log", "cut"].iter().all(|name| listed.lines().any(|line| line == *name)), "{listed}");
    };
    for _ in 0..3 {
        for options in [&["-j0"][..], &["-j2"], &["--continue"], &["--order=path"]] {
            for image in ["o.sqfs", "o.erofs"] {
                sandbox.good(&[&["pack", "-f", "-c", "none", "tree", image], options].concat());
                sandbox.good(&["verify", "-q", image]);
                has(image);
            }
        }
        sandbox.good(&["pack", "-qf", "-c", "none", "tree", "o.lrz"]);
        sandbox.good(&["verify", "-q", "o.lrz"]);
        sandbox.good(&[&["mksquashfs", "tree", "m.sqfs"], &quiet[..]].concat());
        has("m.sqfs");
        sandbox.good(&["gensquashfs", "-q", "-f", "-F", "list", "g.sqfs"]);
        has("g.sqfs");
    }
    if tools::need(&["unsquashfs"]) {
        sandbox.remove("out");
        sandbox.peer("unsquashfs", &["-q", "-n", "-d", "out", "m.sqfs"]);
    }
}
