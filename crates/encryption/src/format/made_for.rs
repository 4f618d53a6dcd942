//! The recipients of a file, as far as its head names them.

use std::fmt;

use super::Stanza;

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

impl fmt::Display for MadeFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: u64, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        let mut parts: Vec<String> =
            self.keys.iter().map(|(kind, count)| counted(*count, &format!("{kind} key"))).collect();
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
    fn counts_recipients_by_kind() {
        let stanza = |tag: &str| Stanza { tag: tag.into(), arguments: Vec::new() };
        let mut made_for = MadeFor::default();
        assert_eq!(made_for.to_string(), "no one");
        for tag in ["X25519", "ssh-rsa", "X25519", "scrypt", "y-grease"] {
            made_for.add(&stanza(tag));
        }
        assert_eq!(made_for.to_string(), "2 X25519 keys, 1 ssh-rsa key and 1 passphrase");
    }
}
