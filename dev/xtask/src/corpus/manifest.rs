//! The text manifest of a corpus: a `part` line for each package that it was made from, a `sum` line for each resulting file.

use std::collections::BTreeMap;
use std::fmt;

/// A package, or another source of a corpus.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    pub name: String,
    pub version: String,
    /// Digest of the package's file as `ALGORITHM:HEX`; empty if only the package manager has the file.
    pub digest: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum {
    /// Name without directories.
    pub name: String,
    pub bytes: u64,
    /// `blake3:HEX`.
    pub digest: String,
}

/// The lines are `part NAME VERSION [DIGEST]` and `sum NAME BYTES DIGEST`; `#` begins a comment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Sorted.
    pub parts: Vec<Part>,
    /// In the order of creation.
    pub sums: Vec<Sum>,
}

impl Manifest {
    /// Parses the text. The error names the first line that is not a part, a sum, a comment or empty.
    pub fn parse(text: &str) -> Result<Manifest, String> {
        let mut manifest = Manifest::default();
        for (index, line) in text.lines().enumerate() {
            manifest.take(line).map_err(|cause| format!("line {}: {cause}", index + 1))?;
        }
        manifest.parts.sort();
        Ok(manifest)
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let own = |word: &str| word.to_owned();
        match words[..] {
            [] => {}
            [first, ..] if first.starts_with('#') => {}
            ["part", name, version] => {
                self.parts.push(Part { name: own(name), version: own(version), digest: String::new() });
            }
            ["part", name, version, digest] => {
                self.parts.push(Part { name: own(name), version: own(version), digest: own(digest) });
            }
            ["sum", name, bytes, digest] => {
                let bytes = bytes.parse().map_err(|_| format!("'{bytes}' is not a number of bytes"))?;
                self.sums.push(Sum { name: own(name), bytes, digest: own(digest) });
            }
            _ => return Err(format!("{line:?} (expected `part NAME VERSION [DIGEST]` or `sum NAME BYTES DIGEST`)")),
        }
        Ok(())
    }

    /// Total size of all files.
    pub fn bytes(&self) -> u64 {
        self.sums.iter().map(|sum| sum.bytes).sum()
    }

    /// Differences from the pinned corpus: a line for each part that differs, or, if all parts are equal, for each file that
    /// differs.
    pub fn drift(&self, pinned: &Manifest) -> Vec<String> {
        let lines = self.drift_of_parts(pinned);
        if lines.is_empty() { self.drift_of_sums(pinned) } else { lines }
    }

    fn drift_of_parts(&self, pinned: &Manifest) -> Vec<String> {
        let here = self.by_part();
        let there = pinned.by_part();
        let gone = there.iter().filter(|(key, _)| !here.contains_key(*key));
        let gone =
            gone.map(|((name, _), part)| format!("{name}: {} was pinned and is missing", version_and_digest(part)));
        let other = here.iter().filter_map(|(key, part)| match there.get(key) {
            None => Some(format!("{}: {} was not pinned", key.0, version_and_digest(part))),
            Some(pin) if pin != part => {
                Some(format!("{}: {} (pinned {})", key.0, version_and_digest(part), version_and_digest(pin)))
            }
            Some(_) => None,
        });
        gone.chain(other).collect()
    }

    fn drift_of_sums(&self, pinned: &Manifest) -> Vec<String> {
        let differs = |sum: &&Sum| pinned.sums.iter().any(|pin| pin.name == sum.name && pin != *sum);
        let line = |sum: &Sum| format!("{}: {} bytes, {}: not the pinned content", sum.name, sum.bytes, sum.digest);
        self.sums.iter().filter(differs).map(line).collect()
    }

    /// The parts by name and, for parts with the same name, by number.
    fn by_part(&self) -> BTreeMap<(&str, usize), &Part> {
        let mut parts = BTreeMap::new();
        for part in &self.parts {
            let several = parts.keys().filter(|(name, _)| *name == part.name).count();
            parts.insert((part.name.as_str(), several), part);
        }
        parts
    }
}

fn version_and_digest(part: &Part) -> String {
    // The beginning is enough to tell the digests of one version apart.
    let digest: String = part.digest.chars().take(19).collect();
    if digest.is_empty() { part.version.clone() } else { format!("{} {digest}", part.version) }
}

impl fmt::Display for Manifest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Sum { name, bytes, digest } in &self.sums {
            writeln!(out, "sum {name} {bytes} {digest}")?;
        }
        for Part { name, version, digest } in &self.parts {
            writeln!(out, "{}", format!("part {name} {version} {digest}").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# comment\n\nsum x.tar 1024 blake3:00ff\npart b 2.0\npart a 1:1.0-3+b1 sha256:12\npart a 1:1.1\n";

    #[test]
    fn text_and_back() {
        let manifest = Manifest::parse(TEXT).unwrap();
        assert_eq!((manifest.parts.len(), manifest.bytes()), (3, 1024));
        assert_eq!(manifest.parts[0].digest, "sha256:12");
        assert_eq!(Manifest::parse(&manifest.to_string()).unwrap(), manifest);
    }

    #[test]
    fn invalid_lines_are_refused() {
        for line in ["part a", "sum x.tar many blake3:0", "sum x.tar 1", "other a b"] {
            let cause = Manifest::parse(&format!("# first\n{line}\n")).unwrap_err();
            assert!(cause.starts_with("line 2: "), "{cause}");
        }
    }

    #[test]
    fn drift_names_parts_that_moved() {
        let pinned = Manifest::parse(TEXT).unwrap();
        let drift = |text: &str| Manifest::parse(text).unwrap().drift(&pinned);
        assert!(drift(TEXT).is_empty());
        let moved = drift(&TEXT.replace("part b 2.0", "part b 2.1").replace("00ff", "00fe"));
        assert_eq!(moved, ["b: 2.1 (pinned 2.0)"]);
        let gone = drift(&TEXT.replace("part b 2.0", "part c 2.0"));
        assert_eq!(gone, ["b: 2.0 was pinned and is missing", "c: 2.0 was not pinned"]);
        assert_eq!(
            drift(&TEXT.replace("sha256:12", "sha256:13")),
            ["a: 1:1.0-3+b1 sha256:13 (pinned 1:1.0-3+b1 sha256:12)"]
        );
    }

    #[test]
    fn drift_names_files_only_if_no_part_moved() {
        let pinned = Manifest::parse(TEXT).unwrap();
        let lines = Manifest::parse(&TEXT.replace("00ff", "00fe")).unwrap().drift(&pinned);
        assert_eq!(lines, ["x.tar: 1024 bytes, blake3:00fe: not the pinned content"]);
    }
}
