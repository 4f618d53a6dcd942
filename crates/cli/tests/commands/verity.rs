//! dm-verity trees of new and existing images, compared with veritysetup, openssl and systemd.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;

use packline_testkit::peer::Job;
use packline_testkit::{Ran, Random, Sandbox, mount, tools};

use crate::{PACKLINE, killing, sandbox};

/// A tree that makes an image of some megabytes, with more than a level of hashes.
fn tree() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("tree/noise", Random::new(1).noise(3 << 20));
    sandbox.write("tree/text", "text ".repeat(300_000));
    sandbox
}

fn refused(sandbox: &Sandbox, arguments: &[&str], expected: &str) {
    let message = sandbox.refused(arguments);
    assert!(message.contains(expected), "{message}");
}

#[test]
fn the_tree_of_a_pack_is_that_of_the_finished_image() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "plain.sqfs"]);
    sandbox.good(&["verity", "-q", "plain.sqfs"]);
    let image = sandbox.read("plain.sqfs");
    let hashes = sandbox.read("plain.sqfs.verity");
    let root = sandbox.read_text("plain.sqfs.roothash");
    for jobs in [&["-j0"][..], &["-j1"], &["-j3"], &["-j2", "--mem", "48M"], &["--main-thread-works"], &["--serial"]] {
        sandbox.good(&[&["pack", "-qf", "tree", "i.raw", "--verity"], jobs].concat());
        assert!(sandbox.read("i.raw") == image && sandbox.read("i.verity") == hashes, "{jobs:?}");
        assert_eq!(sandbox.read_text("i.roothash"), root);
        sandbox.good(&[&["pack", "-qf", "tree", "a.sqfs", "--verity=append", "--verify"], jobs].concat());
        assert!(sandbox.read("a.sqfs") == [&image[..], &hashes].concat(), "{jobs:?}");
    }
    for jobs in ["-j0", "-j1", "-j5"] {
        sandbox.write("again.img", &image);
        sandbox.good(&["verity", "-qf", jobs, "again.img", "--append"]);
        assert!(sandbox.read("again.img") == sandbox.read("a.sqfs"));
        assert_eq!(sandbox.read_text("again.img.roothash"), root);
    }
    sandbox.good(&["verify", "-q", "a.sqfs"]);
    sandbox.good(&["diff", "a.sqfs", "tree"]);
}

/// Returns how often a warning says that this file belongs to the replaced image.
fn stale(ran: &Ran, name: &str) -> usize {
    ran.stderr.matches(&format!(" {name} belongs to the replaced file")).count()
}

#[test]
fn side_files_that_do_not_belong_to_the_new_image_are_named_once() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "i.raw", "--verity"]);
    sandbox.write("i.roothash.p7s", "signature");
    sandbox.write("tree/new", "new");
    let all = ["i.verity", "i.roothash", "i.roothash.p7s"];
    let ran = sandbox.good(&["pack", "-qf", "tree", "i.raw", "--verity"]);
    assert_eq!(all.map(|name| stale(&ran, name)), [0, 0, 1], "{ran:?}");
    // The root hash is the same.
    let ran = sandbox.good(&["verity", "-qf", "i.raw"]);
    assert_eq!(all.map(|name| stale(&ran, name)), [0, 0, 0], "{ran:?}");
    let ran = sandbox.good(&["verity", "-qf", "--salt", "00", "i.raw"]);
    assert_eq!(all.map(|name| stale(&ran, name)), [0, 0, 1], "{ran:?}");
    let ran = sandbox.good(&["pack", "-qf", "tree", "i.raw", "--format", "squashfs"]);
    assert_eq!(all.map(|name| stale(&ran, name)), [1, 1, 1], "{ran:?}");
    assert_eq!(sandbox.read_text("i.roothash.p7s"), "signature");
}

#[test]
fn verify_names_the_tree_after_an_image() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "i.sqfs"]);
    let end = sandbox.read("i.sqfs").len();
    sandbox.good(&["verity", "-q", "--append", "i.sqfs"]);
    let printed = sandbox.good(&["verify", "--notes", "i.sqfs"]).text();
    let verdict =
        format!("i.sqfs: sound; the hash tree at byte {end} was not compared (--roothash HASH compares it)\n");
    assert!(printed.starts_with(&verdict), "{printed}");
    let printed = sandbox.good(&["verify", "--notes", "--json", "i.sqfs"]).text();
    assert!(printed.lines().count() == 1 && printed.contains("\"notes\":0"), "{printed}");
    let mut damaged = sandbox.read("i.sqfs");
    damaged[end + 8] ^= 1;
    sandbox.write("k.sqfs", &damaged);
    let printed = sandbox.good(&["verify", "k.sqfs"]).text();
    assert!(printed.starts_with("k.sqfs: sound; the damaged hash tree after the image was not compared"), "{printed}");
    // Other bytes after an image are still named as such.
    sandbox.write("j.sqfs", [&sandbox.read("i.sqfs")[..], b"more"].concat());
    let printed = sandbox.good(&["verify", "--notes", "j.sqfs"]).text();
    assert!(printed.contains(" bytes after the image, not all zero at byte "), "{printed}");
}

