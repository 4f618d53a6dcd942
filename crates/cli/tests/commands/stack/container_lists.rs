//! Container images in `list`, `cat`, `info` and `du`, and tags without their registry.

use packline_testkit::{Sandbox, tools};
use serde_json::{Value, json};

use super::support::{Layout, of_platform, shell, tagged, tar};
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
    described(&sandbox);
    for (arguments, what) in [
        (
            &["list", "oci:oci"][..],
            "oci: contains 2 images (expected :TAG with one of docker.io/library/box:latest, quay.io/a/lid:2)",
        ),
        (&["list", "oci:oci:lid"], "contains no image 'lid'"),
        (&["list", "oci-archive:-"], "a container image in a stream"),
        (&["cat", "oci:oci:box"], "a path in the container image is missing"),
        (&["list", "oci:oci:box", "--offset", "1"], "--offset: has no effect on a container image"),
        (&["verify", "oci:oci:box"], "only packline pack, list, cat, info, du and diff read container images"),
    ] {
        let ran = sandbox.run(arguments);
        assert!(ran.status != 0 && ran.stderr.contains(what), "{arguments:?}: {}", ran.stderr);
    }
}

/// `info` shows the layers and the documents of the image.
fn described(sandbox: &Sandbox) {
    let text = sandbox.good(&["info", "oci:oci:box"]).text();
    let labels: Vec<&str> = text.lines().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(labels, ["Format", "Tag", "Platform", "Manifest", "Config", "Layers", "Layer 1", "Layer 2"], "{text}");
    assert!(text.contains("Platform:    linux/amd64\n") && text.contains(" (gzip), sha256:"), "{text}");
    assert!(text.contains(" (not compressed), sha256:") && text.contains(", application/vnd.oci.image.layer.v1.tar\n"));
    let object: Value = serde_json::from_str(&sandbox.good(&["info", "--json", "oci:oci:lid:2"]).text()).unwrap();
    assert_eq!(object["format"], "oci");
    assert_eq!(object["tags"], json!(["quay.io/a/lid:2"]));
    let layer = &object["layers"][0];
    let blob = layer["digest"].as_str().unwrap().replace("sha256:", "oci/blobs/sha256/");
    assert_eq!(layer["size"], sandbox.read(&blob).len());
    assert_eq!(
        (&layer["compression"], &layer["media_type"]),
        (&json!("gzip"), &json!("application/vnd.oci.image.layer.v1.tar+gzip"))
    );
    let message = sandbox.bad(2, &["info", "oci:oci:box", "--quick"]);
    assert!(message.contains("--quick: has no effect on a container image"), "{message}");
}

#[test]
fn the_platform_chooses_an_image_in_each_command() {
    let sandbox = sandbox();
    let layout = Layout::new(&sandbox, "oci");
    let image = |name: &str, architecture: &str, variant: Option<&str>| {
        let manifest = layout.manifest(&[(tar(&[(name, name)]), "")], "linux", architecture);
        of_platform(manifest, "linux", architecture, variant)
    };
    layout.index(&[image("mips", "mips", None), image("arm6", "arm", Some("v6")), image("arm7", "arm", Some("v7"))]);
    for (platform, name) in [("linux/mips", "mips"), ("linux/arm/v6", "arm6"), ("linux/arm/v7", "arm7")] {
        let good = |words: &[&str]| sandbox.good(&[words, &["--platform", platform]].concat()).text();
        assert_eq!(good(&["list", "oci:oci"]), format!(".\n{name}\n"));
        assert_eq!(good(&["cat", "oci:oci", name]), name);
        assert!(good(&["du", "--by", "file", "oci:oci"]).contains(name));
        // The config has no variant.
        let shown = platform.trim_end_matches("/v6").trim_end_matches("/v7");
        assert!(good(&["info", "oci:oci"]).contains(&format!("Platform:    {shown}\n")));
        good(&["pack", "-q", "-f", "oci:oci", "one.sqfs"]);
        assert_eq!(good(&["diff", "oci:oci", "one.sqfs"]), "");
    }
    let hint = "(expected linux/mips, linux/arm/v6, linux/arm/v7); --platform chooses another one";
    for words in [&["list", "oci:oci"][..], &["cat", "oci:oci", "mips"], &["info", "oci:oci"], &["du", "oci:oci"]] {
        // No image is one of this machine.
        let line = sandbox.bad(1, words);
        assert!(
            line.contains("contains no image for the platform linux/") && line.trim_end().ends_with(hint),
            "{line}"
        );
    }
    for words in [
        &["list", "one.sqfs"][..],
        &["cat", "one.sqfs", "arm7"],
        &["info", "one.sqfs"],
        &["du", "one.sqfs"],
        &["diff", "one.sqfs", "oci"],
    ] {
        let line = sandbox.bad(2, &[words, &["--platform", "linux/mips"]].concat());
        assert!(line.contains("--platform: works only with a container image (oci:"), "{line}");
    }
}

#[test]
fn info_shows_how_a_container_is_run() {
    let sandbox = sandbox();
    let layout = Layout::new(&sandbox, "oci");
    let manifest = layout.manifest(&[(tar(&[("a", "1")]), "")], "linux", "arm64");
    let run = json!({
        "Entrypoint": ["/bin/sh", "-c", "a b"], "Cmd": [], "User": "web", "Env": ["PATH=/bin", "X=\u{1b}[1m"],
        "WorkingDir": "/srv", "ExposedPorts": {"80/tcp": {}}, "Labels": {"version": "1"},
    });
    let config = layout.read(&manifest)["config"].clone();
    let config = layout.changed(&config, &|config| {
        config["config"] = run.clone();
        config["created"] = "2026-01-02T03:04:05Z".into();
    });
    let manifest = layout.changed(&manifest, &|manifest| manifest["config"] = config.clone());
    layout.index(&[of_platform(manifest, "linux", "arm64", None)]);
    let text = sandbox.good(&["info", "oci:oci", "--platform", "linux/arm64"]).text();
    for line in [
        "Platform:    linux/arm64",
        "Created:     2026-01-02T03:04:05Z",
        "Entrypoint:  [\"/bin/sh\",\"-c\",\"a b\"]",
        "Directory:   /srv",
        "User:        web",
        "Ports:       80/tcp",
        "Environment: PATH=/bin",
        "Environment: X=\\x1b[1m",
        "Label:       version=1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in: {text}");
    }
    assert!(!text.contains("Command:"), "{text}");
    let object: Value = serde_json::from_str(&sandbox.good(&["info", "--json", "oci:oci"]).text()).unwrap();
    assert_eq!(object["config"], run);
    let ran = sandbox.run(&["info", "oci:oci", "--platform", "linux/s390x"]);
    assert!(ran.status == 1 && ran.stderr.contains("contains no image for the platform linux/s390x"), "{ran:?}");
}
