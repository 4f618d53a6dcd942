//! The documents of an image, as JSON.

use std::collections::BTreeMap;

use packline_tree::Error;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::platform::Platform;
use super::wrong;

/// Maximum length of a document in bytes, as in registries.
pub(super) const DOCUMENT_MOST: u64 = 4 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LayoutVersion {
    pub image_layout_version: String,
}

/// An index, also index.json.
#[derive(Deserialize)]
pub(super) struct Index {
    pub manifests: Vec<Descriptor>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    pub media_type: String,
    pub digest: String,
    pub size: u64,
    #[serde(default)]
    pub annotations: Option<BTreeMap<String, String>>,
    #[serde(default)]
    platform: Option<PlatformOf>,
}

#[derive(Clone, Deserialize)]
pub(super) struct PlatformOf {
    #[serde(default)]
    os: Option<String>,
    #[serde(default)]
    architecture: Option<String>,
    #[serde(default)]
    variant: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Manifest {
    pub config: Descriptor,
    /// Go writes `null` for an empty list.
    pub layers: Option<Vec<Descriptor>>,
}

#[derive(Deserialize)]
pub(super) struct Config {
    #[serde(flatten)]
    platform: Option<PlatformOf>,
    pub rootfs: Rootfs,
}

#[derive(Deserialize)]
pub(super) struct Rootfs {
    #[serde(rename = "type")]
    pub kind: String,
    pub diff_ids: Option<Vec<String>>,
}

/// An element of the manifest.json of a Docker archive.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct DockerImage {
    pub config: String,
    pub repo_tags: Option<Vec<String>>,
    pub layers: Option<Vec<String>>,
}

impl Descriptor {
    /// The tag, in index.json.
    pub fn tag(&self) -> Option<&str> {
        self.annotations.as_ref()?.get("org.opencontainers.image.ref.name").map(String::as_str)
    }

    pub fn platform(&self) -> Option<Platform> {
        self.platform.as_ref().and_then(PlatformOf::platform)
    }

    /// Whether it describes an image. buildkit adds an attestation next to each image.
    pub fn is_attestation(&self) -> bool {
        let kind = self.annotations.as_ref().and_then(|found| found.get("vnd.docker.reference.type"));
        let unknown = Platform::new("unknown", "unknown", None);
        kind.is_some_and(|kind| kind == "attestation-manifest") || self.platform() == Some(unknown)
    }
}

impl Config {
    pub fn platform(&self) -> Option<Platform> {
        self.platform.as_ref().and_then(PlatformOf::platform)
    }
}

impl PlatformOf {
    /// `None` unless both are named.
    fn platform(&self) -> Option<Platform> {
        let named = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
        let os = named(&self.os)?;
        let architecture = named(&self.architecture)?;
        Some(Platform::new(&os, &architecture, self.variant.as_deref()))
    }
}

/// Parses a document called `path` of the image `name`.
pub(super) fn parse<T: DeserializeOwned>(name: &str, path: &str, bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes)
        .map_err(|error| wrong(name, format!("{path}: {error}"), "a document of an image in JSON"))
}
