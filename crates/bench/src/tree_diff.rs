//! Whether two trees are the same, found out by a process of its own, so that this one stays small.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::Value;

use super::contest::Arena;
use super::input::cannot;
use super::line::Printed;
use super::program::Lost;
use super::unlisted::Unlisted;
use crate::failure::Failure;
use crate::shown::Escape;

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
    /// The directories whose attributes the source does not have.
    pub unlisted: Option<&'a mut Unlisted>,
}

/// Attributes of a directory that its program chooses where the source has none.
const CHOSEN: [&str; 3] = ["mode", "mtime", "owner"];

/// Compares them. Attributes that the source does not have may differ: that is noted.
///
/// # Errors
/// They differ; `made_by` made the second.
pub fn compare(arena: &mut Arena<'_>, compared: Compare<'_>, made_by: &str) -> Result<(), Failure> {
    let list = arena.scratch.at("differences");
    let (old, new) = (compared.old, compared.new);
    if diff(arena, &compared, &list)? {
        return Ok(());
    }
    let root = compared.root && !compared.lost.contains(&Lost::Root);
    let mut found = differences(&list, root, None)?;
    if let Some(unlisted) = compared.unlisted.filter(|_| found.of_attributes) {
        found = differences(&list, root, Some(unlisted.paths(arena, old)?))?;
    }
    if !found.chosen.is_empty() {
        let chosen: Vec<&str> = found.chosen.into_iter().collect();
        let program = made_by.split(" (").next().unwrap_or(made_by);
        arena.found.note(format!(
            "{program}: directories that have no entry in the input differ in {}; each program chooses these itself.",
            chosen.join(", ")
        ));
    }
    match found.count {
        0 => Ok(()),
        count => {
            let differences = if count == 1 { "difference" } else { "differences" };
            let (old, new, shown) = (old.escaped(), new.escaped(), found.shown.join("\n"));
            Err(arena.wrong(format!("{made_by}: {count} {differences} between {old} and {new}:\n{shown}")))
        }
    }
}

/// Writes the differences to a list; whether there are none.
fn diff(arena: &mut Arena<'_>, compared: &Compare<'_>, list: &Path) -> Result<bool, Failure> {
    let mut line = arena.ours().with(["diff", "--json"]);
    for lost in compared.lost {
        line = line.with(lost.option());
    }
    // Whoever is not root cannot give files away.
    if [compared.old, compared.new].iter().any(|path| path.is_dir()) && !rustix::process::geteuid().is_root() {
        line = line.with(["--no-owner"]);
    }
    line = line.with([compared.old, compared.new]).printing(Printed::To(list.to_path_buf()));
    line.one_is_an_answer = true;
    Ok(arena.help(&line)?.success)
}

/// What a list of differences holds.
#[derive(Default)]
struct Differences {
    /// Those that are wrong.
    count: u64,
    /// The first of them.
    shown: Vec<String>,
    /// Whether there are some of attributes that a program chooses where the source has none.
    of_attributes: bool,
    /// These, where they were chosen.
    chosen: BTreeSet<&'static str>,
}

/// Reads a list. `unlisted`: directories that have no entry in the source.
fn differences(list: &Path, root: bool, unlisted: Option<&BTreeSet<String>>) -> Result<Differences, Failure> {
    let refused = |cause| cannot("read", list, &cause);
    let mut found = Differences::default();
    for line in BufReader::new(File::open(list).map_err(refused)?).lines() {
        let line = line.map_err(refused)?;
        let difference: Value = serde_json::from_str(&line).unwrap_or_default();
        if !root && difference["path"] == "." && difference["difference"].is_string() {
            continue;
        }
        let chosen = CHOSEN.into_iter().find(|name| difference["difference"] == *name);
        if let Some(name) = chosen.filter(|_| unlisted.is_some_and(|paths| paths.contains(&name_of(&difference)))) {
            found.chosen.insert(name);
            continue;
        }
        found.of_attributes |= chosen.is_some();
        found.count += 1;
        if found.shown.len() < SHOWN {
            found.shown.push(line);
        }
    }
    Ok(found)
}

/// The paths at which a list has differences of a kind.
///
/// # Errors
/// It cannot be read.
pub fn paths_of(list: &Path, kind: &str) -> Result<BTreeSet<String>, Failure> {
    let refused = |cause| cannot("read", list, &cause);
    let mut paths = BTreeSet::new();
    for line in BufReader::new(File::open(list).map_err(refused)?).lines() {
        let difference: Value = serde_json::from_str(&line.map_err(refused)?).unwrap_or_default();
        paths.extend((difference["difference"] == kind).then(|| name_of(&difference)));
    }
    Ok(paths)
}

/// The path of a difference, which no other has: in hexadecimal if it is not UTF-8.
fn name_of(difference: &Value) -> String {
    let name = |key: &str| difference[key].as_str().unwrap_or_default().to_owned();
    name("path") + "\0" + &name("path_hex")
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
        assert_eq!(differences(&list, true, None).unwrap().count, 8);
        let found = differences(&list, false, None).unwrap();
        assert_eq!((found.count, found.shown.len(), found.shown[0].contains("f0")), (7, 5, true));
    }

    #[test]
    fn attributes_that_the_source_does_not_say_are_chosen_and_all_else_is_wrong() {
        let top = tempfile::tempdir().unwrap();
        let (list, own) = (top.path().join("list"), top.path().join("own"));
        std::fs::write(&own, "{\"difference\":\"owner\",\"path\":\"d\"}\n").unwrap();
        let paths = paths_of(&own, "owner").unwrap();
        let line = |what: &str, path: &str| format!("{{\"difference\":\"{what}\",\"path\":\"{path}\"}}\n");
        std::fs::write(&list, line("mtime", "d") + &line("mode", "d")).unwrap();
        assert!(differences(&list, true, None).unwrap().of_attributes);
        let found = differences(&list, true, Some(&paths)).unwrap();
        assert_eq!((found.count, found.chosen.into_iter().collect::<Vec<_>>()), (0, vec!["mode", "mtime"]));
        std::fs::write(&list, line("mtime", "d/e") + &line("type", "d") + &line("xattrs", "d")).unwrap();
        let found = differences(&list, true, Some(&paths)).unwrap();
        assert_eq!((found.count, found.chosen.len()), (3, 0));
    }
}