/// Without a tree, the ending does not choose a container.
#[test]
fn ending_raw_is_that_of_an_image_with_its_tree() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "i.raw", "--verity"]);
    assert!(sandbox.at("i.roothash").exists());
    sandbox.good(&["verify", "-q", "i.raw"]);
    let message = sandbox.bad(2, &["pack", "-q", "tree", "j.raw"]);
    assert!(message.contains("no container has the ending '.raw'"), "{message}");
}

#[test]
fn refuses_a_pipe_beside_an_image() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "i.sqfs"]);
    sandbox.peer("mkfifo", &["i.sqfs.verity"]);
    let root = "00".repeat(32);
    refused(&sandbox, &["verify", "--roothash", &root, "i.sqfs"], "i.sqfs.verity: cannot open: not a regular file");
}

#[test]
fn options_of_the_image_and_of_the_tree_go_together() {
    if !tools::need(&["veritysetup"]) {
        return;
    }
    let sandbox = tree();
    for options in [
        &["--layout", "stable", "--pad", "1M"][..],
        &["-c", "none", "--verity-salt", "-"],
        &["-c", "gzip", "--verity-salt", "0011aaff", "--verity-uuid", "01234567-89ab-cdef-0123-456789abcdef"],
        &["--order", "similar", "-b", "4K"],
    ] {
        sandbox.good(&[&["pack", "-qf", "tree", "i.raw", "--verity"], options].concat());
        sandbox.peer("veritysetup", &["verify", "i.raw", "i.verity", &sandbox.read_text("i.roothash")]);
    }
    let dump = sandbox.peer("veritysetup", &["dump", "i.verity"]).text();
    assert!(dump.contains("Hash algorithm:  \tsha256"), "{dump}");
}

#[test]
fn nothing_is_left_of_a_run_that_fails() {
    let sandbox = tree();
    sandbox.write("i.verity", "mine");
    refused(&sandbox, &["pack", "-q", "tree", "i.raw", "--verity"], "i.verity: already exists");
    assert_eq!(sandbox.names(), ["i.verity", "tree"]);
    sandbox.good(&["pack", "-qf", "tree", "i.raw", "--verity"]);
    assert_ne!(sandbox.read("i.verity"), b"mine");
    let before = sandbox.read("i.raw");
    fs::create_dir(sandbox.at("j.img.roothash")).unwrap();
    sandbox.write("j.img", &before);
    refused(&sandbox, &["verity", "j.img", "--append", "--force"], "is a directory");
    assert!(sandbox.read("j.img") == before);
    sandbox.write("part.img", &before[..5000]);
    refused(&sandbox, &["verity", "part.img"], "expected a multiple of 4096");
    sandbox.write("empty.img", "");
    refused(&sandbox, &["verity", "empty.img"], "expected a multiple of 4096");
    assert!(!sandbox.names().iter().any(|name| name.starts_with("part.") && name != "part.img"));
}

#[test]
fn a_killed_run_leaves_the_image_the_whole_or_what_the_next_run_removes() {
    let sandbox = sandbox();
    let image = Random::new(3).noise(16 << 20);
    let append = ["verity", "-qf", "i.img", "--append"];
    sandbox.write("i.img", &image);
    let whole_run = killing::run(&mut sandbox.command(&append));
    let whole = sandbox.read("i.img");
    for moment in killing::moments(5, 12, whole_run) {
        sandbox.write("i.img", &image);
        killing::kill(sandbox.command(&append), moment);
        let left = sandbox.read("i.img");
        assert!(left[..image.len()] == image[..]);
        if left != image && left != whole {
            refused(
                &sandbox,
                &["verify", "i.img", "--roothash", &"0".repeat(64)],
                "an incomplete hash tree from byte 16777216 on",
            );
        }
        if left != whole {
            sandbox.good(&append);
        }
        assert!(sandbox.read("i.img") == whole);
    }
}

