//! Builds container images: layouts and archives whose layers are tars.

use std::fs;
use std::path::Path;

use packline_testkit::model::Node;
use packline_testkit::{Ran, Sandbox};
use serde_json::{Value, json};

pub const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// A layout that is being made at a directory of a sandbox.
pub struct Layout<'s> {
    sandbox: &'s Sandbox,
    name: &'static str,
}

impl<'s> Layout<'s> {
    pub fn new(sandbox: &'s Sandbox, name: &'static str) -> Layout<'s> {
        sandbox.create_dir(Path::new(name).join("blobs/sha256"));
        let layout = Layout { sandbox, name };
        layout.write("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#);
        layout
    }

    pub fn write(&self, path: &str, bytes: &[u8]) {
        fs::write(self.sandbox.at(self.name).join(path), bytes).unwrap();
    }

    /// Adds a blob; its descriptor.
    pub fn blob(&self, media_type: &str, bytes: &[u8]) -> Value {
        self.write("blob", bytes);
        let digest = sha256(self.sandbox, &format!("{}/blob", self.name));
        let blob = self.sandbox.at(self.name);
        fs::rename(blob.join("blob"), blob.join(format!("blobs/sha256/{digest}"))).unwrap();
        json!({"mediaType": media_type, "digest": format!("sha256:{digest}"), "size": bytes.len()})
    }

    pub fn document(&self, media_type: &str, document: &Value) -> Value {
        self.blob(media_type, document.to_string().as_bytes())
    }

    /// Adds a manifest of layers, each a tar and the suffix of its compression; its descriptor.
    pub fn manifest(&self, layers: &[(Vec<u8>, &str)], os: &str, architecture: &str) -> Value {
        let diff_ids: Vec<Value> = layers.iter().map(|(tar, _)| self.blob(LAYER, tar)["digest"].clone()).collect();
        let stored = layers.iter().map(|(tar, suffix)| {
            let program = match *suffix {
                "+gzip" => "gzip -n",
                "+zstd" => "zstd -q",
                _ => "cat",
            };
            self.sandbox.write("layer", tar);
            let bytes = shell(self.sandbox, &format!("{program} < layer")).stdout;
            self.blob(&format!("{LAYER}{suffix}"), &bytes)
        });
        let stored: Vec<Value> = stored.collect();
        let config =
            json!({"os": os, "architecture": architecture, "rootfs": {"type": "layers", "diff_ids": diff_ids}});
        let config = self.document("application/vnd.oci.image.config.v1+json", &config);
        self.document(MANIFEST, &json!({"schemaVersion": 2, "config": config, "layers": stored}))
    }

    pub fn index(&self, manifests: &[Value]) {
        self.write("index.json", json!({"schemaVersion": 2, "manifests": manifests}).to_string().as_bytes());
    }

    /// Reads a document by its descriptor.
    pub fn read(&self, descriptor: &Value) -> Value {
        serde_json::from_slice(&fs::read(self.path(descriptor)).unwrap()).unwrap()
    }

    pub fn path(&self, descriptor: &Value) -> std::path::PathBuf {
        let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        self.sandbox.at(self.name).join("blobs/sha256").join(digest)
    }

    /// Replaces a part of a document; the new descriptor.
    pub fn changed(&self, descriptor: &Value, change: &dyn Fn(&mut Value)) -> Value {
        let mut document = self.read(descriptor);
        change(&mut document);
        self.document(descriptor["mediaType"].as_str().unwrap(), &document)
    }
}

/// Gives a descriptor a tag.
pub fn tagged(mut descriptor: Value, tag: &str) -> Value {
    descriptor["annotations"] = json!({"org.opencontainers.image.ref.name": tag});
    descriptor
}

/// Gives a descriptor a platform.
pub fn of_platform(mut descriptor: Value, os: &str, architecture: &str, variant: Option<&str>) -> Value {
    descriptor["platform"] = json!({"os": os, "architecture": architecture, "variant": variant.unwrap_or_default()});
    descriptor
}

/// Runs a shell script, which must succeed.
pub fn shell(sandbox: &Sandbox, script: &str) -> Ran {
    let ran = sandbox.shell(script);
    assert_eq!(ran.status, 0, "{script}: {ran:?}");
    ran
}

pub fn sha256(sandbox: &Sandbox, path: &str) -> String {
    let text = shell(sandbox, &format!("sha256sum '{path}'")).text();
    text.split(' ').next().unwrap().to_string()
}

/// A tar of files, each with its content.
pub fn tar(files: &[(&str, &str)]) -> Vec<u8> {
    let nodes: Vec<Node> = files.iter().map(|(path, content)| Node::file(*path, *content)).collect();
    packline_testkit::tar::to_bytes(&nodes)
}
