//! Tests of `packline mount` that need no mount.

use super::harness::{run, sandbox};

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
