//! Whether two trees are the same, found out by a process of its own, so that this one stays small.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::contest::Arena;
use super::input::cannot;
use super::line::Printed;
use super::program::Lost;
use crate::failure::Failure;

/// Differences that are shown.
const SHOWN: usize = 5;

/// Two trees, each in an image or a directory.
pub struct Compare<'a> {
    pub old: &'a Path,
    pub new: &'a Path,
    /// What whoever made the second is known to lose.
    pub lost: &'a [Lost],
    /// Whether attributes of the root count, as long as they are not lost.
    pub root: bool,
}

/// Compares them.
///
/// # Errors
/// They differ; `made_by` made the second.
pub fn compare(arena: &mut Arena<'_>, compared: &Compare<'_>, made_by: &str) -> Result<(), Failure> {
    let list = arena.scratch.at("differences");
    let mut line = arena.ours().with(["diff", "--json"]);
    for lost in compared.lost {
        line = line.with(lost.option());
    }
    // Whoever is not root cannot give files away.
    if [compared.old, compared.new].iter().any(|path| path.is_dir()) && !rustix::process::geteuid().is_root() {
        line = line.with(["--no-owner"]);
    }
    line = line.with([compared.old, compared.new]).printing(Printed::To(list.clone()));
    line.one_is_an_answer = true;
    if arena.help(&line)?.success {
        return Ok(());
    }
    let root = compared.root && !compared.lost.contains(&Lost::Root);
    let (count, shown) = differences(&list, root)?;
    match count {
        0 => Ok(()),
        _ => {
            let (old, new) = (compared.old.display(), compared.new.display());
            let differences = if count == 1 { "difference" } else { "differences" };
            let what = format!("{made_by}: {count} {differences} between {old} and {new}:\n{}", shown.join("\n"));
            Err(arena.wrong(what))
        }
    }
}

/// How many differences there are, and the first of them.
fn differences(list: &Path, root: bool) -> Result<(u64, Vec<String>), Failure> {
    let refused = |cause| cannot("read", list, &cause);
    let (mut count, mut shown) = (0, Vec::new());
    for line in BufReader::new(File::open(list).map_err(refused)?).lines() {
        let line = line.map_err(refused)?;
        if !root && is_of_root(&line) {
            continue;
        }
        count += 1;
        if shown.len() < SHOWN {
            shown.push(line);
        }
    }
    Ok((count, shown))
}

/// Whether a difference is one of the root's attributes.
fn is_of_root(line: &str) -> bool {
    let difference: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
    difference["path"] == "." && difference["difference"].is_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_the_root_count_only_if_they_are_to() {
        let top = tempfile::tempdir().unwrap();
        let list = top.path().join("list");
        let lines: Vec<String> =
            (0..7).map(|number| format!(r#"{{"difference":"mode","path":"f{number}"}}"#)).collect();
        std::fs::write(&list, format!("{{\"difference\":\"mode\",\"path\":\".\"}}\n{}\n", lines.join("\n"))).unwrap();
        assert_eq!(differences(&list, true).unwrap().0, 8);
        let (count, shown) = differences(&list, false).unwrap();
        assert_eq!((count, shown.len(), shown[0].contains("f0")), (7, 5, true));
    }
}
