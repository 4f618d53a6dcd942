//! diff and pack.

use packline_testkit::model::Node;

use super::{SAMPLES, tree, with_samples};
use crate::sandbox;

#[test]
fn trees_are_equal_whatever_the_file_system() {
    let sandbox = with_samples();
    for (name, _) in SAMPLES {
        for sides in [["tree.sqfs", name], [name, "tree.sqfs"], ["zstd.erofs", name]] {
            assert_eq!(sandbox.good(&["diff", sides[0], sides[1]]).text(), "", "{sides:?}");
        }
    }
}

#[test]
fn differences_are_found_in_both_directions() {
    let sandbox = with_samples();
    let mut nodes = tree::nodes();
    nodes.retain(|node| node.path != b"pipe");
    nodes.push(Node::file("new", "new"));
    let small = nodes.iter_mut().find(|node| node.path == b"a/small").unwrap();
    *small = Node::file("a/small", "SMALL\n").xattr("user.note", "another note");
    sandbox.write_tar("changed.tar", &nodes);
    sandbox.good(&["pack", "changed.tar", "changed.sqfs", "-q"]);
    let ran = sandbox.run(&["diff", "zstd.erofs", "changed.sqfs"]);
    let expected = "! a/small: extended attributes user.note\n! a/small: content from byte 0 on\n+ new\n- pipe\n";
    assert_eq!((ran.status, ran.text().as_str()), (1, expected), "{ran:?}");
    let ran = sandbox.run(&["diff", "changed.sqfs", "zstd.erofs"]);
    assert_eq!((ran.status, ran.text().as_str()), (1, &*expected.replace("+ new\n- pipe", "- new\n+ pipe")), "{ran:?}");
}

#[test]
fn superblocks_are_compared_within_one_file_system() {
    let sandbox = with_samples();
    sandbox.good(&["diff", "--super", "zstd.erofs", "zstd.erofs"]);
    let ran = sandbox.run(&["diff", "--super", "zstd.erofs", "wide.erofs"]);
    assert!(ran.status == 1 && ran.text().contains("! superblock: blocks 17 -> 14\n"), "{ran:?}");
    let message = sandbox.bad(2, &["diff", "--super", "zstd.erofs", "tree.sqfs"]);
    assert!(message.contains("--super") && message.contains("different file systems"), "{message}");
}

#[test]
fn converts_to_squashfs_with_any_number_of_workers() {
    let sandbox = with_samples();
    for (name, _) in SAMPLES {
        let packed = |jobs: &str| {
            sandbox.good(&["pack", name, "new.sqfs", "-q", "-f", "-j", jobs]);
            sandbox.read("new.sqfs")
        };
        let expected = packed("0");
        assert_eq!(sandbox.good(&["diff", name, "new.sqfs"]).text(), "", "{name}");
        sandbox.good(&["verify", "new.sqfs"]);
        for jobs in ["1", "2", "7"] {
            assert!(packed(jobs) == expected, "{name} with {jobs} workers");
        }
    }
    let piped = sandbox.shell("cat wide.erofs | $P pack - piped.sqfs -q");
    assert_eq!(piped.status, 0, "{piped:?}");
    sandbox.good(&["diff", "wide.erofs", "piped.sqfs"]);
}

#[test]
fn a_layer_over_an_image_merges_with_it() {
    let sandbox = with_samples();
    sandbox.write_tar("layer.tar", &[Node::dir("a"), Node::file("a/small", "of the layer")]);
    sandbox.good(&["pack", "--overlay", "zstd.erofs", "layer.tar", "merged.sqfs", "-q"]);
    assert_eq!(
        sandbox.good(&["cat", "merged.sqfs", "a/small", "many/file-with-a-name-000"]).text(),
        "of the layercontent 0\n"
    );
}

#[test]
fn a_damaged_file_with_the_ending_is_not_packed_as_a_plain_file() {
    let sandbox = sandbox();
    sandbox.write("x.erofs", "no image");
    let message = sandbox.refused(&["pack", "x.erofs", "new.sqfs"]);
    assert!(message.contains("x.erofs"), "{message}");
}
