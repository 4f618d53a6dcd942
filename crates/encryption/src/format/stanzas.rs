//! The recipients of a wrapped key, which the head of an age file names in lines of text. They are readable without a key.

use std::fmt;

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

/// The recipients of a file by kind. It names no key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MadeFor {
    /// Kinds of keys (`X25519`, `ssh-ed25519`, `ssh-rsa` or another kind of age), with their numbers.
    pub keys: Vec<(String, u64)>,
    /// Number of passphrases that open the file.
    pub passphrases: u64,
}

impl MadeFor {
    pub(super) fn add(&mut self, stanza: &Stanza) {
        if stanza.is_grease() {
            return;
        }
        if stanza.is_passphrase() {
            self.passphrases += 1;
            return;
        }
        match self.keys.iter_mut().find(|(kind, _)| *kind == stanza.tag) {
            Some((_, count)) => *count += 1,
            None => self.keys.push((stanza.tag.clone(), 1)),
        }
    }
}

/// The name of a kind of keys. The keys of age itself are called by the name of the program.
fn shown(kind: &str) -> &str {
    if kind == "X25519" { "age" } else { kind }
}

impl fmt::Display for MadeFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: u64, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        let mut parts: Vec<String> =
            self.keys.iter().map(|(kind, count)| counted(*count, &format!("{} key", shown(kind)))).collect();
        if self.passphrases > 0 {
            parts.push(counted(self.passphrases, "passphrase"));
        }
        match parts.split_last() {
            None => f.write_str("no one"),
            Some((last, [])) => f.write_str(last),
            Some((last, before)) => write!(f, "{} and {last}", before.join(", ")),
        }
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

    #[test]
    fn counts_recipients_by_kind() {
        let stanza = |tag: &str| Stanza { tag: tag.into(), arguments: Vec::new() };
        let mut made_for = MadeFor::default();
        assert_eq!(made_for.to_string(), "no one");
        for tag in ["X25519", "ssh-rsa", "X25519", "scrypt", "y-grease"] {
            made_for.add(&stanza(tag));
        }
        assert_eq!(made_for.to_string(), "2 age keys, 1 ssh-rsa key and 1 passphrase");
    }
}
