//! Container images as sources.
//!
//! Long because all tests change the same layout, which is built here.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileExt;

use packline_testkit::{Sandbox, tools};
use serde_json::{Value, json};

use crate::sandbox;
use crate::stack::oci_to_image;
use crate::stack::support::{INDEX, LAYER, Layout, of_platform, sha256, shell, tagged, tar};

fn pack(sandbox: &Sandbox, source: &str, options: &[&str]) -> Vec<u8> {
    sandbox.good(&[&["pack", "-q", "-f", "-c", "none", source, "new.sqfs"], options].concat());
    sandbox.read("new.sqfs")
}

/// The names in an image of a source.
fn names(sandbox: &Sandbox, source: &str, options: &[&str]) -> String {
    pack(sandbox, source, options);
    sandbox.good(&["list", "new.sqfs"]).text().lines().skip(1).collect::<Vec<_>>().join(" ")
}

/// Steps of an image. Each step changes the result of the previous step, in the directory of the root file system.
const STEPS: &[&str] = &[
    "mkdir -p etc usr/bin usr/lib opt/app/data && echo box > etc/name && echo sh > usr/bin/sh && ln usr/bin/sh usr/bin/bash && \
     ln -s usr/bin bin && echo old > opt/app/data/one && echo old > opt/app/data/two && echo lib > usr/lib/lib.so && \
     chmod 4755 usr/bin/sh && mkfifo etc/pipe && mknod etc/null c 1 3 && chown -R 3:4 opt && \
     setfattr -n security.capability -v 0x0100000200200000000000000000000000000000 usr/bin/sh && setfattr -n user.of -v one etc",
    "rm -r opt/app/data && mkdir opt/app/data && echo new > opt/app/data/three && echo name > etc/name && rm etc/pipe",
    "rm usr/bin/sh && echo other > usr/bin/sh && ln usr/bin/bash usr/bin/dash && ln usr/lib/lib.so usr/lib/lib.so.1 && \
     setfattr -n security.capability -v 0x0100000200040000000000000000000000000000 usr/lib/lib.so",
    "rm usr/lib/lib.so && rm -r opt && echo file > opt && mkdir usr/new && ln usr/lib/lib.so.1 usr/new/l && setfattr -x user.of etc",
];

/// A layout made by umoci with a layer for each step, and the root file system that it unpacks of it, in `bundle/rootfs`.
fn image() -> Sandbox {
    let sandbox = sandbox();
    shell(&sandbox, "umoci init --layout oci && umoci new --image oci:box");
    for step in STEPS {
        shell(
            &sandbox,
            &format!(
                "rm -rf bundle && umoci unpack --image oci:box bundle && (cd bundle/rootfs && {step}) && \
             umoci repack --image oci:box bundle && rm -rf bundle && umoci unpack --image oci:box bundle"
            ),
        );
    }
    sandbox
}

#[test]
fn layers_are_packed_as_umoci_unpacks_them() {
    if !tools::need(&["umoci", "skopeo", "getfattr"]) || !tools::root() {
        return;
    }
    let sandbox = image();
    let unpacked = pack(&sandbox, "bundle/rootfs", &[]);
    for workers in ["0", "1", "2", "7"] {
        assert!(pack(&sandbox, "oci:oci:box", &["-j", workers]) == unpacked, "{workers} workers");
    }
    let listing = sandbox.good(&["list", "-l", "new.sqfs"]).text();
    assert!(listing.contains("usr/new/l") && !listing.contains("etc/pipe"), "{listing}");
    shell(
        &sandbox,
        "skopeo copy -q oci:oci:box docker-archive:docker.tar:box:1 && skopeo copy -q oci:oci:box oci-archive:oci.tar:t && \
         skopeo copy -q --dest-compress-format zstd oci:oci:box oci:zstd:z && gzip -k docker.tar && zstd -q oci.tar",
    );
    for source in [
        "docker-archive:docker.tar",
        "docker-archive:docker.tar:box:1",
        "docker-archive:docker.tar.gz:docker.io/library/box:1",
        "oci-archive:oci.tar",
        "oci-archive:oci.tar.zst:t",
        "oci:zstd",
        "oci:zstd:z",
    ] {
        assert!(pack(&sandbox, source, &[]) == unpacked, "{source}");
    }
    let image = shell(&sandbox, &format!("{} pack -q -c none docker-archive:- - < docker.tar", crate::PACKLINE)).stdout;
    assert!(image == unpacked, "from a stream");
}

