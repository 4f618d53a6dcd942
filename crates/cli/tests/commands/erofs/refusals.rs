//! What does not read or write EROFS images says so, and names what does.

use super::with_samples;

#[test]
fn drop_ins_for_squashfs_name_the_commands_that_read_the_image() {
    let sandbox = with_samples();
    sandbox.create_dir("on");
    let expected = "wide.erofs: is an EROFS image (expected a SquashFS image); \
                    packline unpack, list, cat, info, verify, diff and mount read it\n";
    for arguments in [
        &["unsquashfs", "-l", "wide.erofs"][..],
        &["unsquashfs", "-s", "wide.erofs"],
        &["sqfscat", "wide.erofs", "a/small"],
        &["rdsquashfs", "-l", "/", "wide.erofs"],
        &["sqfs2tar", "wide.erofs"],
        &["sqfsdiff", "-a", "wide.erofs", "-b", "tree.sqfs"],
        &["squashfuse", "wide.erofs", "on"],
    ] {
        let ran = sandbox.run(arguments);
        assert!(ran.status != 0 && ran.stderr.ends_with(expected), "{arguments:?}: {ran:?}");
    }
    let message = sandbox.run(&["mksquashfs", "tree.tar", "wide.erofs"]).stderr;
    assert!(message.contains("not a SquashFS image, will not be overwritten"), "{message}");
}

#[test]
fn pack_reuses_no_blocks_and_writes_no_images() {
    let sandbox = with_samples();
    let message = sandbox.refused(&["pack", "tree.tar", "new.sqfs", "--base", "wide.erofs"]);
    assert!(message.contains("wide.erofs: is an EROFS image (expected a SquashFS image)"), "{message}");
    for name in ["new.erofs", "new.erofs.img"] {
        let message = sandbox.bad(2, &["pack", "tree.tar", name]);
        assert!(message.contains(&format!("{name}: packline reads EROFS images but does not write them")), "{message}");
    }
    let message = sandbox.refused(&["pack", "wide.erofs", "new.lrz"]);
    assert!(message.contains("wide.erofs: an EROFS image does not become a .lrz file"), "{message}");
}

#[test]
fn deltas_compare_the_stored_bytes() {
    let sandbox = with_samples();
    sandbox.good(&["delta", "zstd.erofs", "wide.erofs", "x.pld", "-q"]);
    sandbox.good(&["patch", "zstd.erofs", "x.pld", "again.erofs", "-q"]);
    assert!(sandbox.read("again.erofs") == sandbox.read("wide.erofs"));
}
