//! Container images in `list`, `cat` and `du`, and tags without their registry.

use packline_testkit::tools;

use super::support::{Layout, shell, tagged};
use crate::sandbox;

#[test]
fn container_images_are_listed_printed_and_measured() {
    if !tools::need(&["tar"]) {
        return;
    }
    let sandbox = sandbox();
    shell(
        &sandbox,
        "mkdir -p one/d two && echo 1 >one/a && echo 2 >one/d/x && echo 33 >two/b && : >two/.wh.a && \
         tar -C one -cf one.tar a d && tar -C two -cf two.tar .wh.a b",
    );
    let layout = Layout::new(&sandbox, "oci");
    let layers = [(sandbox.read("one.tar"), "+gzip"), (sandbox.read("two.tar"), "")];
    let image = tagged(layout.manifest(&layers, "linux", "amd64"), "docker.io/library/box:latest");
    let other = tagged(layout.manifest(&layers[..1], "linux", "amd64"), "quay.io/a/lid:2");
    layout.index(&[image, other]);
    for tag in ["box", "docker.io/library/box:latest", "library/box", "latest"] {
        let source = format!("oci:oci:{tag}");
        assert_eq!(sandbox.good(&["list", &source]).text(), ".\nb\nd\nd/x\n", "{tag}");
    }
    for tag in ["lid:2", "a/lid:2", "2", "@1"] {
        assert_eq!(sandbox.good(&["list", &format!("oci:oci:{tag}")]).text(), ".\na\nd\nd/x\n", "{tag}");
    }
    assert_eq!(sandbox.good(&["cat", "oci:oci:box", "b", "d/x"]).text(), "33\n2\n");
    let measured = sandbox.good(&["du", "--json", "oci:oci:box"]).text();
    assert!(measured.contains("\"oci\""), "{measured}");
    for (arguments, what) in [
        (
            &["list", "oci:oci"][..],
            "oci: contains 2 images (expected :TAG with one of docker.io/library/box:latest, quay.io/a/lid:2)",
        ),
        (&["list", "oci:oci:lid"], "contains no image 'lid'"),
        (&["list", "oci-archive:-"], "a container image in a stream"),
        (&["cat", "oci:oci:box"], "a path in the container image is missing"),
        (&["list", "oci:oci:box", "--offset", "1"], "--offset: has no effect on a container image"),
        (&["info", "oci:oci:box"], "only packline pack, list, cat, du and diff read container images"),
    ] {
        let ran = sandbox.run(arguments);
        assert!(ran.status != 0 && ran.stderr.contains(what), "{arguments:?}: {}", ran.stderr);
    }
}
