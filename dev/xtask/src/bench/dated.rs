//! Finds dated results, `YYYY-MM-DD-NAME.csv`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The last two files of each name in a directory, for names with at least two.
pub fn last_two(directory: &Path) -> Result<Vec<[PathBuf; 2]>, String> {
    let entries = std::fs::read_dir(directory).map_err(|cause| format!("{}: {cause}", directory.display()))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let pairs = pairs(names.collect());
    Ok(pairs.into_iter().map(|pair| pair.map(|name| directory.join(name))).collect())
}

fn pairs(mut names: Vec<String>) -> Vec<[String; 2]> {
    names.sort();
    let mut by_name: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    for name in &names {
        if let Some(rest) = undated(name) {
            by_name.entry(rest.to_owned()).or_default().push(name);
        }
    }
    by_name.values().filter_map(|all| all.last_chunk::<2>()).map(|pair| pair.map(Clone::clone)).collect()
}

/// The part of a CSV file's name after the date.
fn undated(name: &str) -> Option<&str> {
    let date = name.get(..10)?;
    let rest = name.get(10..)?.strip_prefix('-')?.strip_suffix(".csv")?;
    let digit =
        |(index, byte): (usize, u8)| if index == 4 || index == 7 { byte == b'-' } else { byte.is_ascii_digit() };
    date.bytes().enumerate().all(digit).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_two_of_each_name() {
        let names = [
            "2026-02-01-a.csv",
            "2025-12-31-a.csv",
            "2026-01-01-a.csv",
            "2026-01-01-b.csv",
            "2026-02-01-a.md",
            "x.csv",
        ];
        let found = pairs(names.map(str::to_owned).to_vec());
        assert_eq!(found, [["2026-01-01-a.csv".to_owned(), "2026-02-01-a.csv".to_owned()]]);
    }

    #[test]
    fn name_after_a_date() {
        assert_eq!(undated("2026-02-01-pack-debian-root.csv"), Some("pack-debian-root"));
        for name in [
            "2026-02-1-a.csv",
            "2026-02-01.csv",
            "a.csv",
            "2026-02-01-a.md",
            "2026_02_01-a.csv",
            "\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}-a.csv",
        ] {
            assert_eq!(undated(name), None, "{name}");
        }
    }
}
