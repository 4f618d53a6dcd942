//! Files that change while they are read, and runs that replace the same file at once: nothing is removed or replaced that was not read.

use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use packline_testkit::{Ran, Random, Sandbox, tools};

use crate::sandbox;

/// Starts a command, and waits until it has opened a file.
fn reading(mut command: Command, file: &Path) -> Child {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let descriptors = format!("/proc/{}/fd", child.id());
    loop {
        let open = fs::read_dir(&descriptors).into_iter().flatten().flatten();
        if open.into_iter().any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == file)) {
            return child;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended before it opened {}", file.display());
    }
}

fn end(child: Child) -> Ran {
    child.wait_with_output().unwrap().into()
}

/// The changes to a file while it is read.
const CHANGES: [fn(&Path); 3] = [
    |path| fs::File::options().write(true).open(path).unwrap().write_all_at(b"changed", 100).unwrap(),
    |path| fs::File::options().append(true).open(path).unwrap().write_all_at(b"longer", 0).unwrap(),
    |path| {
        fs::write(path.with_extension("other"), "replaced").unwrap();
        fs::rename(path.with_extension("other"), path).unwrap();
    },
];

/// Command lines that remove what they read, and that file.
const REMOVING: [(&str, &str); 4] = [
    ("compress --rm -f big", "big"),
    ("lrzip -D -f big", "big"),
    ("decompress --rm -f big.pln -o out", "big.pln"),
    ("lrzip -D -d -f big.lrz -o out", "big.lrz"),
];

fn with_large_file() -> Sandbox {
    let sandbox = sandbox();
    let mut random = Random::new(3);
    let content = [random.prose(2 << 20), random.noise(1 << 20)].concat();
    sandbox.write("big", content);
    sandbox.good(&["compress", "-q", "-1", "-o", "kept.pln", "big"]);
    sandbox.good(&["lrzip", "-q", "-l", "-o", "kept.lrz", "big"]);
    sandbox
}

#[test]
fn a_source_that_changes_while_it_is_read_is_not_removed() {
    let sandbox = with_large_file();
    let content = sandbox.read("big");
    for (line, source) in REMOVING {
        for change in CHANGES {
            sandbox.write("big", &content);
            sandbox.shell("cp kept.pln big.pln; cp kept.lrz big.lrz");
            let words: Vec<&str> = line.split(' ').collect();
            let path = sandbox.at(source);
            let child = reading(sandbox.command(&words), &path);
            change(&path);
            let ran = end(child);
            assert!(path.exists(), "{line}: {ran:?}");
            assert_eq!(ran.status, 1, "{line}: {ran:?}");
        }
    }
}

#[test]
fn a_file_that_grows_is_stored_up_to_its_size_at_the_start() {
    let sandbox = with_large_file();
    let content = sandbox.read("big");
    for (line, back) in [
        ("compress -q -f -o out big", "decompress --stdout out"),
        ("compress -q --stdout big", "decompress --stdout out"),
        ("lrzip -q -f -o out big", "lrzip -q -d -o - out"),
        ("lrzip -q -o - big", "lrzip -q -d -o - out"),
    ] {
        let grows = |_| {
            sandbox.write("big", &content);
            let child = reading(sandbox.command(&line.split(' ').collect::<Vec<_>>()), &sandbox.at("big"));
            CHANGES[1](&sandbox.at("big"));
            let ran = end(child);
            assert_eq!(ran.status, 0, "{line}: {ran:?}");
            if !line.contains("-o out") {
                sandbox.write("out", &ran.stdout);
            }
            assert!(sandbox.good(&back.split(' ').collect::<Vec<_>>()).stdout.starts_with(&content), "{line}");
            ran.stderr
                .contains(&format!("big: changed while it was read: its first {} bytes are stored", content.len()))
        };
        // The size may be read only after the change.
        assert!((0..5).any(grows), "{line}");
    }
}