/// The root hash of image and tree together would belong to neither.
#[test]
fn an_image_with_a_tree_after_it_is_not_hashed_together_with_it() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "a.sqfs", "--verity=append"]);
    let before = [sandbox.read("a.sqfs"), sandbox.read("a.sqfs.roothash")];
    refused(&sandbox, &["verity", "-q", "-f", "a.sqfs"], "already ends with a hash tree");
    assert_eq!([sandbox.read("a.sqfs"), sandbox.read("a.sqfs.roothash")], before);
}

#[test]
fn a_part_of_a_tree_is_named_and_removed() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "i.sqfs"]);
    let image = sandbox.read("i.sqfs");
    let mark = [&b"packline: incomplete hash tree\n\0"[..], &(image.len() as u64).to_le_bytes()].concat();
    let left = [&image[..], &mark, &vec![0; 4096 - mark.len()]].concat();
    sandbox.write("i.sqfs", &left);
    let expected =
        format!("i.sqfs: has an incomplete hash tree from byte {} on, left by a run that was stopped", image.len());
    refused(&sandbox, &["verify", "-q", "i.sqfs"], &expected);
    refused(&sandbox, &["verify", "-q", "i.sqfs", "--roothash", &"0".repeat(64)], &expected);
    refused(&sandbox, &["verity", "-q", "i.sqfs"], &expected);
    let info = sandbox.good(&["info", "i.sqfs"]).text();
    assert!(info.contains(&expected), "{info}");
    let ran = sandbox.good(&["verity", "i.sqfs", "--append"]);
    assert!(ran.stderr.contains("an incomplete hash tree after it, from byte"), "{}", ran.stderr);
    sandbox.good(&["verify", "-q", "i.sqfs", "--roothash", &sandbox.read_text("i.sqfs.roothash")]);
    assert!(sandbox.read("i.sqfs").starts_with(&image));
}

#[test]
fn files_beside_the_image_are_no_part_of_the_source() {
    let sandbox = tree();
    // The directory has the time at which the files are made in it.
    let pack = ["pack", "-qf", "tree", "tree/i.raw", "--format", "squashfs", "--verity", "--mtime", "1"];
    sandbox.good(&pack);
    let first = sandbox.read("tree/i.raw");
    sandbox.good(&pack);
    assert!(sandbox.read("tree/i.raw") == first);
}

#[test]
fn a_flipped_bit_is_named_and_below_a_wrong_hash_nothing_is() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "i.sqfs", "--verity=append"]);
    let whole = sandbox.read("i.sqfs");
    let root = sandbox.read_text("i.sqfs.roothash");
    sandbox.good(&["verify", "-q", "i.sqfs", "--roothash", &root]);
    let report = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        sandbox.write("i.sqfs", bytes);
        let ran = sandbox.run(&["verify", "i.sqfs", "--roothash", &root]);
        assert_eq!(ran.status, 1);
        ran.text()
    };
    let text = report(3 * 4096 + 77);
    assert!(text.contains("i.sqfs: block 3, at byte 12288, differs from the hash tree\n"), "{text}");
    let text = report(whole.len() - 1);
    assert!(text.contains("of the hash tree (expected the hash in the level above)"), "{text}");
    assert!(text.contains(" below wrong blocks of the hash tree cannot be checked"), "{text}");
    sandbox.write("i.sqfs", &whole);
    let text = sandbox.run(&["verify", "i.sqfs", "--roothash", &"0".repeat(64)]).text();
    assert!(
        text.contains("\n0 of ") && text.contains(" compared: the hashes above them do not match the root"),
        "{text}"
    );
}

#[test]
fn signatures_are_accepted() {
    if !tools::need(&["openssl"]) {
        return;
    }
    for kind in ["rsa:2048", "ec -pkeyopt ec_paramgen_curve:P-256", "ec -pkeyopt ec_paramgen_curve:P-384"] {
        accepted(&format!("req -x509 -newkey {kind} -nodes -keyout key -out cert -days 9 -subj /CN=images"));
    }
}

