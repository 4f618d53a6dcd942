//! Findings with the same text and offset: all directories and files whose bytes are in a damaged block have the same fault. Findings without
//! a path may differ in numbers: a damaged directory leaves each of its inodes without a name.

use std::collections::VecDeque;

use packline_volume::{Finding, Severity};

use crate::ui::escape::escaped_path;
use crate::ui::size::count;

/// Number of the latest different findings that a finding is compared with.
const REMEMBERED: usize = 64;
/// Paths in the line about further entries.
const PATHS: usize = 3;

/// The latest different findings, with the number of the further entries that have each.
#[derive(Default)]
pub struct Repeated(VecDeque<Group>);

struct Group {
    first: Finding,
    more: u64,
    /// The first known paths of further entries.
    paths: Vec<String>,
}

impl Repeated {
    /// Counts the finding if it is remembered.
    pub fn counts(&mut self, finding: &Finding) -> bool {
        let found = self.0.iter_mut().rev().find(|group| group.equals(finding));
        let is_remembered = found.is_some();
        if let Some(group) = found {
            group.more += 1;
            let path = finding.path.as_deref().filter(|_| group.paths.len() < PATHS);
            group.paths.extend(path.map(escaped_path));
        }
        is_remembered
    }

    /// Remembers a finding. Returns the text about further entries of the finding that is no longer remembered.
    pub fn remember(&mut self, first: Finding) -> Option<String> {
        self.0.push_back(Group { first, more: 0, paths: Vec::new() });
        let oldest = if self.0.len() > REMEMBERED { self.0.pop_front() } else { None };
        oldest?.text()
    }

    /// Returns the texts about further entries of all remembered findings.
    pub fn end(&mut self) -> Vec<String> {
        self.0.drain(..).filter_map(|group| group.text()).collect()
    }
}

impl Group {
    fn equals(&self, other: &Finding) -> bool {
        let Finding { severity, path: _, offset, what, expected } = &self.first;
        let is_numbered = self.first.path.is_none() && other.path.is_none();
        (severity, offset, expected) == (&other.severity, &other.offset, &other.expected)
            && (*what == other.what || is_numbered && differs_only_in_digits(what, &other.what))
    }

    /// Returns the text about further entries; `None` if there are none.
    fn text(&self) -> Option<String> {
        if self.more == 0 {
            return None;
        }
        let offset = self.first.offset;
        if self.paths.is_empty() {
            let kind = if self.first.severity == Severity::Note { "more note" } else { "more fault" };
            let kinds = count(self.more, kind);
            return Some(format!("{kinds} like '{}' at byte {offset}; --json lists all", self.first.what));
        }
        let have = if self.more == 1 { "has" } else { "have" };
        let kind = if self.first.severity == Severity::Note { "note" } else { "fault" };
        let is_complete = self.more == self.paths.len() as u64;
        let rest = if is_complete { None } else { Some("...") };
        let paths: Vec<&str> = self.paths.iter().map(String::as_str).chain(rest).collect();
        let hint = if is_complete { "" } else { "; --json lists all" };
        let entries = count(self.more, "more entry");
        Some(format!("{entries} {have} the {kind} at byte {offset}: {}{hint}", paths.join(", ")))
    }
}

fn differs_only_in_digits(one: &str, other: &str) -> bool {
    let letters = |letter: &char| !letter.is_ascii_digit();
    one.chars().filter(letters).eq(other.chars().filter(letters))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(offset: u64, path: Option<&str>) -> Finding {
        let path = path.map(|path| path.as_bytes().to_vec());
        Finding { severity: Severity::Fault, path, offset, what: "is damaged".into(), expected: String::new() }
    }

    #[test]
    fn further_entries_are_counted_and_the_first_are_named() {
        let mut repeated = Repeated::default();
        assert!(!repeated.counts(&finding(7, None)) && repeated.remember(finding(7, None)).is_none());
        assert!(!repeated.counts(&finding(9, Some("x"))) && repeated.remember(finding(9, Some("x"))).is_none());
        assert!(!repeated.counts(&finding(8, None)) && repeated.remember(finding(8, None)).is_none());
        for path in ["a", "b", "c", "d", "e"] {
            assert!(repeated.counts(&finding(7, Some(path))));
        }
        assert!(repeated.counts(&finding(9, Some("y"))));
        assert_eq!(
            repeated.end(),
            [
                "5 more entries have the fault at byte 7: a, b, c, ...; --json lists all",
                "1 more entry has the fault at byte 9: y"
            ]
        );
    }

    #[test]
    fn entries_without_a_path_are_counted() {
        let mut repeated = Repeated::default();
        assert!(repeated.remember(finding(7, None)).is_none() && repeated.counts(&finding(7, None)));
        assert_eq!(repeated.end(), ["1 more fault like 'is damaged' at byte 7; --json lists all"]);
    }

    #[test]
    fn findings_without_a_path_may_differ_in_numbers() {
        let unnamed =
            |number: u64, path| Finding { what: format!("inode {number} without a name"), ..finding(7, path) };
        let mut repeated = Repeated::default();
        assert!(repeated.remember(unnamed(9, None)).is_none());
        assert!(repeated.counts(&unnamed(10, None)) && repeated.counts(&unnamed(1000, None)));
        let other = Finding { what: "inode 9 has no name".into(), ..finding(7, None) };
        assert!(!repeated.counts(&unnamed(11, Some("x"))) && !repeated.counts(&other));
        assert!(!repeated.counts(&Finding { offset: 8, ..unnamed(11, None) }));
        assert_eq!(repeated.end(), ["2 more faults like 'inode 9 without a name' at byte 7; --json lists all"]);
    }

    #[test]
    fn the_oldest_finding_is_forgotten_first() {
        let mut repeated = Repeated::default();
        for offset in 0..REMEMBERED as u64 {
            assert!(repeated.remember(finding(offset, None)).is_none());
        }
        assert!(repeated.counts(&finding(0, Some("x"))));
        let line = repeated.remember(finding(1 << 20, None)).unwrap();
        assert_eq!(line, "1 more entry has the fault at byte 0: x");
        assert!(!repeated.counts(&finding(0, None)) && repeated.counts(&finding(1, None)));
    }
}