#[test]
fn a_source_that_does_not_change_is_removed_once_its_output_was_read_back() {
    let sandbox = sandbox();
    sandbox.write("f", Random::new(1).prose(300_000));
    sandbox.write("key", "passphrase\n");
    for line in [
        "compress --rm -f f",
        "compress --rm -f --recovery 5% f",
        "compress --rm -f --passphrase-file key f",
        "compress --rm -f --passphrase-file key --pad --recovery 5% f",
        "lrzip -D -f f",
        "lrzip -D -f --encrypt=secret f",
    ] {
        let content = sandbox.read("f");
        sandbox.good(&line.split(' ').collect::<Vec<_>>());
        assert!(!sandbox.at("f").exists(), "{line}");
        let back = match line {
            _ if line.contains("passphrase") => "decompress --rm --passphrase-file key f.pln",
            _ if line.contains("encrypt") => "lrzip -d -D --encrypt=secret f.lrz",
            _ if line.contains("lrzip") => "lrzip -d -D f.lrz",
            _ => "decompress --rm f.pln",
        };
        sandbox.good(&back.split(' ').collect::<Vec<_>>());
        assert!(sandbox.read("f") == content, "{line}");
        assert_eq!(sandbox.names(), ["f", "key"], "{line}");
    }
}

/// The same runs of mksquashfs of squashfs-tools all exit with 0, and only one is in the image.
#[test]
fn concurrent_appends_that_lose_fail() {
    let sandbox = sandbox();
    sandbox.write("tree/file", "content");
    sandbox.good(&["mksquashfs", "tree", "i.sqfs", "-quiet", "-no-progress"]);
    let appending = |number: u32| {
        let definition = format!("new{number} f 644 0 0 sleep 1; echo {number}");
        let words = ["mksquashfs", "tree", "i.sqfs", "-quiet", "-no-progress", "-root-becomes"];
        let more = [&format!("old{number}")[..], "-p", &definition];
        let mut command = sandbox.command(&[&words[..], &more].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<Child> = (0..4).map(appending).collect();
    let ran: Vec<Ran> = children.into_iter().map(end).collect();
    let done = ran.iter().filter(|ran| ran.status == 0).count();
    let listed = sandbox.good(&["list", "i.sqfs"]).text();
    let found = (0..4).filter(|number| listed.lines().any(|line| line.ends_with(&format!("new{number}")))).count();
    assert!(done > 0 && done == found, "{listed}\n{ran:?}");
    for failed in ran.iter().filter(|ran| ran.status != 0) {
        let named = ["is locked by another run", "another program changed it"];
        assert!(failed.status == 1 && named.iter().any(|what| failed.stderr.contains(what)), "{failed:?}");
    }
}

#[test]
fn an_image_that_another_program_changes_is_not_replaced() {
    let sandbox = sandbox();
    sandbox.write("tree/file", "content");
    sandbox.good(&["pack", "-q", "tree", "i.sqfs"]);
    sandbox.good(&["unpack", "-q", "i.sqfs", "tree.tar"]);
    let other = sandbox.read("i.sqfs");
    let tar = sandbox.read("tree.tar");
    let slow = "new f 644 0 0 sleep 2; echo new";
    let appending = ["mksquashfs", "tree", "i.sqfs", "-quiet", "-no-progress", "-root-becomes", "old", "-p", slow];
    for words in [&["pack", "-q", "-f", "-", "i.sqfs", "--base", "i.sqfs"][..], &appending] {
        let mut command = sandbox.command(words);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // The format of standard input is recognised by its first 1028 bytes, before anything else is opened.
        stdin.write_all(&tar[..1536]).unwrap();
        std::thread::sleep(Duration::from_millis(1200));
        sandbox.write("other", &other);
        fs::rename(sandbox.at("other"), sandbox.at("i.sqfs")).unwrap();
        // Only one of them reads it.
        let _: std::io::Result<()> = stdin.write_all(&tar[1536..]);
        drop(stdin);
        let ran = end(child);
        assert!(ran.status == 1 && ran.stderr.contains("another program changed it"), "{words:?}: {ran:?}");
        assert!(sandbox.read("i.sqfs") == other, "{words:?}");
    }
}

#[test]
fn one_of_concurrent_repairs_replaces_file() {
    let sandbox = sandbox();
    let content = Random::new(8).noise(3 << 20);
    sandbox.write("f", &content);
    sandbox.good(&["protect", "-q", "f"]);
    let mut damaged = content.clone();
    damaged[1000] ^= 1;
    sandbox.damage("f", damaged);
    let started = (0..3).map(|_| {
        let mut command = sandbox.command(&["repair", "-q", "f"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    });
    let ran: Vec<Ran> = started.collect::<Vec<_>>().into_iter().map(end).collect();
    assert!(ran.iter().any(|ran| ran.status == 0), "{ran:?}");
    assert!(sandbox.read("f") == content);
    assert_eq!(sandbox.names(), ["f", "f.recovery"]);
}

/// Starts a command in which strace makes a system call last half a second, waits until `begun`, and sends SIGTERM.
fn stopped_in(sandbox: &Sandbox, call: &str, words: &[&str], begun: impl Fn() -> bool) -> Ran {
    let inject = format!("inject={call}:delay_exit=500000");
    let traced = [&["-f", "-o", "/dev/null", "-e", &inject, crate::PACKLINE][..], words].concat();
    let mut command = sandbox.program("strace", &traced);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !begun() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it began");
    }
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
    packline_testkit::signal::send("TERM", children.split(' ').next().unwrap().parse().unwrap()).unwrap();
    end(child)
}

#[test]
fn a_signal_during_verity_append_leaves_the_image_as_it_was() {
    if !tools::need(&["strace"]) {
        return;
    }
    let sandbox = sandbox();
    let image = Random::new(4).noise(1 << 20);
    let path = sandbox.write("i.img", &image);
    let begun = || fs::metadata(&path).unwrap().len() > image.len() as u64;
    let ran = stopped_in(&sandbox, "fsync", &["verity", "-q", "--append", "i.img"], begun);
    assert_eq!(ran.status, 143, "{ran:?}");
    assert!(sandbox.read("i.img") == image);
    assert_eq!(sandbox.names(), ["i.img"]);
}

#[test]
fn an_output_that_has_its_name_when_a_signal_comes_is_a_success() {
    if !tools::need(&["strace"]) {
        return;
    }
    let sandbox = sandbox();
    let content = Random::new(4).prose(100_000);
    sandbox.write("f", &content);
    sandbox.good(&["lrzip", "-q", "f"]);
    sandbox.good(&["compress", "-q", "f"]);
    for words in [&["lrunzip", "-f", "-o", "out", "f.lrz"][..], &["decompress", "-o", "out", "f.pln"]] {
        let ran = stopped_in(&sandbox, "linkat", words, || sandbox.at("out").exists());
        assert_eq!(ran.status, 0, "{words:?}: {ran:?}");
        assert!(sandbox.read("out") == content);
        sandbox.remove("out");
    }
}

#[test]
fn a_hash_tree_without_its_root_hash_is_completed() {
    let sandbox = sandbox();
    let image = Random::new(4).noise(1 << 20);
    sandbox.write("i.img", &image);
    sandbox.good(&["verity", "-q", "--append", "i.img"]);
    let whole = sandbox.read("i.img");
    let root_hash = sandbox.read("i.img.roothash");
    for words in [&["verity", "--append", "i.img"][..], &["verity", "-f", "i.img"]] {
        let refused = sandbox.refused(words);
        let hint =
            "i.img: already ends with a hash tree, from byte 1048576 on; --append --force writes its root hash, and ";
        assert!(refused.contains(hint), "{refused}");
    }
    sandbox.write("i.img.roothash", "old");
    sandbox.good(&["verity", "-q", "-f", "--append", "i.img"]);
    assert!(sandbox.read("i.img") == whole && sandbox.read("i.img.roothash") == root_hash);
    for force in [&["verity", "-q", "--append", "i.img"][..], &["verity", "-q", "-f", "--append", "i.img"]] {
        sandbox.remove("i.img.roothash");
        sandbox.good(force);
        assert!(sandbox.read("i.img") == whole && sandbox.read("i.img.roothash") == root_hash);
    }
    sandbox.remove("i.img.roothash");
    let refused = sandbox.refused(&["verity", "-f", "--append", "--salt", "00", "i.img"]);
    assert!(refused.contains("with another salt or UUID"), "{refused}");
    let mut damaged = whole.clone();
    damaged[5000] ^= 1;
    sandbox.write("i.img", &damaged);
    let refused = sandbox.refused(&["verity", "-f", "--append", "i.img"]);
    assert!(refused.contains("that is not its own"), "{refused}");
    assert!(sandbox.read("i.img") == damaged);
}

#[test]
fn reports_offset_of_truncated_hash_tree() {
    let sandbox = sandbox();
    sandbox.write("i.img", Random::new(4).noise(4096));
    sandbox.good(&["verity", "-q", "--append", "i.img"]);
    let cut = sandbox.read("i.img")[..6000].to_vec();
    sandbox.remove("i.img.roothash");
    sandbox.write("i.img", &cut);
    for words in [&["verity", "--append", "i.img"][..], &["verity", "-f", "--append", "i.img"]] {
        let expected =
            "packline: i.img: the hash tree, which begins at byte 4096, is cut off at byte 6000 (expected 8192 bytes)";
        assert_eq!(sandbox.refused(words), expected);
        assert!(sandbox.read("i.img") == cut);
    }
}

#[test]
fn keys_and_certificates_with_lines_of_any_length_are_read() {
    if !tools::need(&["openssl", "base64"]) {
        return;
    }
    let sandbox = sandbox();
    sandbox.write("i.img", Random::new(4).noise(1 << 16));
    let made = sandbox.shell(
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=test 2>&1 && \
         for width in 76 20 0; do for file in key cert; do { head -n 1 $file.pem; \
         grep -v '^-' $file.pem | base64 -d | base64 -w $width; echo; tail -n 1 $file.pem; } > $file-$width.pem; done; done",
    );
    assert_eq!(made.status, 0, "{made:?}");
    let sign = |key: &str, cert: &str| {
        sandbox.good(&["verity", "-q", "-f", "i.img", "--key", key, "--cert", cert]);
        sandbox.read("i.img.roothash.p7s")
    };
    let expected = sign("key.pem", "cert.pem");
    for width in ["76", "20", "0"] {
        assert!(sign(&format!("key-{width}.pem"), &format!("cert-{width}.pem")) == expected, "{width}");
    }
}

#[test]
fn rejects_pipes_that_cannot_be_read_as_files_without_waiting() {
    if !tools::need(&["mkfifo", "timeout"]) {
        return;
    }
    let sandbox = sandbox();
    sandbox.write("tree/file", "content");
    sandbox.good(&["pack", "-q", "tree", "i.sqfs"]);
    sandbox.write("contexts", "/.* label\n");
    let script = "mkdir cache; mkfifo cache/CACHEDIR.TAG i.sqfs.verity i.sqfs.recovery contexts.local lrzip.conf; unset LRZIP; \
                  timeout 20 $P pack -q -f tree o.sqfs --cache cache; echo $?; \
                  mkfifo base; timeout 20 $P pack -q -f tree o.sqfs --base base; echo $?; \
                  timeout 20 $P verify i.sqfs --roothash 0000000000000000000000000000000000000000000000000000000000000000; echo $?; \
                  timeout 20 $P protect i.sqfs; echo $?; \
                  timeout 20 $P protect -f i.sqfs; echo $?; \
                  timeout 20 $P gensquashfs -q -D tree --selinux contexts o.sqfs; echo $?; \
                  rm i.sqfs.verity; echo > i.sqfs.roothash.p7s; mkfifo i.sqfs.roothash; timeout 20 $P verity i.sqfs; echo $?; \
                  timeout 20 $P lrzip -q -f tree/file; echo $?";
    let ran = sandbox.shell(script);
    assert!(!ran.text().contains("124") && ran.stderr.contains("CACHEDIR.TAG"), "{ran:?}");
    assert!(ran.stderr.contains("i.sqfs.verity") && ran.stderr.contains("lrzip.conf"), "{ran:?}");
    assert!(ran.stderr.contains("i.sqfs.recovery: is a pipe") && ran.stderr.contains("contexts.local"), "{ran:?}");
    assert!(ran.stderr.contains("i.sqfs.roothash: is a pipe"), "{ran:?}");
    assert!(ran.stderr.contains("base: cannot open: a pipe (expected a file or a block device"), "{ran:?}");
    assert!(ran.stderr.contains("not a regular file"), "{ran:?}");
}

#[test]
fn fix_keeps_file_after_error() {
    if !tools::need(&["strace"]) {
        return;
    }
    let sandbox = sandbox();
    sandbox.write("tree/file", "content");
    sandbox.good(&["pack", "-q", "tree", "i.sqfs"]);
    let image = sandbox.read("i.sqfs");
    let streamed = crate::outputs::image_streams::streamed(&image);
    for fault in ["ftruncate:error=EIO:when=1", "fsync:error=EIO:when=1", "fsync:error=EIO:when=2"] {
        sandbox.write("streamed", &streamed);
        let inject = format!("inject={fault}");
        let words = ["-f", "-o", "trace", "-e", &inject, crate::PACKLINE, "mksquashfs", "-fix", "streamed"];
        let ran = Ran::of(&mut sandbox.program("strace", &words));
        assert_eq!(ran.status, 1, "{fault}: {ran:?}");
        assert!(sandbox.read("streamed") == streamed, "{fault}");
    }
    sandbox.good(&["mksquashfs", "-fix", "streamed"]);
    assert!(sandbox.read("streamed") == image);
}
