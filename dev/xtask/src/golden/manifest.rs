//! The manifest: a text file, sorted by command line, of `HASH SIZE COMMAND LINE`.

use crate::shell;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Outputs (`HASH SIZE`) by command line.
pub type Entries = BTreeMap<String, String>;

/// Outputs, or errors instead.
pub type Outputs = BTreeMap<String, Result<String, String>>;

pub struct Manifest {
    /// The comment lines at the top.
    head: String,
    pub entries: Entries,
}

impl Manifest {
    pub fn read() -> Result<Manifest, String> {
        let path = path();
        let text = std::fs::read_to_string(&path).map_err(|cause| format!("{}: {cause}", path.display()))?;
        Manifest::parse(&text).map_err(|line| format!("{}: '{line}' (expected HASH SIZE COMMAND LINE)", path.display()))
    }

    /// The error is the line that cannot be parsed.
    fn parse(text: &str) -> Result<Manifest, String> {
        let (head, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
        let entries = lines.into_iter().map(|line| entry(line).ok_or_else(|| line.to_owned()));
        Ok(Manifest {
            head: head.iter().map(|line| format!("{line}\n")).collect(),
            entries: entries.collect::<Result<_, _>>()?,
        })
    }

    pub fn write(&self) -> Result<(), String> {
        shell::write(&path(), &self.text())
    }

    fn text(&self) -> String {
        let lines = self.entries.iter().map(|(line, output)| format!("{output} {line}\n"));
        self.head.chars().chain(lines.collect::<String>().chars()).collect()
    }
}

fn path() -> PathBuf {
    shell::root().join("dev/xtask/golden.txt")
}

fn entry(line: &str) -> Option<(String, String)> {
    let (output_end, _) = line.match_indices(' ').nth(1)?;
    Some((line[output_end + 1..].to_owned(), line[..output_end].to_owned()))
}

/// A line for each case whose output differs from the recorded one.
pub fn differences(recorded: &Entries, found: &Outputs) -> Vec<String> {
    let differ = found.iter().filter_map(|(line, new)| {
        let old = recorded.get(line)?;
        let new = new.as_ref().unwrap_or_else(|cause| cause);
        (new != old).then(|| format!("{line}\n  recorded {old}\n  found    {new}"))
    });
    differ.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_sorted_and_keeps_its_head() {
        let manifest = Manifest::parse("# head\nbb 2 pack b c\naa 1 pack a\n").unwrap();
        assert_eq!(manifest.text(), "# head\naa 1 pack a\nbb 2 pack b c\n");
        assert!(Manifest::parse("aa 1\n").is_err());
    }

    #[test]
    fn each_difference_is_named() {
        let recorded = Manifest::parse("aa 1 pack a\nbb 2 pack b\ncc 3 pack c\n").unwrap().entries;
        let found = [("pack a", Ok("aa 1")), ("pack b", Ok("bc 2")), ("pack c", Err("it fails"))];
        let owned = |output: Result<&str, &str>| output.map(str::to_owned).map_err(str::to_owned);
        let found = found.into_iter().map(|(line, output)| (line.to_owned(), owned(output))).collect();
        let expected = ["pack b\n  recorded bb 2\n  found    bc 2", "pack c\n  recorded cc 3\n  found    it fails"];
        assert_eq!(differences(&recorded, &found), expected);
    }
}