/// Also as podman mounts them, except for the root, which podman makes read-only.
#[test]
#[ignore = "long: cargo test -p packline-cli --test commands stack::oci -- --ignored"]
fn layers_are_packed_as_podman_mounts_them() {
    if !tools::need(&["umoci", "skopeo", "podman", "getfattr"]) || !tools::root() {
        return;
    }
    let sandbox = image();
    shell(&sandbox, "skopeo copy -q oci:oci:box docker-archive:docker.tar:box:1");
    // With the driver vfs, podman 4.3 refuses the whiteout of umoci below a directory that a file replaced.
    let podman = "podman --root $PWD/storage --runroot $PWD/run --storage-driver overlay";
    shell(&sandbox, &format!("{podman} load -q -i docker.tar && {podman} save -q -o saved.tar box:1"));
    let unpacked = pack(&sandbox, "bundle/rootfs", &[]);
    assert!(pack(&sandbox, "docker-archive:saved.tar:box:1", &[]) == unpacked);
    let point = shell(&sandbox, &format!("{podman} image mount box:1")).text();
    let differences = sandbox.run(&["diff", "new.sqfs", point.trim()]).text();
    shell(&sandbox, &format!("{podman} image umount box:1 && {podman} rmi -f box:1"));
    // Times of directories in which it links files of lower layers sometimes differ by a second.
    let known = |line: &str| line.starts_with("! .: ") || line.starts_with("! usr/") && line.contains(": time ");
    assert!(differences.lines().all(known), "{differences}");
}

/// A layout with three layers, of which the second hides and replaces.
fn layers() -> Vec<(Vec<u8>, &'static str)> {
    vec![
        (tar(&[("a", "1"), ("d/x", "2"), ("d/y", "3")]), "+gzip"),
        (tar(&[(".wh.a", ""), ("d/.wh..wh..opq", ""), ("d/z", "4")]), ""),
        (tar(&[("b", "5")]), "+zstd"),
    ]
}

#[test]
fn directory_overlays_container_image() {
    if !tools::need(&["zstd"]) {
        return;
    }
    let sandbox = sandbox();
    let layout = Layout::new(&sandbox, "oci");
    layout.index(&[layout.manifest(&layers(), "linux", "amd64")]);
    shell(&sandbox, "mkdir -p over/d && echo 6 > over/d/n && echo 7 > over/b");
    let pack = ["pack", "-q", "-f", "oci:oci", "over", "new.sqfs"];
    sandbox.good(&pack);
    assert_eq!(sandbox.good(&["list", "new.sqfs"]).text(), ".\nb\nd\nd/n\nd/z\n");
    assert_eq!(sandbox.good(&["cat", "new.sqfs", "b", "d/z"]).text(), "7\n4");
    assert_eq!(names(&sandbox, "oci:oci", &["--whiteouts=ignore"]), ".wh.a a b d d/.wh..wh..opq d/x d/y d/z");
}