fn accepted(request: &str) {
    let sandbox = tree();
    sandbox.peer("openssl", &request.split(' ').collect::<Vec<_>>());
    let key = ["--verity-key", "key", "--verity-cert", "cert"];
    sandbox.good(&[&["pack", "-q", "tree", "i.raw", "--verity"], &key[..]].concat());
    let check =
        "-verify -inform der -in i.roothash.p7s -content i.roothash -binary -certfile cert -CAfile cert -out /dev/null";
    for command in ["smime", "cms"] {
        sandbox.peer("openssl", &[&[command], &check.split(' ').collect::<Vec<_>>()[..]].concat());
    }
    let first = sandbox.read("i.roothash.p7s");
    sandbox.good(&["verity", "-qf", "i.raw", "--key", "key", "--cert", "cert", "-j1"]);
    assert!(sandbox.read("i.roothash.p7s") == first);
    refused(&sandbox, &["verity", "-qf", "i.raw", "--key", "cert", "--cert", "cert"], "cert: no private key found");
}

#[test]
fn systemd_finds_the_files() {
    if !tools::root()
        || !runs_here("systemd_finds_the_files", tools::find("systemd-dissect").is_some(), "systemd-dissect")
    {
        return;
    }
    let sandbox = tree();
    sandbox.write("tree/usr/lib/os-release", "ID=test\n");
    sandbox.good(&["pack", "-q", "tree", "i.raw", "--verity"]);
    // systemd-dissect prints 'external' for a root hash and a tree that it found next to the image.
    let shown = sandbox.peer("systemd-dissect", &["--no-pager", "i.raw"]).text();
    assert!(shown.contains("external"), "{shown}");
    fs::rename(sandbox.at("i.verity"), sandbox.at("j.verity")).unwrap();
    let shown = sandbox.peer("systemd-dissect", &["--no-pager", "i.raw"]).text();
    assert!(!shown.contains("external"), "{shown}");
}

#[test]
fn the_kernel_mounts_it() {
    if !tools::need(&["veritysetup"]) || !mount::loop_devices() {
        return;
    }
    let has_mapper = fs::File::open("/dev/mapper/control").is_ok();
    if !runs_here("the_kernel_mounts_it", has_mapper, "a kernel with a device mapper") {
        return;
    }
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "i.raw", "--verity"]);
    let name = format!("packline-{}", std::process::id());
    let mapped = format!("/dev/mapper/{name}");
    // Without a daemon for devices it makes the node itself.
    let open = ["open", "i.raw", &name, "i.verity", &sandbox.read_text("i.roothash")];
    Ran::good(sandbox.program("veritysetup", &open).env("DM_DISABLE_UDEV", "1"));
    sandbox.create_dir("mnt");
    sandbox.peer("mount", &["-o", "ro", "-t", "squashfs", &mapped, "mnt"]);
    let same = sandbox.read("mnt/noise") == sandbox.read("tree/noise");
    sandbox.peer("umount", &["mnt"]);
    Ran::good(sandbox.program("veritysetup", &["close", &name]).env("DM_DISABLE_UDEV", "1"));
    assert!(same);
}

/// Returns whether the requirements of a test are met. Containers have no device mapper, and neither have the containers that check
/// every change: there the test is skipped by name, which `tools::skip` rejects.
fn runs_here(test: &str, has: bool, what: &str) -> bool {
    if !has {
        let _ = writeln!(std::io::stderr(), "verity::{test}: skipped: needs {what}");
    }
    has
}

/// `cargo test -p packline-cli --test commands -- --ignored verity::four`
#[test]
#[ignore = "long: cargo test -p packline-cli --test commands verity -- --ignored"]
fn four_gigabytes_are_hashed_in_bounded_memory() {
    if !tools::need(&["veritysetup", "time"]) {
        return;
    }
    let sandbox = sandbox();
    let image = sandbox.arg("big.img");
    let measured = |arguments: &[&str]| {
        let measured = Job::new("packline", &[&[PACKLINE], arguments].concat()).measure().unwrap();
        assert!(measured.peak <= 32 << 20, "{arguments:?}: peak of {} bytes", measured.peak);
    };
    let file = fs::File::create(&image).unwrap();
    file.set_len(4 << 30).unwrap();
    for at in (0..4u64 << 30).step_by(97 << 20) {
        file.write_all_at(b"not zero", at).unwrap();
    }
    measured(&["verity", "-q", &image, "--mem", "32M"]);
    let root = sandbox.read_text("big.img.roothash");
    sandbox.peer("veritysetup", &["verify", "big.img", "big.img.verity", &root]);
    measured(&["verify", "-q", &image, "--roothash", &root, "--mem", "32M"]);
    measured(&["verity", "-qf", &image, "--append", "--mem", "32M"]);
    let offset = format!("--hash-offset={}", 4u64 << 30);
    sandbox.peer("veritysetup", &["verify", &offset, "big.img", "big.img", &root]);
    sandbox.good(&["verify", "-q", "big.img", "--roothash", &root]);
}
