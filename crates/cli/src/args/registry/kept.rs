//! Contents of registries that are kept between runs.
//!
//! A content is kept in parts. The parts are used only if an earlier run has compared the digest of the complete content: otherwise a registry that
//! once sent other bytes would spoil later runs.

use std::io::{self, Read};
use std::sync::Arc;

use packline_cache::Parts;
use packline_http::Registry;

/// Bytes of a part.
const PART: u64 = 256 << 10;

/// Memory in bytes of a content that is read.
pub const MEMORY: u64 = 2 * PART;

/// A content, from its start to its end.
pub struct KeptContent {
    registry: Arc<Registry>,
    parts: Arc<Parts>,
    digest: String,
    size: u64,
    /// Whether the parts were compared.
    is_right: bool,
    /// The offset of the next part.
    at: u64,
    part: io::Cursor<Vec<u8>>,
    /// Reads from the registry, from the next part on.
    rest: Option<Box<dyn Read + Send>>,
}

/// The name of what shows that the digest of a content was compared.
fn right(digest: &str) -> Vec<u8> {
    format!("content\n{digest}").into_bytes()
}

/// Notes whether a content that was read has its digest.
pub fn judge(parts: &Parts, digest: &str, is_right: bool) {
    let name = right(digest);
    match (is_right, parts.get(&name)) {
        (true, None) => parts.put(&name, b""),
        (false, Some(_)) => parts.remove(&name),
        _ => {}
    }
}

impl KeptContent {
    pub fn new(registry: Arc<Registry>, parts: Arc<Parts>, digest: &str, size: u64) -> KeptContent {
        let is_right = parts.get(&right(digest)).is_some();
        let digest = digest.to_string();
        KeptContent { registry, parts, digest, size, is_right, at: 0, part: io::Cursor::default(), rest: None }
    }

    /// Returns the next part; an empty one at the end.
    fn next(&mut self) -> io::Result<Vec<u8>> {
        let length = (self.size - self.at).min(PART);
        let name = format!("content\n{}\n{}", self.digest, self.at / PART).into_bytes();
        let kept = if self.is_right && length > 0 { self.parts.get(&name) } else { None };
        if let Some(part) = kept.filter(|part| part.len() as u64 == length) {
            self.rest = None;
            self.at += length;
            return Ok(part);
        }
        let open = || Box::new(self.registry.blob(&self.digest, self.size, self.at)) as Box<dyn Read + Send>;
        let mut part = Vec::new();
        self.rest.get_or_insert_with(open).take(length).read_to_end(&mut part)?;
        self.at += part.len() as u64;
        if length > 0 && part.len() as u64 == length {
            self.parts.put(&name, &part);
        }
        Ok(part)
    }
}

impl Read for KeptContent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.part.position() == self.part.get_ref().len() as u64 {
            self.part = io::Cursor::new(self.next()?);
        }
        self.part.read(buffer)
    }
}
