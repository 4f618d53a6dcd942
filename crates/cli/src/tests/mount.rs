//! Tests of `packline mount` and of the drop-ins of squashfuse that need no mount.

use super::harness::{assert_options_are, run, sandbox};
use crate::compat::squashfuse::words::WORDS;

#[test]
fn rejects_unknown_mount_words() {
    let sandbox = sandbox();
    let image = sandbox.arg("image");
    let on = sandbox.arg("on");
    for (words, what) in [
        ("rw", "an image cannot be written (expected ro)"),
        ("noro", "unknown word 'noro' (expected one of ro, suid,"),
        ("noallow_other", "unknown word 'noallow_other'"),
        ("suid,remount", "unknown word 'remount'"),
        ("umask=022", "unknown word 'umask=022'"),
        ("uid", "unknown word 'uid'"),
        ("uid=root", "uid=root: not a number (expected 0 to 4294967295)"),
        ("gid=4294967296", "gid=4294967296: not a number"),
        ("offset=x", "offset: 'x' is not a size"),
    ] {
        let ran = run(&["mount", "-f", "-o", words, &image, &on]);
        assert!(ran.status == 2 && ran.err.contains("--options: ") && ran.err.contains(what), "{words}: {ran:?}");
    }
    let fstab = "defaults,ro,suid,,nodev,noexec,default_permissions,noatime,relatime,user,uid=7,offset=4K,loop,_netdev,nofail,x-a.b=c,\
                 fsname=x,subtype=y,comment=z";
    let ran = run(&["mount", "-f", "-o", fstab, &image, &on]);
    assert!(ran.status == 1 && ran.err.contains("cannot open"), "{ran:?}");
    let ran = run(&["mount", "--announce", &image, &on]);
    assert!(ran.status == 2 && ran.err.contains("--foreground"), "{ran:?}");
}

const NAMES: [&str; 2] = ["squashfuse", "squashfuse_ll"];

#[test]
fn every_option_is_tested() {
    let options = ["options", "foreground", "debug", "single-thread", "read-only", "no-mtab", "announce"];
    NAMES.iter().for_each(|name| assert_options_are(name, options.into_iter()));
}

/// With accepted words and options, the missing image is the error.
#[test]
fn accepts_or_rejects_words_by_name() {
    let sandbox = sandbox();
    let image = sandbox.arg("image");
    let on = sandbox.arg("on");
    for name in NAMES {
        for word in WORDS {
            let typed = if word.value.is_empty() { word.name.to_string() } else { format!("{}=7", word.name) };
            let ran = run(&[name, "-f", "-o", &typed, &image, &on]);
            if word.help.starts_with("Not supported") {
                assert!(ran.status == 254 && ran.err.contains("not supported yet ("), "{typed}: {ran:?}");
            } else if word.name == "notify_pipe" {
                // The named pipe waits for its reader, or does not exist.
                assert!(ran.status == 255 && ran.err.contains("notify_pipe: "));
            } else {
                assert!(ran.status == 255 && ran.err.contains("cannot open"), "{typed}: {ran:?}");
            }
        }
        let all = [name, "-fdsrn", "-oro,,x-gdu.hide", "-o", "", &image, &on];
        let ran = run(&all);
        assert!(ran.status == 255 && ran.err.contains("cannot open"), "{ran:?}");
        for (word, what) in [
            ("wsize=5", "--options: unknown word 'wsize=5' (expected one of offset=BYTES, subdir=PATH,"),
            ("noro", "unknown word 'noro'"),
            ("ro=1", "ro=1: ro takes no value"),
            ("offset", "offset: a value is missing (expected offset=BYTES)"),
            ("subdir=", "subdir=: a value is missing (expected subdir=PATH)"),
            ("uid=root", "uid=root: not a number (expected 0 to 4294967295)"),
            ("offset=-1", "offset: '-1' is not a size"),
            ("timeout=soon", "timeout=soon: not a number"),
            ("max_threads=x", "max_threads=x: not a number"),
        ] {
            let ran = run(&[name, "-f", "-o", word, &image, &on]);
            assert!(ran.status == 254 && ran.err.contains(what), "{word}: {ran:?}");
        }
    }
}

#[test]
fn usage_and_descriptors_that_are_not_open_have_the_peers_statuses() {
    for (name, refused) in [("squashfuse", 4), ("squashfuse_ll", 1)] {
        let missing = run(&[name, "image"]);
        assert!(missing.status == 254 && missing.err.contains("missing argument: MOUNTPOINT"), "{missing:?}");
        assert_eq!(run(&[name, "image", "on", "more"]).status, 254);
        assert_eq!(run(&[name, "--nonesuch", "image", "on"]).status, 254);
        assert_eq!(run(&[name, "--announce", "image", "on"]).status, 254);
        let ran = run(&[name, "-f", "image", "/dev/fd/60000"]);
        assert!(ran.status == refused && ran.err.contains("/dev/fd/60000: cannot be used as a mount point"), "{ran:?}");
        let help = run(&[name, "--help"]);
        assert!(help.status == 0 && help.out.contains("notify_pipe=PATH: Write 's'"), "{help:?}");
    }
}
