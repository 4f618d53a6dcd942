//! Digests of contents: `sha256:HEX` and `sha512:HEX`.

use std::fmt;

use packline_runtime::hex;
use sha2::{Digest as _, Sha256, Sha512};

#[derive(Clone, PartialEq, Eq)]
pub struct Digest {
    algorithm: Algorithm,
    /// Hexadecimal digits.
    hex: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Sha256,
    Sha512,
}

/// Computes the digest of bytes that arrive in pieces.
#[derive(Clone)]
pub(super) enum Hasher {
    Sha256(Sha256),
    Sha512(Sha512),
}

impl Digest {
    /// `None` for another algorithm, or for upper-case digits.
    pub(super) fn parse(text: &str) -> Option<Digest> {
        let (name, hex) = text.split_once(':')?;
        let (algorithm, length) = match name {
            "sha256" => (Algorithm::Sha256, 64),
            "sha512" => (Algorithm::Sha512, 128),
            _ => return None,
        };
        let digits = hex.len() == length && hex.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        digits.then(|| Digest { algorithm, hex: hex.to_string() })
    }

    /// The digest of a content by SHA-256.
    pub(super) fn of(bytes: &[u8]) -> Digest {
        let mut hasher = Hasher::Sha256(Sha256::new());
        hasher.update(bytes);
        hasher.finish()
    }

    /// The digest of a content by the algorithm of this one.
    pub(super) fn of_same_kind(&self, bytes: &[u8]) -> Digest {
        let mut hasher = self.hasher();
        hasher.update(bytes);
        hasher.finish()
    }

    /// The path of the content in a layout.
    pub(super) fn path(&self) -> String {
        format!("blobs/{}/{}", self.name(), self.hex)
    }

    /// The start of the digest, for messages.
    pub(super) fn short(&self) -> String {
        format!("{}:{}", self.name(), &self.hex[..12])
    }

    pub(super) fn hasher(&self) -> Hasher {
        match self.algorithm {
            Algorithm::Sha256 => Hasher::Sha256(Sha256::new()),
            Algorithm::Sha512 => Hasher::Sha512(Sha512::new()),
        }
    }

    fn name(&self) -> &'static str {
        match self.algorithm {
            Algorithm::Sha256 => "sha256",
            Algorithm::Sha512 => "sha512",
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name(), self.hex)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Hasher {
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Hasher::Sha256(hasher) => hasher.update(bytes),
            Hasher::Sha512(hasher) => hasher.update(bytes),
        }
    }

    pub fn finish(self) -> Digest {
        match self {
            Hasher::Sha256(hasher) => Digest { algorithm: Algorithm::Sha256, hex: hex(&hasher.finalize()) },
            Hasher::Sha512(hasher) => Digest { algorithm: Algorithm::Sha512, hex: hex(&hasher.finalize()) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        for (text, content) in [
            ("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", ""),
            ("sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "abc"),
            (
                "sha512:ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                 2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
                "abc",
            ),
        ] {
            let digest = Digest::parse(text).unwrap();
            let mut hasher = digest.hasher();
            hasher.update(content.as_bytes());
            assert_eq!((hasher.finish(), digest.to_string()), (digest.clone(), text.to_string()));
        }
    }

    #[test]
    fn what_is_no_digest() {
        let long = "a".repeat(64);
        for text in ["", "sha256", "sha256:", "sha256:abc", "md5:abc", &long, &format!("sha256:{}", "A".repeat(64))] {
            assert_eq!(Digest::parse(text), None, "{text}");
        }
        assert_eq!(Digest::parse(&format!("sha256:../{}", "a".repeat(61))), None);
    }
}
