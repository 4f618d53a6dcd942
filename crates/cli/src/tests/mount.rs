//! Tests of `packline mount` that need no mount.

use super::harness::{run, sandbox};

#[test]
fn words_of_mount_that_mean_nothing_here_are_refused() {
    let sandbox = sandbox();
    let (image, on) = (sandbox.arg("image"), sandbox.arg("on"));
    for words in ["rw", "noro", "noallow_other", "suid,remount", "fsname=x"] {
        let ran = run(&["mount", "-f", "-o", words, &image, &on]);
        assert!(ran.status == 2 && ran.err.contains("--options: unknown option"), "{words}: {ran:?}");
    }
    let ran = run(&["mount", "-f", "-o", "ro,suid,,nodev,noexec,default_permissions", &image, &on]);
    assert!(ran.status == 1 && ran.err.contains("cannot open"), "{ran:?}");
    let ran = run(&["mount", "--announce", &image, &on]);
    assert!(ran.status == 2 && ran.err.contains("--foreground"), "{ran:?}");
}
