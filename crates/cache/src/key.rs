//! Keys of entries.

use packline_codec::Spec;
use packline_runtime::{from_hex, hex};

/// Identifies a block's content by the first 192 bits of its BLAKE3 hash, which is collision resistant. Does not depend on a
/// codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContentDigest([u8; ContentDigest::LENGTH]);

impl ContentDigest {
    /// Length in bytes.
    pub const LENGTH: usize = 24;

    #[must_use]
    pub fn of(content: &[u8]) -> ContentDigest {
        ContentDigest::start_of(blake3::hash(content))
    }

    fn start_of(hash: blake3::Hash) -> ContentDigest {
        let mut first = [0; ContentDigest::LENGTH];
        first.copy_from_slice(&hash.as_bytes()[..ContentDigest::LENGTH]);
        ContentDigest(first)
    }

    /// 64 bits, to use as a hash in tables.
    #[must_use]
    pub fn bits(&self) -> u64 {
        let mut low = [0; 8];
        low.copy_from_slice(&self.0[..8]);
        u64::from_le_bytes(low)
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8; ContentDigest::LENGTH] {
        &self.0
    }
}

impl From<[u8; ContentDigest::LENGTH]> for ContentDigest {
    fn from(first: [u8; ContentDigest::LENGTH]) -> ContentDigest {
        ContentDigest(first)
    }
}

/// Computes the digest of content that comes in parts.
#[derive(Debug, Clone, Default)]
pub struct ContentHasher(blake3::Hasher);

impl ContentHasher {
    /// Adds the next part.
    pub fn update(&mut self, part: &[u8]) {
        self.0.update(part);
    }

    /// Returns the digest of all parts so far.
    #[must_use]
    pub fn digest(&self) -> ContentDigest {
        ContentDigest::start_of(self.0.finalize())
    }
}

/// The key of an entry: a hash of the content's digest and of everything else that determines the compressed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 32]);

/// A hash of everything except the content that determines a block's compressed bytes. `block_size` is included because
/// parameters may be a share of it.
#[must_use]
pub fn encoder_hash(spec: &Spec, block_size: usize) -> [u8; 32] {
    let hasher = blake3::Hasher::new_derive_key("packline encoder v1: revision, block size, libraries, codec");
    finish(hasher, spec, block_size)
}

/// Like [`encoder_hash`], for an encoder whose blocks differ from those of [`Spec::encoder`]. `form` names the difference, and the revision of what
/// makes it.
#[must_use]
pub fn encoder_hash_of_form(spec: &Spec, block_size: usize, form: &str) -> [u8; 32] {
    let context = "packline encoder v1: form, revision, block size, libraries, codec";
    let mut hasher = blake3::Hasher::new_derive_key(context);
    add_text(&mut hasher, form);
    finish(hasher, spec, block_size)
}

fn finish(mut hasher: blake3::Hasher, spec: &Spec, block_size: usize) -> [u8; 32] {
    hasher.update(&spec.encoder_revision().to_le_bytes()).update(&(block_size as u64).to_le_bytes());
    let codec = spec.to_string();
    for text in spec.libraries().flat_map(|(library, version)| [library, version]).chain([&*codec]) {
        add_text(&mut hasher, text);
    }
    *hasher.finalize().as_bytes()
}

fn add_text(hasher: &mut blake3::Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
}

/// Makes the keys for one encoder.
#[derive(Debug, Clone)]
pub struct KeyMaker(blake3::Hasher);

impl KeyMaker {
    /// `encoder`: [`encoder_hash`], or [`encoder_hash_of_form`].
    pub fn for_encoder(encoder: &[u8; 32]) -> KeyMaker {
        let mut hasher = blake3::Hasher::new_derive_key("packline block cache v1: encoder, kind, digest");
        hasher.update(encoder);
        KeyMaker(hasher)
    }

    pub fn key(&self, content: &ContentDigest) -> Key {
        self.of(b"content", content)
    }

    /// The key of a block that was joined from parts. `parts` is a digest of the list of the parts' digests.
    pub fn key_of_parts(&self, parts: &ContentDigest) -> Key {
        self.of(b"parts", parts)
    }

    fn of(&self, kind: &[u8], digest: &ContentDigest) -> Key {
        let mut hasher = self.0.clone();
        Key(*hasher.update(kind).update(digest.bytes()).finalize().as_bytes())
    }
}

impl Key {
    /// The key of a part of a file, by the name of the part.
    pub fn of_part(name: &[u8]) -> Key {
        let mut hasher = blake3::Hasher::new_derive_key("packline part cache v1: name");
        Key(*hasher.update(name).finalize().as_bytes())
    }

    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The directory and the name of the entry's file.
    pub fn names(&self) -> (String, String) {
        let mut directory = hex(&self.0);
        let name = directory.split_off(2);
        (directory, name)
    }

    /// The key of a file, by its directory and name.
    pub fn of_names(directory: &str, name: &str) -> Option<Key> {
        let digits = |text: &str, length| {
            text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        if !digits(directory, 2) || !digits(name, 62) {
            return None;
        }
        from_hex(format!("{directory}{name}").as_bytes())?.try_into().ok().map(Key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(spec: &str, block_size: usize, content: &[u8]) -> Key {
        KeyMaker::for_encoder(&encoder_hash(&Spec::parse(spec).unwrap(), block_size)).key(&ContentDigest::of(content))
    }

    /// Keys of earlier versions stay valid: caches outlive the program.
    #[test]
    fn keys_do_not_change() {
        let spec = Spec::parse("lzo:level=5").unwrap();
        let digest = ContentDigest::of(b"content");
        let of = |encoder| KeyMaker::for_encoder(&encoder).key(&digest).names().1;
        assert_eq!(of(encoder_hash(&spec, 4096)), "15ac45a684142f7a2a2acf73724a4aee886d3a0c8f0c22551a31048948e31d");
        assert_eq!(
            of(encoder_hash_of_form(&spec, 4096, "form")),
            "c783be0c824fffa174c5a7bdbf8f6b0db28bb94e84de934aadc6ddebc74200"
        );
    }

    #[test]
    fn a_key_depends_on_codec_block_size_and_content() {
        let one = key("zstd", 4096, b"content");
        assert_eq!(one, key("zstd", 4096, b"content"));
        for other in
            [key("zstd:level=3", 4096, b"content"), key("zstd", 8192, b"content"), key("zstd", 4096, b"Content")]
        {
            assert_ne!(one, other);
        }
        assert_ne!(key("gzip", 4096, b"content"), one);
        let zstd = Spec::parse("zstd").unwrap();
        let keys = KeyMaker::for_encoder(&encoder_hash(&zstd, 4096));
        for form in ["", "form"] {
            assert_ne!(encoder_hash_of_form(&zstd, 4096, form), encoder_hash(&zstd, 4096));
        }
        assert_ne!(keys.key_of_parts(&ContentDigest::of(b"content")), one);
    }

    #[test]
    fn of_names_inverts_names() {
        let key = key("xz", 4096, b"");
        let (directory, name) = key.names();
        assert_eq!((directory.len(), name.len()), (2, 62));
        assert_eq!(Key::of_names(&directory, &name), Some(key));
        assert_eq!(Key::of_names(&directory, &name.to_uppercase()), None);
        assert_eq!(Key::of_names("new", &name), None);
        assert_eq!(Key::of_names(&directory, &name[1..]), None);
    }
}
