//! The recipients of a wrapped key, which the head of an age file names in lines of text. They are readable without a key.

/// A recipient of a wrap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stanza {
    /// The recipient's kind: `X25519`, `ssh-ed25519`, `ssh-rsa`, `scrypt` or another.
    pub(crate) tag: String,
    /// The words after the kind.
    pub(crate) arguments: Vec<String>,
}

const VERSION: &[u8] = b"age-encryption.org/v1";
/// Maximum number of stanzas, enough for a wrap of the maximum size.
const MAX_STANZAS: usize = 4096;

/// Returns the stanzas of an age file. `None` if it is malformed or has too many.
pub(crate) fn stanzas(file: &[u8]) -> Option<Vec<Stanza>> {
    let mut lines = file.split(|&byte| byte == b'\n');
    if lines.next() != Some(VERSION) {
        return None;
    }
    let mut found = Vec::new();
    for line in lines {
        if line.starts_with(b"---") {
            return Some(found).filter(|found| !found.is_empty());
        }
        let Some(words) = line.strip_prefix(b"-> ") else { continue };
        found.push(stanza(words)?);
        if found.len() > MAX_STANZAS {
            return None;
        }
    }
    None
}

fn stanza(words: &[u8]) -> Option<Stanza> {
    let is_visible = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    let text = std::str::from_utf8(words).ok().filter(|_| words.iter().all(is_visible))?;
    let mut words = text.split(' ').map(str::to_owned);
    Some(Stanza { tag: words.next()?, arguments: words.collect() })
}

impl Stanza {
    /// Whether the stanza has no recipient. age adds such stanzas, so that readers keep skipping unknown ones.
    pub(crate) fn is_grease(&self) -> bool {
        self.tag.ends_with("-grease")
    }

    /// Whether the stanza belongs to a passphrase.
    pub(crate) fn is_passphrase(&self) -> bool {
        self.tag == "scrypt"
    }

    /// Binary logarithm of scrypt's work factor.
    pub(crate) fn work_factor(&self) -> Option<u8> {
        self.arguments.get(1).filter(|_| self.is_passphrase())?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_recipients_without_a_key() {
        let file =
            b"age-encryption.org/v1\n-> X25519 abc\nbody\n-> scrypt salt 18\nbody\n-> x-grease a\n\n--- mac\nrest";
        let found = stanzas(file).unwrap();
        let tags: Vec<&str> = found.iter().map(|stanza| stanza.tag.as_str()).collect();
        assert_eq!(tags, ["X25519", "scrypt", "x-grease"]);
        assert_eq!(found[1].work_factor(), Some(18));
        assert!(found[2].is_grease() && !found[1].is_grease());
    }

    #[test]
    fn rejects_malformed_age_heads() {
        let cases: [&[u8]; 6] = [
            b"",
            b"age-encryption.org/v2\n-> X25519 a\n---",
            b"age-encryption.org/v1\n---",
            b"age-encryption.org/v1\n-> X25519 a\nb",
            b"age-encryption.org/v1\n-> \xff a\n---",
            b"age-encryption.org/v1\n-> a\x1b[2J b\n---",
        ];
        for case in cases {
            assert_eq!(stanzas(case), None, "{}", case.escape_ascii());
        }
    }
}