#[test]
fn one_of_several_images_is_chosen_by_tag_and_platform() {
    if !tools::need(&["zstd"]) {
        return;
    }
    let sandbox = sandbox();
    let layout = Layout::new(&sandbox, "oci");
    let image =
        |name: &str, os: &str, architecture: &str| layout.manifest(&[(tar(&[(name, "")]), "+gzip")], os, architecture);
    let amd = of_platform(image("amd", "linux", "amd64"), "linux", "amd64", None);
    let arm6 = of_platform(image("arm6", "linux", "arm"), "linux", "arm", Some("v6"));
    let arm7 = of_platform(image("arm7", "linux", "arm"), "linux", "arm", Some("v7"));
    let attestation = of_platform(image("none", "unknown", "unknown"), "unknown", "unknown", None);
    let both = layout.document(INDEX, &json!({"schemaVersion": 2, "manifests": [attestation, amd, arm6, arm7]}));
    let digest = both["digest"].as_str().unwrap().to_string();
    let alone = tagged(image("alone", "linux", "s390x"), "x:1");
    layout.index(&[tagged(both, "many"), alone]);
    for (source, platform, expected) in [
        ("oci:oci:many", Some("linux/amd64"), "amd"),
        ("oci:oci:many", Some("linux/x86_64"), "amd"),
        ("oci:oci:many", Some("linux/arm"), "arm6"),
        ("oci:oci:many", Some("linux/arm/v7"), "arm7"),
        ("oci:oci:x:1", None, "alone"),
        ("oci:oci:x:1", Some("linux/s390x"), "alone"),
        (&format!("oci:oci:{digest}"), Some("linux/arm/v6"), "arm6"),
    ] {
        let options = platform.map_or(vec![], |platform| vec!["--platform", platform]);
        assert_eq!(names(&sandbox, source, &options), expected, "{source} {platform:?}");
    }
    for (source, platform, expected) in [
        ("oci:oci", "linux/arm", "oci: contains 2 images (expected :TAG with one of many, x:1)"),
        ("oci:oci:y", "linux/arm", "oci: contains no image 'y' (expected :TAG with one of many, x:1)"),
        (
            "oci:oci:many",
            "linux/mips",
            "oci: contains no image for the platform linux/mips (expected linux/amd64, linux/arm/v6, linux/arm/v7); \
             --platform chooses another one",
        ),
        ("oci:oci:x:1", "linux/arm", "oci: an image for linux/s390x (expected linux/arm)"),
    ] {
        let message = sandbox.refused(&["pack", source, "none.sqfs", "--platform", platform]);
        assert_eq!(message, format!("packline: {expected}"));
    }
}

