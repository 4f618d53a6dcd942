//! The documents of an image, as JSON, and the platforms in them: `OS/ARCHITECTURE[/VARIANT]`, in Go's terms.

use super::wrong;
use packline_tree::Error;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Maximum length of a document in bytes, as in registries.
pub(super) const DOCUMENT_MOST: u64 = 4 << 20;

/// The types of indexes and of manifests.
pub(super) const INDEXES: [&str; 2] =
    ["application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"];
pub(super) const MANIFESTS: [&str; 2] =
    ["application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json"];

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
    /// Of any form, because only people read them.
    pub created: Option<Value>,
    pub config: Option<Value>,
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
    pub fn new(media_type: String, digest: String, size: u64) -> Descriptor {
        Descriptor { media_type, digest, size, annotations: None, platform: None }
    }

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform {
    os: String,
    architecture: String,
    variant: Option<String>,
}

impl Platform {
    /// Parses a platform. Linux's names of architectures are accepted too.
    pub fn parse(text: &str) -> Option<Platform> {
        let mut parts = text.split('/');
        let os = parts.next()?;
        let architecture = parts.next()?;
        let variant = parts.next();
        let empty = os.is_empty() || architecture.is_empty() || variant == Some("");
        if empty || parts.next().is_some() {
            return None;
        }
        Some(Platform::new(os, architecture, variant))
    }

    pub(super) fn new(os: &str, architecture: &str, variant: Option<&str>) -> Platform {
        let architecture = go_name(architecture);
        // The default variant.
        let variant = variant.filter(|variant| !variant.is_empty() && (architecture, *variant) != ("arm64", "v8"));
        Platform { os: os.to_string(), architecture: architecture.to_string(), variant: variant.map(str::to_string) }
    }

    /// Linux on the machine that this program was compiled for.
    pub fn this_machine() -> Platform {
        Platform::new("linux", std::env::consts::ARCH, None)
    }

    /// Whether an image for `other` is accepted. Without a variant, any variant is.
    pub(super) fn takes(&self, other: &Platform) -> bool {
        let variant = self.variant.is_none() || self.variant == other.variant;
        (&self.os, &self.architecture) == (&other.os, &other.architecture) && variant
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        self.variant.iter().try_for_each(|variant| write!(f, "/{variant}"))
    }
}

fn go_name(architecture: &str) -> &str {
    match architecture {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" | "i386" | "i686" => "386",
        "powerpc64le" => "ppc64le",
        "loongarch64" => "loong64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_and_variants() {
        let parse = |text| Platform::parse(text).unwrap();
        assert_eq!(parse("linux/x86_64"), parse("linux/amd64"));
        assert_eq!(parse("linux/arm64/v8").to_string(), "linux/arm64");
        assert!(parse("linux/arm").takes(&parse("linux/arm/v6")));
        assert!(!parse("linux/arm/v7").takes(&parse("linux/arm/v6")));
        assert!(!parse("linux/arm/v7").takes(&parse("linux/arm")));
        assert!(!parse("linux/amd64").takes(&parse("windows/amd64")));
        for text in ["", "linux", "linux/", "/amd64", "linux/arm/", "linux/arm/v7/x"] {
            assert_eq!(Platform::parse(text), None, "{text}");
        }
    }
}
