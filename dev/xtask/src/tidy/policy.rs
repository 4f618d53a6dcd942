//! Licences and duplicate versions of other crates, by the lists in `deny.toml`. `cargo deny` checks the same lists and more where it is
//! installed; this check needs nothing but cargo.

use std::collections::BTreeSet;
use std::path::Path;

use crate::metadata::{Metadata, Package};

/// The lists of `deny.toml` that are checked here.
struct Policy {
    /// SPDX identifiers.
    allowed: BTreeSet<String>,
    /// `NAME@VERSION` of the older of two versions.
    skipped: BTreeSet<String>,
}

impl Policy {
    /// Reads the quoted words of the lines in `allow = [...]`, and the crates of `skip = [...]`, one on a line.
    fn parse(text: &str) -> Policy {
        let allowed = list(text, "allow = [").filter_map(quoted).collect();
        let skipped = list(text, "skip = [").filter_map(|line| quoted(line.split_once("crate = ")?.1)).collect();
        Policy { allowed, skipped }
    }
}

/// The lines between one that is `head` and the next `]`.
fn list<'a>(text: &'a str, head: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().skip_while(move |line| *line != head).skip(1).take_while(|line| *line != "]")
}

fn quoted(text: &str) -> Option<String> {
    text.split('"').nth(1).map(str::to_owned)
}

/// A violation for each licence that is not allowed, each second version without a reason, and each reason that is no longer needed.
pub fn check(root: &Path) -> Result<Vec<String>, String> {
    let path = root.join("deny.toml");
    let text = std::fs::read_to_string(&path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    let policy = Policy::parse(&text);
    let metadata = Metadata::read()?;
    let found = metadata.foreign();
    Ok([licences(&policy, &found), duplicates(&policy, &found)].concat())
}

fn licences(policy: &Policy, packages: &[&Package]) -> Vec<String> {
    let refused = packages.iter().filter_map(|package| {
        let licence = package.license.as_deref().unwrap_or_default();
        let allowed = allows(licence, &|name| policy.allowed.contains(name));
        let (name, version) = (&package.name, &package.version);
        (!allowed).then(|| format!("{name} {version}: the licence '{licence}' is not in the list `allow` of deny.toml"))
    });
    refused.collect()
}

fn duplicates(policy: &Policy, packages: &[&Package]) -> Vec<String> {
    // Sorted by name and version, so the last of a name is the one that stays.
    let older = packages.windows(2).filter(|pair| pair[0].name == pair[1].name);
    let older: BTreeSet<String> = older.map(|pair| format!("{}@{}", pair[0].name, pair[0].version)).collect();
    let unlisted = older.difference(&policy.skipped);
    let unlisted = unlisted.map(|name| format!("{name} is there in a second version, without a reason in deny.toml"));
    let unneeded = policy.skipped.difference(&older);
    unlisted.chain(unneeded.map(|name| format!("deny.toml: {name} is not there in two versions"))).collect()
}

/// Returns whether an SPDX expression can be fulfilled with licences that are allowed. A slash is an old form of `OR`.
fn allows(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words, allowed };
    reader.any() == Some(true) && reader.words.is_empty()
}

/// Reads an expression from its front. `None` if it is not valid. Depth is bounded, because each level takes a word of a manifest.
struct Reader<'a> {
    words: &'a [&'a str],
    allowed: &'a dyn Fn(&str) -> bool,
}

impl Reader<'_> {
    fn takes(&mut self, word: &str) -> bool {
        let found = self.words.first() == Some(&word);
        self.words = &self.words[usize::from(found)..];
        found
    }

    /// Terms with `OR` between them, which binds less than `AND`.
    fn any(&mut self) -> Option<bool> {
        let mut result = self.all()?;
        while self.takes("OR") {
            result |= self.all()?;
        }
        Some(result)
    }

    fn all(&mut self) -> Option<bool> {
        let mut result = self.term()?;
        while self.takes("AND") {
            result &= self.term()?;
        }
        Some(result)
    }

    fn term(&mut self) -> Option<bool> {
        if self.takes("(") {
            return self.any().filter(|_| self.takes(")"));
        }
        let (name, rest) = self.words.split_first()?;
        self.words = rest;
        if !self.takes("WITH") {
            return Some((self.allowed)(name));
        }
        let (exception, rest) = self.words.split_first()?;
        self.words = rest;
        Some((self.allowed)(&format!("{name} WITH {exception}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str, license: &str) -> Package {
        Package {
            id: format!("{name}{version}"),
            name: name.into(),
            version: version.into(),
            license: Some(license.into()),
            description: None,
            repository: None,
            publish: None,
            source: Some("registry".into()),
        }
    }

    const LISTS: &str = "\
        [licenses]\nallow = [\n    \"MIT\",\n    \"ISC\", # why\n]\n[bans]\nskip = [\n    { crate = \"a@1.0.0\", reason = \"b\" },\n]\n";

    #[test]
    fn expressions() {
        let allowed = |name: &str| ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].contains(&name);
        for text in ["MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "MIT AND ISC", "(GPL-3.0 OR ISC) AND MIT"] {
            assert!(allows(text, &allowed), "{text}");
        }
        assert!(allows("Apache-2.0 WITH LLVM-exception", &allowed));
        for text in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "MIT MIT", "MIT)", "MIT OR", "Apache-2.0"] {
            assert!(!allows(text, &allowed), "{text}");
        }
    }

    #[test]
    fn licences_and_versions_without_a_reason_are_named() {
        let policy = Policy::parse(LISTS);
        let (old, new) = (package("a", "1.0.0", "MIT"), package("a", "2.0.0", "ISC"));
        assert!(licences(&policy, &[&old, &new]).is_empty() && duplicates(&policy, &[&old, &new]).is_empty());
        assert_eq!(licences(&policy, &[&package("c", "1.0.0", "GPL-3.0")]).len(), 1);
        let newest = package("a", "3.0.0", "MIT");
        assert_eq!(
            duplicates(&policy, &[&old, &new, &newest]),
            ["a@2.0.0 is there in a second version, without a reason in deny.toml"]
        );
        assert_eq!(duplicates(&policy, &[&old]), ["deny.toml: a@1.0.0 is not there in two versions"]);
    }
}
