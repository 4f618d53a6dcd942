//! mkfs.erofs --incremental: a source over the image that exists already.

use packline_testkit::Sandbox;
use packline_testkit::model::Node;
use serde_json::Value;

use super::tree;
use crate::sandbox;

/// A sandbox with an image of the tree, and with a layer over it.
fn with_image() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write_tar("tree.tar", &tree::nodes());
    let layer =
        [Node::dir("a"), Node::file("a/small", "changed"), Node::file("new", "more"), Node::file(".wh.pipe", "")];
    sandbox.write_tar("layer.tar", &layer);
    sandbox.good(&["mkfs.erofs", "--quiet", "--tar=f", "-L", "first", "image", "tree.tar"]);
    sandbox
}

#[test]
fn adds_a_layer_to_an_image() {
    let sandbox = with_image();
    let info = || -> Value { serde_json::from_str(&sandbox.good(&["info", "--json", "image"]).text()).unwrap() };
    let before = info();
    sandbox.good(&["pack", "-q", "--overlay", "--whiteouts", "keep", "image", "layer.tar", "kept.sqfs"]);
    sandbox.good(&["mkfs.erofs", "--quiet", "--incremental", "--tar=f", "--aufs", "-zlz4", "image", "layer.tar"]);
    assert_eq!(sandbox.good(&["diff", "image", "kept.sqfs"]).text(), "");
    let after = info();
    assert_eq!((&after["label"], &after["uuid"]), (&"first".into(), &before["uuid"]));
    sandbox.good(&["verify", "-q", "image"]);

    sandbox.write("more/new", "again");
    sandbox.good(&["mkfs.erofs", "--quiet", "--incremental=data", "-L", "second", "image", "more"]);
    assert_eq!(sandbox.good(&["cat", "image", "new", "a/small"]).text(), "againchanged");
    assert_eq!(info()["label"], "second");
}

#[test]
fn a_failure_leaves_the_image_as_it_was() {
    let sandbox = with_image();
    let before = sandbox.read("image");
    let layer = sandbox.read("layer.tar");
    sandbox.write("cut.tar", &layer[..layer.len() - 1500]);
    for (arguments, expected) in [
        (&["--incremental", "--tar=f", "image", "cut.tar"][..], "cut.tar"),
        (&["--incremental", "--tar=f", "none", "layer.tar"], "none: cannot open"),
        (&["--incremental", "--tar=f", "layer.tar", "tree.tar"], "layer.tar: is a tar"),
        (&["--incremental=rvsp", "--tar=f", "image", "layer.tar"], "'rvsp' is not supported yet"),
        (&["--clean=rvsp", "--tar=f", "image", "layer.tar"], "'rvsp' is not supported yet"),
        (&["--incremental", "--tar=i", "image", "layer.tar"], "does not work with --tar=i"),
    ] {
        let message = sandbox.bad(1, &[&["mkfs.erofs", "--quiet"], arguments].concat());
        assert!(message.contains(expected), "{arguments:?}: {message}");
        assert!(sandbox.read("image") == before, "{arguments:?}");
    }
}
