//! Images whose contents are on other devices.

use std::fs;
use std::path::Path;

use packline_testkit::Sandbox;
use packline_testkit::mount;

use crate::sandbox;

/// A sandbox with an image whose chunks are in `blob.bin`, and with an index of a tar.
fn with_images() -> Sandbox {
    let sandbox = sandbox();
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../erofs/tests/images");
    for name in ["blob.erofs", "blob.bin", "tarindex.erofs", "small.tar"] {
        fs::copy(images.join(name), sandbox.at(name)).unwrap();
    }
    sandbox
}

#[test]
fn commands_read_contents_of_devices() {
    let sandbox = with_images();
    sandbox.good(&["list", "blob.erofs"]);
    let content = sandbox.good(&["cat", "--device", "blob.bin", "blob.erofs", "tail"]).stdout;
    assert!(!content.is_empty());
    sandbox.good(&["unpack", "-q", "--device", "blob.bin", "blob.erofs", "out"]);
    assert!(sandbox.read("out/tail") == content);
    let differences = sandbox.good(&["diff", "-OPTXH", "--old-device", "blob.bin", "blob.erofs", "out"]).text();
    assert_eq!(differences, "");
    for (image, device) in [("blob.erofs", "blob.bin"), ("tarindex.erofs", "small.tar")] {
        let text = sandbox.good(&["verify", "--device", device, image]).text();
        assert!(text.starts_with(&format!("{image}: sound")), "{text}");
        let text = sandbox.good(&["info", "--device", device, image]).text();
        assert!(text.contains("Other devices:     1\n"), "{text}");
    }
}

#[test]
fn mounts_read_contents_of_devices() {
    if !mount::fuse_available() {
        return;
    }
    let sandbox = with_images();
    let content = sandbox.good(&["cat", "--device", "blob.bin", "blob.erofs", "tail"]).stdout;
    sandbox.create_dir("on");
    for words in [["--device", "blob.bin"], ["-o", "device=blob.bin"]] {
        sandbox.good(&["mount", words[0], words[1], "blob.erofs", "on"]);
        let found = fs::read(sandbox.at("on/tail"));
        sandbox.good(&["umount", "on"]);
        assert!(found.unwrap() == content, "{words:?}");
    }
}

#[test]
fn missing_and_needless_devices_are_errors() {
    let sandbox = with_images();
    let message = sandbox.bad(1, &["cat", "blob.erofs", "tail"]);
    assert!(message.contains("an image without its device"), "{message}");
    let message = sandbox.bad(1, &["list", "--device", "blob.bin", "--device", "small.tar", "blob.erofs"]);
    assert!(message.contains("2 devices given (expected 1 device"), "{message}");
    let message = sandbox.bad(1, &["list", "--device", "missing", "blob.erofs"]);
    assert!(message.contains("missing: "), "{message}");
    sandbox.good(&["pack", "small.tar", "small.sqfs", "-q"]);
    let message = sandbox.bad(1, &["list", "--device", "blob.bin", "small.sqfs"]);
    assert!(message.contains("other devices of a SquashFS image"), "{message}");
    for command in [["list", "small.tar"], ["info", "small.tar"], ["verify", "small.tar"]] {
        let message = sandbox.bad(2, &[command[0], "--device", "blob.bin", command[1]]);
        assert!(message.contains("--device: has no effect on a tar"), "{message}");
    }
    let message = sandbox.bad(2, &["diff", "--new-device", "blob.bin", "blob.erofs", "."]);
    assert!(message.contains("--new-device: . is a directory"), "{message}");
}
