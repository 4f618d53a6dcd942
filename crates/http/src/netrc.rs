//! Names and passwords for servers, from the text of a `.netrc` file.

use std::fmt;

use crate::authority::basic_of;

/// The entries of a `.netrc` file. No text shows them.
#[derive(Clone, Default)]
pub struct Netrc(Vec<Entry>);

#[derive(Clone, Default)]
struct Entry {
    /// `None` for the default entry.
    machine: Option<String>,
    login: String,
    password: String,
}

impl Netrc {
    /// Parses a file. Words that are unknown, and definitions of macros, are skipped, as in ftp and curl.
    pub fn parse(text: &str) -> Netrc {
        let mut entries: Vec<Entry> = Vec::new();
        let mut words = Words(text);
        while let Some(word) = words.next() {
            match &*word {
                "machine" => {
                    // Without a name, the entry is for no server.
                    let machine = Some(words.next().unwrap_or_default());
                    entries.push(Entry { machine, ..Entry::default() });
                }
                "default" => entries.push(Entry::default()),
                "macdef" => words.skip_macro(),
                "login" | "password" | "account" => {
                    let value = words.next().unwrap_or_default();
                    match (entries.last_mut(), &*word) {
                        (Some(entry), "login") => entry.login = value,
                        (Some(entry), "password") => entry.password = value,
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        Netrc(entries)
    }

    /// Returns the header `Authorization` for a server: that of its first entry, or of the first default entry.
    pub(crate) fn authorization(&self, host: &str) -> Option<String> {
        let own = |entry: &&Entry| entry.machine.as_ref().is_some_and(|machine| machine.eq_ignore_ascii_case(host));
        let entry = self.0.iter().find(own).or_else(|| self.0.iter().find(|entry| entry.machine.is_none()))?;
        if entry.login.is_empty() && entry.password.is_empty() {
            return None;
        }
        Some(basic_of(entry.login.as_bytes(), entry.password.as_bytes()))
    }
}

impl fmt::Debug for Netrc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Netrc").finish_non_exhaustive()
    }
}

/// The rest of the text.
struct Words<'t>(&'t str);

impl Words<'_> {
    /// Skips lines up to an empty one, which ends a macro.
    fn skip_macro(&mut self) {
        self.0 = self.0.split_once("\n\n").map_or("", |(_, rest)| rest);
    }
}

impl Iterator for Words<'_> {
    type Item = String;

    /// A word may be in quotes, with `\"` and `\\` in it. The rest of a line after a word that begins with `#` is a comment.
    fn next(&mut self) -> Option<String> {
        self.0 = self.0.trim_start();
        while self.0.starts_with('#') {
            self.0 = self.0.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
        }
        let Some(quoted) = self.0.strip_prefix('"') else {
            let end = self.0.find(char::is_whitespace).unwrap_or(self.0.len());
            let (word, rest) = self.0.split_at(end);
            self.0 = rest;
            return (!word.is_empty()).then(|| word.to_string());
        };
        let mut word = String::new();
        let mut letters = quoted.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.0 = &quoted[at + 1..];
                    return Some(word);
                }
                '\\' => word.extend(letters.next().map(|(_, letter)| letter)),
                letter => word.push(letter),
            }
        }
        self.0 = "";
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_entry_of_a_server() {
        let text = "# comment\nmachine A.example login me password secret\nmacdef init\nmachine x\n\n\
                    machine b.example\n  login \"a b\" password \"q\\\"\\\\\" account none\n\
                    default login anonymous password guest\nmachine a.example login late password late\n";
        let netrc = Netrc::parse(text);
        for (host, name, password) in
            [("a.example", "me", "secret"), ("b.example", "a b", "q\"\\"), ("x", "anonymous", "guest")]
        {
            let expected = basic_of(name.as_bytes(), password.as_bytes());
            assert_eq!(netrc.authorization(host), Some(expected), "{host}");
        }
        assert!(!format!("{netrc:?}").contains("secret"));
    }

    #[test]
    fn damaged_files_have_no_entry() {
        for text in
            ["", "machine", "machine host", "default", "login me", "machine \"open", "macdef x", "password", "#"]
        {
            assert_eq!(Netrc::parse(text).authorization("host"), None, "{text}");
        }
    }
}
