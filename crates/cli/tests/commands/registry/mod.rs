//! Container images in registries: a registry of the tests that misbehaves, and Debian's.

mod cached;
mod faults;
mod logins;
mod real;

use std::process::Command;

use packline_testkit::registry::{Asked, Registry};
use packline_testkit::{Ran, Random, Sandbox, tools};
use serde_json::{Value, json};

use crate::sandbox;
use crate::stack::support::{INDEX, Layout, of_platform, tagged, tar};

/// A layout, `oci`, and a registry with the same image, `team/app:1`.
struct Published {
    sandbox: Sandbox,
    registry: Registry,
    /// The digest of the manifest, and those of the layers.
    digest: String,
    layers: Vec<String>,
}

impl Published {
    /// An image with these layers, each a tar and the suffix of its compression.
    fn new(layers: &[(Vec<u8>, &str)]) -> Published {
        let sandbox = sandbox();
        let layout = Layout::new(&sandbox, "oci");
        let manifest = layout.manifest(layers, "linux", "amd64");
        layout.index(std::slice::from_ref(&manifest));
        let registry = Registry::start(&sandbox.at("oci")).unwrap();
        let digest = digest_of(&manifest);
        registry.tag("team/app", "1", &digest);
        sandbox.write("docker/config.json", "{}");
        let layers = layout.read(&manifest)["layers"].as_array().unwrap().iter().map(digest_of).collect();
        Published { sandbox, registry, digest, layers }
    }

    /// The name of the image with a tag or a digest, and the sign before it.
    fn image(&self, tag: &str) -> String {
        format!("docker://{}/team/app{tag}", self.registry.address())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        command(&self.sandbox, arguments)
    }

    /// Runs a command on the image, which must succeed.
    #[track_caller]
    fn good(&self, arguments: &[&str]) -> Ran {
        let image = self.image(":1");
        let words: Vec<&str> = arguments.iter().map(|word| if *word == "@" { &*image } else { *word }).collect();
        Ran::good(&mut self.command(&words))
    }

    /// Lists the image, which must fail with one line. Returns the line without the name of the image.
    #[track_caller]
    fn refused(&self) -> String {
        let line = self.sandbox.refusal(&mut self.command(&["list", &self.image(":1")]));
        line.replace(&self.image(":1"), "IMAGE").replacen("packline: ", "", 1)
    }

    fn blobs_asked(&self) -> Vec<Asked> {
        self.registry.take_asked().into_iter().filter(|asked| asked.path.contains("/blobs/")).collect()
    }
}

/// A command that reads no file of this user, and reaches registries without encryption.
fn command(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    let mut command = sandbox.command(&[arguments, &["--registry-insecure"]].concat());
    isolated(sandbox, &mut command);
    command
}

/// Removes the variables and the settings of this user.
fn isolated<'c>(sandbox: &Sandbox, command: &'c mut Command) -> &'c mut Command {
    let variables =
        ["REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "http_proxy", "all_proxy", "ALL_PROXY"];
    for name in variables {
        command.env_remove(name);
    }
    command.env("HOME", sandbox.path()).env("DOCKER_CONFIG", sandbox.at("docker"))
}

fn digest_of(descriptor: &Value) -> String {
    descriptor["digest"].as_str().unwrap().to_string()
}

/// Layers that hide and replace, one of them with some noise.
fn layers() -> Vec<(Vec<u8>, &'static str)> {
    let noise: String = Random::new(7).noise(300_000).iter().map(|byte| char::from(b'a' + byte % 16)).collect();
    vec![
        (tar(&[("a", "1"), ("d/x", "2"), ("d/y", noise.as_str())]), "+gzip"),
        (tar(&[(".wh.a", ""), ("d/z", "4")]), ""),
        (tar(&[("b", "5"), ("d/x", "6")]), "+zstd"),
    ]
}

#[test]
fn an_image_in_a_registry_is_read_like_a_layout() {
    if !tools::need(&["zstd", "gzip"]) {
        return;
    }
    let published = Published::new(&layers());
    let sandbox = &published.sandbox;
    sandbox.good(&["pack", "-q", "oci:oci", "layout.sqfs"]);
    for workers in ["0", "1", "2", "4"] {
        published.good(&["pack", "-q", "-f", "-j", workers, "@", "registry.sqfs"]);
        assert!(sandbox.read("registry.sqfs") == sandbox.read("layout.sqfs"), "{workers} workers");
    }
    published.registry.take_asked();
    assert_eq!(published.good(&["list", "@"]).text(), ".\nb\nd\nd/x\nd/y\nd/z\n");
    let asked = published.registry.take_asked();
    assert!(asked.iter().all(|asked| asked.authorization.is_none() && asked.range.is_none()), "{asked:?}");
    // The manifest, the config and three layers.
    assert_eq!(asked.len(), 5, "{asked:?}");
    // The contents come in another order than the paths, so that the image is read several times, but it is fetched once.
    assert_eq!(published.good(&["cat", "@", "d/z", "b", "d/x"]).text(), "456");
    let asked = published.blobs_asked();
    for layer in &published.layers {
        assert_eq!(asked.iter().filter(|asked| asked.path.ends_with(layer)).count(), 1, "{asked:?}");
    }
    assert!(published.good(&["du", "--json", "@"]).text().contains("\"oci\""));
    published.good(&["diff", "@", "layout.sqfs"]);
    published.good(&["diff", "oci:oci", "@"]);
    let digest = published.image(&format!("@{}", published.digest));
    assert_eq!(Ran::good(&mut published.command(&["list", &digest, "b"])).text(), "b\n");
    sandbox.write("over/d/x", "7");
    published.good(&["pack", "-q", "@", "over", "both.sqfs"]);
    assert_eq!(sandbox.good(&["cat", "both.sqfs", "d/x", "b"]).text(), "75");
    // The documents may have the type of any JSON.
    published.registry.set_media_type("application/json");
    assert_eq!(published.good(&["list", "@", "b"]).text(), "b\n");
    published.registry.set_media_type("application/vnd.docker.distribution.manifest.v1+prettyjws");
    assert!(published.refused().contains("(expected an index or a manifest of an image)"));
}

