//! An image in a registry, by the OCI Distribution Specification 1.1 and version 2 of Docker's HTTP API.
//!
//! ```text
//! GET /v2/NAME/manifests/TAG         401: WWW-Authenticate: Bearer realm="https://SERVER/token",service="...",scope="..."
//! GET https://SERVER/token?...       {"token": "..."}
//! GET /v2/NAME/manifests/DIGEST      an index or a manifest
//! GET /v2/NAME/blobs/DIGEST          the content, often after a redirect to another server
//! ```
//!
//! Digests are checked by the caller. A token or a password is sent only to the registry, and a password to the server of tokens that the registry
//! names. A server to which one of them redirects gets neither.

mod blob;
mod challenge;
mod client;
mod credentials;
mod reference;

use std::fmt;
use std::io::Read;
use std::sync::Arc;

use crate::{Address, CONNECTION, Fault, HttpOptions};
use blob::BlobReader;
use client::Client;

pub use credentials::Credentials;
pub use reference::Reference;

/// Largest document in bytes: registries accept no larger ones.
const DOCUMENT_MOST: u64 = 4 << 20;

/// Returns the credentials for a registry; an error says why they cannot be read.
pub type FindCredentials = dyn Fn() -> Result<Option<Credentials>, String> + Send + Sync;

/// How a registry is read.
pub struct RegistryOptions {
    /// Whether the registry is reached by `http`, and not by `https`.
    pub insecure: bool,
    /// Tries, pauses, time limits, connections and proxies. Its memory and its `.netrc` are not used.
    pub http: HttpOptions,
    /// Called when the registry asks for credentials.
    pub credentials: Box<FindCredentials>,
}

/// A document of a registry.
#[derive(Debug, Clone)]
pub struct Document {
    /// The media type, without parameters; empty if the registry names none.
    pub media_type: String,
    pub bytes: Vec<u8>,
}

/// An image in a registry.
pub struct Registry {
    client: Arc<Client>,
    root: Document,
}

impl Registry {
    /// Bytes of the connections of an image.
    pub const MEMORY: usize = 8 * CONNECTION;

    /// Reads the document to which a tag or a digest leads: an index or a manifest.
    ///
    /// # Errors
    /// [`Fault`] if the registry cannot be reached, does not accept the credentials, or has no such image.
    pub fn open(reference: Reference, options: RegistryOptions) -> Result<Registry, Fault> {
        let client = Client::new(reference, options)?;
        let wanted = client.reference().wanted().to_string();
        let root = client.document(&format!("manifests/{wanted}")).map_err(|fault| client.explained(fault))?;
        Ok(Registry { client: Arc::new(client), root })
    }

    pub fn reference(&self) -> &Reference {
        self.client.reference()
    }

    /// The document of the tag or the digest, whose digest was not checked.
    pub fn root(&self) -> &Document {
        &self.root
    }

    /// Reads an index or a manifest. Its digest is not checked.
    ///
    /// # Errors
    /// As for [`Registry::open`].
    pub fn manifest(&self, digest: &str) -> Result<Vec<u8>, Fault> {
        self.client.document(&format!("manifests/{digest}")).map(|document| document.bytes)
    }

    /// Returns a reader of a content of `size` bytes, from the byte `from` on. Nothing is requested before the first read. After a cut the rest is requested. The digest is
    /// not checked. Errors of the reader contain a [`Fault`].
    pub fn blob(&self, digest: &str, size: u64, from: u64) -> impl Read + Send + use<> {
        BlobReader::new(Arc::clone(&self.client), digest, size, from.min(size))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("reference", self.reference()).finish_non_exhaustive()
    }
}

/// The address of a path of a registry.
fn address_of(reference: &Reference, insecure: bool, path: &str) -> Result<Address, Fault> {
    let scheme = if insecure { "http" } else { "https" };
    Ok(Address::parse(&format!("{scheme}://{}/v2/{}/{path}", reference.server(), reference.repository()))?)
}
