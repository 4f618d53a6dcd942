//! Reads any bytes as the documents of a container image: no panic, no hang, and an image or an error of one line.
//!
//! The input is index.json or manifest.json, a manifest, a config and a layer, one after the other with 0xff between them. `@1`, `@2` and
//! `@3` in a document stand for the digests of the documents after it, and `#1` to `#3` for their sizes.

use std::io::Cursor;
use std::sync::LazyLock;

use packline_archives::decompress::Limits;
use packline_archives::oci::{OciImage, OciOptions, OciPlace};
use packline_testkit::model::Node;
use packline_testkit::tar::to_bytes;
use sha2::{Digest, Sha256};

static SCRATCH: LazyLock<std::path::PathBuf> = LazyLock::new(std::env::temp_dir);

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the parts, each with the digests and sizes of the parts after it.
fn parts(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut known: Vec<(usize, String, Vec<u8>)> = Vec::new();
    let parts: Vec<&[u8]> = bytes.split(|byte| *byte == 0xff).take(4).collect();
    for (number, part) in parts.iter().enumerate().rev() {
        let mut text = String::from_utf8_lossy(part).into_owned();
        for (number, digest, content) in &known {
            text = text.replace(&format!("@{number}"), digest);
            text = text.replace(&format!("#{number}"), &content.len().to_string());
        }
        // The layer is bytes.
        let content = if number == 3 { part.to_vec() } else { text.into_bytes() };
        known.push((number, hex(&content), content));
    }
    known.into_iter().rev().map(|(_, digest, content)| (digest, content)).collect()
}

pub fn oci(bytes: &[u8]) {
    let parts = parts(&bytes[..bytes.len().min(4 << 10)]);
    let mut nodes = vec![Node::file("oci-layout", &br#"{"imageLayoutVersion":"1.0.0"}"#[..])];
    for (number, (digest, content)) in parts.iter().enumerate() {
        match number {
            0 => nodes.extend(["index.json", "manifest.json"].map(|name| Node::file(name, content.as_slice()))),
            _ => nodes.extend(["blobs/sha256/", ""].map(|at| Node::file(format!("{at}{digest}"), content.as_slice()))),
        }
    }
    let archive = to_bytes(&nodes);
    for form in ["oci-archive:-", "docker-archive:-", "oci-archive:-:t"] {
        let place = OciPlace::parse(form.as_ref()).expect("a place");
        let mut options = OciOptions::new();
        options.scratch = Some(SCRATCH.clone());
        match OciImage::open_stream(&place, "fuzz", Cursor::new(archive.clone()), &options) {
            Ok(image) => image.layers.iter().for_each(|layer| {
                if let Err(error) = layer.checked(&Limits::default(), options.scratch.as_deref(), &|| false) {
                    assert!(!error.to_string().contains('\n'), "{error}");
                }
            }),
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        }
    }
}
