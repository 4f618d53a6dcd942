//! Images in registries. The client of a registry is the caller's: this crate reads no network.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};

use packline_runtime::memory::{size_at_least, size_at_most};
use packline_tree::Error;
use serde::Deserialize;

use super::digest::Digest;
use super::documents::{DOCUMENT_MOST, Descriptor, INDEXES, MANIFESTS};
use super::{unreadable, wrong};
use crate::Part;

/// Reads documents and contents of one image. Neither their digests nor their sizes are checked by it.
pub trait RegistryClient: Send + Sync {
    /// Reads an index or a manifest by its digest.
    ///
    /// # Errors
    /// It cannot be read, or is too large.
    fn manifest(&self, digest: &str) -> io::Result<Vec<u8>>;

    /// Returns a reader of a content by its digest. It reads at most `size` bytes.
    fn content(&self, digest: &str, size: u64) -> Box<dyn Read + Send>;

    /// Tells whether a content that was read has its digest.
    fn judge(&self, _digest: &str, _is_right: bool) {}

    /// Announces the bytes of layers that are read next, for a display.
    fn expect(&self, _bytes: u64) {}
}

/// The document to which a tag or a digest of a registry leads.
#[derive(Debug, Clone)]
pub struct RegistryRoot {
    /// The name of the image in messages.
    pub name: String,
    /// The digest that was requested, if it was one.
    pub digest: Option<String>,
    /// The media type as the registry names it; it may be empty.
    pub media_type: String,
    pub bytes: Vec<u8>,
}

/// An image in a registry, and what was read of it.
pub(super) struct RegistryImage {
    pub root: RegistryRoot,
    /// The descriptor of the root.
    pub descriptor: Descriptor,
    client: Box<dyn RegistryClient>,
    /// The tars of layers that were read and checked, by both digests, so that an image that is read twice is fetched once.
    stored: Mutex<BTreeMap<String, Part>>,
}

/// Only the type of a document.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Typed {
    media_type: Option<String>,
    manifests: Option<serde::de::IgnoredAny>,
}

impl RegistryRoot {
    /// Its descriptor. Registries may call each document JSON, and then the document tells its type.
    fn descriptor(&self) -> Descriptor {
        let RegistryRoot { digest, media_type, bytes, .. } = self;
        let known = |found: &&str| INDEXES.contains(found) || MANIFESTS.contains(found);
        let typed: Option<Typed> = serde_json::from_slice(bytes).ok();
        let by_members = |typed: &Typed| if typed.manifests.is_some() { INDEXES[0] } else { MANIFESTS[0] }.to_string();
        let media_type = match typed {
            Some(typed) if !known(&media_type.as_str()) && !media_type.starts_with("application/vnd.") => {
                typed.media_type.clone().unwrap_or_else(|| by_members(&typed))
            }
            _ => media_type.clone(),
        };
        let digest = digest.clone().unwrap_or_else(|| Digest::of(bytes).to_string());
        Descriptor::new(media_type, digest, bytes.len() as u64)
    }
}

/// Whether a document is an index or a manifest. Other documents are contents.
pub(super) fn is_manifest(descriptor: &Descriptor) -> bool {
    [INDEXES, MANIFESTS].concat().contains(&descriptor.media_type.as_str())
}

impl RegistryImage {
    pub fn new(root: RegistryRoot, client: Box<dyn RegistryClient>) -> RegistryImage {
        RegistryImage { descriptor: root.descriptor(), root, client, stored: Mutex::default() }
    }

    /// Reads a document that a descriptor describes.
    pub fn document(&self, descriptor: &Descriptor) -> Result<Vec<u8>, Error> {
        let name = &self.root.name;
        let failed = |cause| unreadable(format!("{name}: {}", descriptor.digest).as_ref(), cause);
        if descriptor.size > DOCUMENT_MOST {
            let what = format!("{} has a size of {}", descriptor.digest, size_at_least(descriptor.size));
            return Err(wrong(name, what, format!("at most {} for a document", size_at_most(DOCUMENT_MOST))));
        }
        let is_manifest = is_manifest(descriptor);
        if is_manifest && descriptor.digest == self.descriptor.digest {
            return Ok(self.root.bytes.clone());
        }
        if is_manifest {
            return self.client.manifest(&descriptor.digest).map_err(failed);
        }
        let mut bytes = Vec::new();
        let mut content = self.content(&descriptor.digest, descriptor.size);
        content.read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    pub fn content(&self, digest: &str, size: u64) -> Box<dyn Read + Send> {
        Box::new(self.client.content(digest, size).take(size))
    }

    /// Tells the client whether a content has its digest.
    pub fn judge(&self, digest: &str, is_right: bool) {
        self.client.judge(digest, is_right);
    }

    /// Announces the layers, given by their keys and sizes, that are not stored yet.
    pub fn announce(&self, layers: impl Iterator<Item = (String, u64)>) {
        let stored = self.stored();
        let unread: BTreeMap<String, u64> = layers.filter(|(key, _)| !stored.contains_key(key)).collect();
        self.client.expect(unread.into_values().fold(0, u64::saturating_add));
    }

    pub fn stored(&self) -> MutexGuard<'_, BTreeMap<String, Part>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RegistryImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryImage").field("name", &self.root.name).finish_non_exhaustive()
    }
}