/// Builds a layout, changes it, and returns the error message of a pack.
fn refused(change: &dyn Fn(&Layout<'_>, Value) -> Value) -> String {
    let sandbox = sandbox();
    let layout = Layout::new(&sandbox, "oci");
    let manifest = layout.manifest(&layers(), "linux", "amd64");
    layout.index(&[change(&layout, manifest)]);
    let message = sandbox.refused(&["pack", "oci:oci", "new.sqfs", "-j", "2"]);
    assert!(!sandbox.names().contains(&"new.sqfs".to_string()));
    assert_eq!(sandbox.refused(&["pack", "oci:oci", "new.sqfs", "-j", "0"]), message);
    message.strip_prefix("packline: oci: ").unwrap_or(&message).to_string()
}

#[test]
fn damaged_layers_are_named_with_both_digests() {
    if !tools::need(&["zstd"]) {
        return;
    }
    for layer in 0..3 {
        let message = refused(&|layout, manifest| {
            let blob = layout.path(&layout.read(&manifest)["layers"][layer]);
            let file = fs::OpenOptions::new().read(true).write(true).open(blob).unwrap();
            let mut byte = [0];
            file.read_exact_at(&mut byte, 40).unwrap();
            file.write_all_at(&[!byte[0]], 40).unwrap();
            manifest
        });
        let number = layer + 1;
        let named = message.starts_with(&format!("layer {number} (sha256:"));
        assert!(named && message.matches("sha256:").count() == 3, "{message}");
        assert!(message.contains(" has the digest sha256:") && message.contains(", as the "), "{message}");
    }
}

type Change = Box<dyn Fn(&Layout<'_>, Value) -> Value>;

/// Changes a field of a layer in the manifest.
fn changed_layer(at: usize, key: &'static str, value: Value) -> Change {
    Box::new(move |layout, manifest| layout.changed(&manifest, &|manifest| manifest["layers"][at][key] = value.clone()))
}

/// Changes a field of the root file system in the config.
fn changed_config(key: &'static str, value: Value) -> Change {
    Box::new(move |layout, manifest| {
        let old = layout.read(&manifest)["config"].clone();
        let new = layout.changed(&old, &|config| config["rootfs"][key] = value.clone());
        layout.changed(&manifest, &|manifest| manifest["config"] = new.clone())
    })
}

/// Repeats the first layer.
fn repeated_layer(count: usize) -> Change {
    Box::new(move |layout, manifest| {
        let one = layout.read(&manifest)["layers"][0].clone();
        layout.changed(&manifest, &|manifest| manifest["layers"] = vec![one.clone(); count].into())
    })
}

fn assert_refused(cases: Vec<(Change, &str)>) {
    for (change, expected) in cases {
        let message = refused(&|layout, manifest| change(layout, manifest));
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

#[test]
fn rejects_layers_that_contradict_the_manifest_or_the_config() {
    if !tools::need(&["zstd"]) {
        return;
    }
    let zeros = format!("sha256:{}", "0".repeat(64));
    assert_refused(vec![
        (
            changed_layer(0, "digest", json!(zeros)),
            "layer 1 (sha256:000000000000): its content is missing (expected blobs/sha256/0000",
        ),
        (changed_layer(1, "size", json!(7)), "bytes (expected 7, as the manifest says)"),
        (changed_layer(2, "digest", json!("md5:abc")), "digest 'md5:abc' (expected sha256 or sha512, in lower case)"),
        (
            changed_layer(2, "mediaType", json!(format!("{LAYER}+gzip+encrypted"))),
            "it is encrypted ('application/vnd.oci.image.layer.v1.tar+gzip+encrypted') (expected",
        ),
        (changed_layer(0, "mediaType", json!("text/plain")), "media type 'text/plain' (expected a layer that is a tar"),
        (changed_layer(0, "size", json!(-1)), "invalid value: integer `-1`"),
        (changed_config("diff_ids", json!([zeros, zeros, zeros])), "layer 1 ("),
        (changed_config("diff_ids", json!([])), "3 layers in the manifest, 0 in the config (expected as many)"),
        (changed_config("type", json!("disk")), "a root file system of the type 'disk' (expected layers)"),
        (repeated_layer(501), "an image of 501 layers (expected at most 500)"),
    ]);
}

#[test]
fn rejects_malformed_documents_and_layers() {
    if !tools::need(&["zstd"]) {
        return;
    }
    assert_refused(vec![
        (
            Box::new(|_, mut manifest| {
                manifest["mediaType"] = json!("application/vnd.docker.distribution.manifest.v1+json");
                manifest
            }),
            "media type 'application/vnd.docker.distribution.manifest.v1+json' (expected an index or a manifest",
        ),
        (
            Box::new(|layout, manifest| {
                let nest = |inner: Value| {
                    let inner = of_platform(inner, "linux", "amd64", None);
                    layout.document(INDEX, &json!({"schemaVersion": 2, "manifests": [inner]}))
                };
                (0..5).fold(manifest, |inner, _| nest(inner))
            }),
            "indexes in indexes (expected at most 4 deep)",
        ),
        (
            Box::new(|layout, manifest| {
                fs::write(layout.path(&manifest), "x".repeat(5 << 20)).unwrap();
                manifest
            }),
            "has a size of 5M (expected at most 4M for a document)",
        ),
        (
            Box::new(|layout, manifest| {
                fs::write(layout.path(&manifest), "{}").unwrap();
                manifest
            }),
            "has the digest sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a (expected sha256:",
        ),
        (
            Box::new(|layout, manifest| {
                let nested = format!("{{\"x\":{}{}}}", "[".repeat(1 << 20), "]".repeat(1 << 20));
                layout.blob(manifest["mediaType"].as_str().unwrap(), nested.as_bytes())
            }),
            "missing field `config`",
        ),
        (
            Box::new(|layout, manifest| {
                let tar = layout.blob(&format!("{LAYER}+gzip"), &tar(&[("../x", "")]));
                let digest = tar["digest"].clone();
                let old = layout.read(&manifest)["config"].clone();
                let new = layout.changed(&old, &|config| config["rootfs"]["diff_ids"][0] = digest.clone());
                layout.changed(&manifest, &|manifest| {
                    manifest["layers"][0] = tar.clone();
                    manifest["config"] = new.clone();
                })
            }),
            "the path contains '..'",
        ),
    ]);
}

#[test]
fn a_layer_that_may_be_elsewhere_is_packed_if_it_is_there() {
    if !tools::need(&["zstd"]) {
        return;
    }
    let sandbox = sandbox();
    let layout = Layout::new(&sandbox, "oci");
    let foreign = json!("application/vnd.oci.image.layer.nondistributable.v1.tar+gzip");
    let manifest = layout.manifest(&layers(), "linux", "amd64");
    let manifest = layout.changed(&manifest, &|manifest| manifest["layers"][0]["mediaType"] = foreign.clone());
    layout.index(std::slice::from_ref(&manifest));
    assert_eq!(names(&sandbox, "oci:oci", &[]), "b d d/z");
    fs::remove_file(layout.path(&layout.read(&manifest)["layers"][0])).unwrap();
    let message = sandbox.refused(&["pack", "oci:oci", "none.sqfs"]);
    assert!(
        message.contains("its content is not in the image, which only says where it is (expected blobs/"),
        "{message}"
    );
}

#[test]
fn rejects_non_images() {
    let sandbox = sandbox();
    shell(
        &sandbox,
        "mkdir empty dir && echo '{\"imageLayoutVersion\":\"2\"}' > dir/oci-layout && echo x > file && tar -cf a.tar file",
    );
    for (source, expected) in [
        ("oci:none:tag", "none:tag: cannot open: No such file or directory"),
        ("oci:empty", "empty: oci-layout is missing (expected an OCI image layout"),
        ("oci:dir", "dir: version '2' of the layout (expected 1.0.0)"),
        ("oci:file", "file: not a directory"),
        (
            "docker-archive:a.tar",
            "a.tar: manifest.json is missing (expected an archive as docker save and podman save write it)",
        ),
        ("oci-archive:a.tar", "docker-archive:FILE for a docker archive"),
        ("docker-archive:file", "file: the archive ends 2 bytes into a header at byte 0"),
    ] {
        let message = sandbox.refused(&["pack", source, "new.sqfs"]);
        assert!(message.contains(expected), "{source}: {message}");
    }
}

#[test]
fn warns_if_packed_tar_is_an_archive_of_an_image() {
    let sandbox = sandbox();
    let layer = format!("{}.tar", "0a".repeat(32));
    shell(
        &sandbox,
        &format!(
            "mkdir -p d/blobs && cd d && touch oci-layout index.json manifest.json {layer} && \
             tar -cf ../docker.tar {layer} manifest.json && tar -cf ../oci.tar blobs oci-layout index.json && \
             tar -cf ../plain.tar --transform s/^/x/ index.json"
        ),
    );
    let stderr_of = |source| sandbox.good(&["pack", "-q", "-f", source, "new.sqfs"]).stderr;
    shell(&sandbox, "gzip -k docker.tar && gzip -k plain.tar && zstd -q oci.tar");
    let names = [("docker.tar", "docker-archive"), ("oci.tar", "oci-archive")];
    for (name, form) in names.into_iter().chain([("docker.tar.gz", "docker-archive"), ("oci.tar.zst", "oci-archive")]) {
        let hint = format!(
            "packline: warning: {name}: seems to be a container image, packed as it is; {form}:{name} packs the container image\n"
        );
        assert_eq!(stderr_of(name), hint);
    }
    assert_eq!((stderr_of("plain.tar"), stderr_of("plain.tar.gz")), (String::new(), String::new()));
}

#[test]
fn warns_if_packed_directory_is_an_image_layout() {
    let sandbox = sandbox();
    let layout = Layout::new(&sandbox, "app");
    layout.index(&[layout.manifest(&[(tar(&[("a", "1")]), "")], "linux", "amd64")]);
    let stderr_of = |source| sandbox.good(&["pack", "-q", "-f", source, "new.sqfs"]).stderr;
    let hint = "app: is an OCI image layout, packed as it is; oci:app packs the container image";
    assert_eq!(stderr_of("app"), format!("packline: warning: {hint}\n"));
    assert_eq!((stderr_of("oci:app"), stderr_of("app/blobs")), (String::new(), String::new()));
}

#[test]
fn packs_docker_archive() {
    let sandbox = sandbox();
    sandbox.write("one.tar", tar(&[("a", "1")]));
    sandbox.write("two.tar", tar(&[("b", "2")]));
    let digest = |path: &str| format!("sha256:{}", sha256(&sandbox, path));
    let config = |diff_ids: &[String]| {
        json!({"os": "linux", "architecture": "amd64", "rootfs": {"type": "layers", "diff_ids": diff_ids}}).to_string()
    };
    let save = |config: &str, layers: &[&str], tags: &[&[&str]]| {
        sandbox.write("config", config);
        let name = format!("{}.json", sha256(&sandbox, "config"));
        shell(&sandbox, &format!("mv config {name} && mkdir -p x && ln -sf ../two.tar x/layer.tar"));
        let images: Vec<Value> =
            tags.iter().map(|tags| json!({"Config": name, "RepoTags": tags, "Layers": layers})).collect();
        sandbox.write("manifest.json", Value::from(images).to_string());
        shell(&sandbox, &format!("tar -cf docker.tar manifest.json {name} one.tar two.tar x"));
    };
    let both = [digest("one.tar"), digest("two.tar")];
    save(&config(&both), &["one.tar", "x/layer.tar"], &[&["box:latest"]]);
    assert_eq!(names(&sandbox, "docker-archive:docker.tar:box", &[]), "a b");
    save(&config(&both), &["one.tar", "two.tar"], &[&["box:1", "box:2"], &[]]);
    let message = sandbox.refused(&["pack", "docker-archive:docker.tar", "x.sqfs"]);
    let expected = "contains 2 images (expected :TAG with one of box:1, box:2, or :@0 to :@1)";
    assert_eq!(message, format!("packline: docker.tar: {expected}"));
    for tag in ["box:2", "2", "@0", "@1"] {
        assert_eq!(names(&sandbox, &format!("docker-archive:docker.tar:{tag}"), &[]), "a b", "{tag}");
    }
    for tag in ["3", "@2", "@", "@-1", "@x"] {
        let message = sandbox.refused(&["pack", &format!("docker-archive:docker.tar:{tag}"), "x.sqfs"]);
        assert!(message.contains(&format!("contains no image '{tag}' (expected :TAG")), "{message}");
    }
    save(&config(&[both[1].clone(), both[0].clone()]), &["one.tar", "two.tar"], &[&[]]);
    let message = sandbox.refused(&["pack", "docker-archive:docker.tar", "x.sqfs"]);
    let expected = format!("the tar in it has the digest {} (expected {}, as the config says)", both[0], both[1]);
    assert!(message.contains(&expected), "{message}");
    save(&config(&both), &["one.tar", "none.tar"], &[&[]]);
    let message = sandbox.refused(&["pack", "docker-archive:docker.tar", "x.sqfs"]);
    assert!(message.ends_with("its content is missing (expected none.tar)"), "{message}");
}

/// The names that crane, ko, kaniko and apko (`sha256:HEX`) and Jib (`config.json`) give to the config.
#[test]
fn the_config_of_an_archive_may_have_any_name() {
    let sandbox = sandbox();
    sandbox.write("one.tar", tar(&[("a", "1")]));
    shell(&sandbox, "gzip -n < one.tar > layer.tar.gz");
    let diff_id = format!("sha256:{}", sha256(&sandbox, "one.tar"));
    let config = json!({"os": "linux", "architecture": "amd64", "rootfs": {"type": "layers", "diff_ids": [diff_id]}});
    sandbox.write("config", config.to_string());
    let digest = sha256(&sandbox, "config");
    let wrong = "0".repeat(64);
    for (name, layer, is_right) in [
        (format!("sha256:{digest}"), "layer.tar.gz", true),
        ("config.json".to_string(), "one.tar", true),
        (format!("blobs/sha256/{digest}"), "one.tar", true),
        (format!("sha256:{wrong}"), "layer.tar.gz", false),
        (format!("{wrong}.json"), "one.tar", false),
    ] {
        shell(&sandbox, &format!("mkdir -p blobs/sha256 && cp config {name}"));
        sandbox.write("manifest.json", json!([{"Config": name, "RepoTags": ["box:1"], "Layers": [layer]}]).to_string());
        shell(&sandbox, &format!("tar -cf docker.tar manifest.json {layer} {name}"));
        if is_right {
            assert_eq!(names(&sandbox, "docker-archive:docker.tar", &[]), "a", "{name}");
        } else {
            let message = sandbox.refused(&["pack", "docker-archive:docker.tar", "x.sqfs"]);
            assert!(
                message.contains(&format!("has the digest sha256:{digest} (expected sha256:{wrong})")),
                "{message}"
            );
        }
    }
    let message = "packline: docker.tar: config.json is missing (expected all documents of the image)";
    sandbox.write("manifest.json", json!([{"Config": "config.json", "Layers": ["one.tar"]}]).to_string());
    shell(&sandbox, "tar -cf docker.tar one.tar manifest.json");
    assert_eq!(sandbox.refused(&["pack", "docker-archive:docker.tar", "x.sqfs"]), message);
}

#[test]
fn layers_of_no_bytes_and_no_layers_change_nothing() {
    let sandbox = sandbox();
    let layout = Layout::new(&sandbox, "oci");
    let empty = (Vec::new(), "");
    let compressed = (Vec::new(), "+gzip");
    let full = (tar(&[("a", "1")]), "");
    let null = |manifest: &Value, is_config: bool| {
        let old = layout.read(manifest)["config"].clone();
        let new = layout.changed(&old, &|config| {
            if is_config {
                config["rootfs"]["diff_ids"] = Value::Null;
            }
        });
        layout.changed(manifest, &|manifest| {
            manifest["config"] = new.clone();
            manifest["layers"] = Value::Null;
        })
    };
    let none = layout.manifest(&[], "linux", "amd64");
    for (manifest, expected) in [
        (layout.manifest(&[empty.clone(), full.clone(), empty.clone(), compressed], "linux", "amd64"), "a"),
        (layout.manifest(std::slice::from_ref(&empty), "linux", "amd64"), ""),
        (none.clone(), ""),
        (null(&none, false), ""),
        (null(&none, true), ""),
    ] {
        layout.index(&[manifest]);
        for workers in ["0", "2"] {
            assert_eq!(names(&sandbox, "oci:oci", &["-j", workers]), expected);
        }
    }
    sandbox.write("config.json", json!({"rootfs": {"type": "layers", "diff_ids": null}}).to_string());
    sandbox.write("manifest.json", json!([{"Config": "config.json", "RepoTags": null, "Layers": null}]).to_string());
    shell(&sandbox, "tar -cf docker.tar manifest.json config.json");
    assert_eq!(names(&sandbox, "docker-archive:docker.tar", &[]), "");
}

#[test]
fn the_platform_chooses_among_manifests_of_the_index() {
    let sandbox = sandbox();
    let layout = Layout::new(&sandbox, "oci");
    let image = |name: &str, architecture: &str| layout.manifest(&[(tar(&[(name, "")]), "")], "linux", architecture);
    let amd = image("amd", "amd64");
    let arm = image("arm", "arm64");
    let attestation = |mut descriptor: Value| {
        descriptor["annotations"] = json!({"vnd.docker.reference.type": "attestation-manifest"});
        descriptor
    };
    let other = image("other", "amd64");
    let without = |mut descriptor: Value| {
        descriptor["platform"] = json!({});
        descriptor
    };
    let named = |descriptor: &Value, architecture| of_platform(descriptor.clone(), "linux", architecture, None);
    for index in [
        vec![named(&amd, "amd64"), named(&arm, "arm64")],
        vec![amd.clone(), arm.clone()],
        vec![without(amd.clone()), without(arm.clone())],
        vec![tagged(amd.clone(), "x"), tagged(arm.clone(), "x")],
        vec![tagged(amd.clone(), "x"), tagged(arm.clone(), "y")],
        vec![amd.clone(), attestation(other.clone()), arm.clone()],
    ] {
        layout.index(&index);
        for (platform, expected) in [("linux/amd64", "amd"), ("linux/arm64", "arm")] {
            assert_eq!(names(&sandbox, "oci:oci", &["--platform", platform]), expected, "{index:?}");
        }
        let message = sandbox.refused(&["pack", "oci:oci", "x.sqfs", "--platform", "linux/mips"]);
        let known = "contains no image for the platform linux/mips (expected linux/amd64, linux/arm64)";
        assert!(message.contains(known) || message.contains("contains 2 images (expected :TAG"), "{message}");
    }
    let unknown = of_platform(other.clone(), "unknown", "unknown", None);
    for index in [vec![arm.clone(), attestation(other.clone())], vec![unknown, without(arm.clone())]] {
        layout.index(&index);
        assert_eq!(names(&sandbox, "oci:oci", &[]), "arm");
        assert_eq!(names(&sandbox, "oci:oci:@0", &["--platform", "linux/arm64"]), "arm");
    }
    // Two of one platform cannot be distinguished by it.
    for index in [vec![amd.clone(), other.clone()], vec![tagged(amd.clone(), "x"), tagged(other.clone(), "x")]] {
        layout.index(&index);
        let message = sandbox.refused(&["pack", "oci:oci", "x.sqfs", "--platform", "linux/amd64"]);
        assert!(message.contains("contains 2 images (expected :TAG with one of sha256:"), "{message}");
        assert_eq!(names(&sandbox, "oci:oci:@1", &[]), "other");
        assert_eq!(names(&sandbox, &format!("oci:oci:{}", amd["digest"].as_str().unwrap()), &[]), "amd");
    }
}

#[test]
fn an_example_of_the_library_merges_layers() {
    let sandbox = sandbox();
    let layout = Layout::new(&sandbox, "app");
    let layers = [(tar(&[("a", "1"), ("b", "2")]), ""), (tar(&[("b", "3"), (".wh.a", "")]), "+gzip")];
    layout.index(&[layout.manifest(&layers, "linux", "amd64")]);
    let place = OsString::from(format!("oci:{}", sandbox.arg("app")));
    oci_to_image::convert(&place, &sandbox.at("example.sqfs")).unwrap();
    sandbox.good(&["pack", "-q", "oci:app", "command.sqfs"]);
    assert!(sandbox.read("example.sqfs") == sandbox.read("command.sqfs"));
    assert_eq!(sandbox.good(&["cat", "example.sqfs", "b"]).text(), "3");
}