#[test]
fn the_platform_chooses_an_image_of_an_index() {
    let sandbox = sandbox();
    let layout = Layout::new(&sandbox, "oci");
    let image = |name: &str, architecture: &str| {
        let manifest = layout.manifest(&[(tar(&[(name, "")]), "")], "linux", architecture);
        of_platform(manifest, "linux", architecture, None)
    };
    let both = [image("amd", "amd64"), image("arm", "arm64")];
    let index = layout.document(INDEX, &json!({"schemaVersion": 2, "manifests": both}));
    layout.index(&[tagged(index.clone(), "1")]);
    let registry = Registry::start(&sandbox.at("oci")).unwrap();
    registry.tag("app", "latest", &digest_of(&index));
    let name = format!("docker://{}/app", registry.address());
    for (platform, expected) in [("linux/amd64", ".\namd\n"), ("linux/arm64", ".\narm\n")] {
        registry.take_asked();
        Ran::good(&mut command(&sandbox, &["pack", "-q", "-f", &name, "x.sqfs", "--platform", platform]));
        assert_eq!(sandbox.good(&["list", "x.sqfs"]).text(), expected);
        // The index, the manifest, the config and the layer: nothing of the other platform.
        assert_eq!(registry.take_asked().len(), 4);
        let good =
            |words: &[&str]| Ran::good(&mut command(&sandbox, &[words, &["--platform", platform]].concat())).text();
        assert_eq!(good(&["list", &name]), expected);
        assert_eq!(good(&["diff", &name, "x.sqfs"]), "");
        assert!(good(&["info", &name]).contains(&format!("Platform:    {platform}\n")));
    }
    let mut other = command(&sandbox, &["pack", "-q", &name, "y.sqfs", "--platform", "linux/mips"]);
    let line = sandbox.refusal(&mut other);
    assert!(
        line.contains("contains no image for the platform linux/mips (expected linux/amd64, linux/arm64)"),
        "{line}"
    );
}

#[test]
fn a_bar_shows_what_is_fetched_on_a_terminal_only() {
    if !tools::need(&["zstd", "gzip"]) || !tools::terminal() {
        return;
    }
    let published = Published::new(&layers());
    let shown = |words: &str| {
        let line = format!("{} {words}", env!("CARGO_BIN_EXE_packline")).replace('@', &published.image(":1"));
        let words = ["-qec", &*format!("{line} --registry-insecure"), "/dev/null"];
        Ran::good(isolated(&published.sandbox, &mut published.sandbox.program("script", &words)).env("TERM", "xterm"))
            .text()
    };
    for words in ["list @", "pack @ a.sqfs", "diff @ oci:oci"] {
        let text = shown(words);
        assert!(text.contains("fetching "), "{words}: {text:?}");
    }
    for words in ["pack -q @ b.sqfs", "pack --no-progress @ c.sqfs", "diff -q @ oci:oci", "info @"] {
        let text = shown(words);
        assert!(!text.contains("fetching "), "{words}: {text:?}");
    }
    let ran = published.good(&["list", "@"]);
    assert!(ran.stderr.is_empty(), "{ran:?}");
}

#[test]
fn invalid_names_and_options_are_refused() {
    let sandbox = sandbox();
    sandbox.write("f", "x");
    for (name, expected) in [
        ("docker://", "is not the name of an image (expected [HOST[:PORT]/]NAME in lower case)"),
        ("docker://Debian", "'Debian' is not the name of an image"),
        ("docker://debian:a b", "'a b' is not a tag (expected up to 128 letters"),
        ("docker://me:secret@quay.io/x", "is not a digest (expected sha256:HEX"),
    ] {
        let line = sandbox.bad(2, &["list", name]);
        assert!(line.contains(expected) && !line.contains("secret"), "{name}: {line}");
    }
    assert!(sandbox.refused(&["list", "docker://localhost:99999/x"]).contains("is not a valid address"));
    let line = sandbox.bad(2, &["pack", "--registry-insecure", "f", "f.sqfs"]);
    assert!(line.contains("--registry-insecure: works only with an image in a registry (docker://IMAGE)"), "{line}");
    let line = sandbox.bad(2, &["list", "--registry-insecure", "f"]);
    assert!(line.contains("works only with an image in a registry"), "{line}");
    for command in ["verify", "unpack"] {
        let line = sandbox.bad(2, &[command, "docker://debian"]);
        assert!(
            line.contains("only packline pack, list, cat, info, du and diff read container images"),
            "{command}: {line}"
        );
    }
    let line = sandbox.bad(2, &["list", "--offset", "1", "docker://debian"]);
    assert!(line.contains("--offset: has no effect on a container image"), "{line}");
}
