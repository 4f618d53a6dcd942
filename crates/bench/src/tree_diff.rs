//! Compares two trees with `packline diff` in another process, so that the peak memory of this process stays small.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use packline_runtime::escape::Escape;
use serde_json::Value;

use crate::Error;
use crate::programs::command_line::Stdout;
use crate::programs::program::Loss;
use crate::runs::runner::Runner;
use crate::runs::work_dir::remove;

const SHOWN: usize = 5;

/// The attributes of an implicit directory that each program chooses.
const CHOSEN: [&str; 3] = ["mode", "mtime", "owner"];

pub struct TreeDiff<'a> {
    pub old: &'a Path,
    pub new: &'a Path,
    /// The parts of a tree that the program that wrote `new` does not keep.
    pub losses: &'a [Loss],
    /// Whether attributes of the root are compared, unless they are among the losses.
    pub root: bool,
    /// The directories that have no attributes in the source.
    pub implicit_dirs: Option<&'a mut ImplicitDirs>,
}

impl TreeDiff<'_> {
    /// Compares the trees. If attributes of implicit directories differ, a note says so.
    ///
    /// # Errors
    /// Returns an error if the trees differ. `made_by` names the run that wrote `new`.
    pub fn check(self, runner: &mut Runner<'_>, made_by: &str) -> Result<(), Error> {
        let list = runner.work_dir.at("differences");
        if self.run(runner, &list)? {
            return Ok(());
        }
        let root = self.root && !self.losses.contains(&Loss::Root);
        let mut found = Differences::read(&list, root, None)?;
        if let Some(implicit_dirs) = self.implicit_dirs.filter(|_| found.of_attributes) {
            found = Differences::read(&list, root, Some(implicit_dirs.paths(runner, self.old)?))?;
        }
        if !found.chosen.is_empty() {
            let chosen: Vec<&str> = found.chosen.into_iter().collect();
            let program = made_by.split(" (").next().unwrap_or(made_by);
            runner.note(format!(
                "{program}: directories that have no entry in the input differ in {}; each program chooses these itself.",
                chosen.join(", ")
            ));
        }
        match found.count {
            0 => Ok(()),
            count => {
                let differences = if count == 1 { "difference" } else { "differences" };
                let old = self.old.escaped();
                let new = self.new.escaped();
                let shown = found.shown.join("\n");
                Err(runner.wrong(format!("{made_by}: {count} {differences} between {old} and {new}:\n{shown}")))
            }
        }
    }

    /// Writes the differences to a list. Returns true if there are none.
    fn run(&self, runner: &mut Runner<'_>, list: &Path) -> Result<bool, Error> {
        let mut line = runner.packline().with(["diff", "--json"]);
        line = line.with(self.losses.iter().filter_map(|loss| loss.diff_option()));
        // Only root can change owners, so a tree unpacked by another user has that user as owner.
        if [self.old, self.new].iter().any(|path| path.is_dir()) && !rustix::process::geteuid().is_root() {
            line = line.with(["--no-owner"]);
        }
        line = line.with([self.old, self.new]).stdout(Stdout::File(list.to_path_buf())).status_1_is_a_result();
        Ok(runner.run_check(&line)?.success)
    }
}

/// A list of differences.
#[derive(Default)]
struct Differences {
    /// The number of differences that are errors.
    count: u64,
    /// The first of these differences.
    shown: Vec<String>,
    /// Whether some differences are of attributes in [`CHOSEN`].
    of_attributes: bool,
    /// The attributes of implicit directories that differ.
    chosen: BTreeSet<&'static str>,
}

impl Differences {
    fn read(list: &Path, root: bool, implicit_dirs: Option<&BTreeSet<String>>) -> Result<Differences, Error> {
        let mut found = Differences::default();
        for line in lines_of(list)? {
            let (line, difference) = line?;
            if !root && difference["path"] == "." && difference["difference"].is_string() {
                continue;
            }
            let chosen = CHOSEN.into_iter().find(|name| difference["difference"] == *name);
            let implicit = implicit_dirs.is_some_and(|paths| paths.contains(&path_of(&difference)));
            if let Some(name) = chosen.filter(|_| implicit) {
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
}

/// Returns the paths in a list that have differences of a kind.
///
/// # Errors
/// Returns an error if the list cannot be read.
pub fn paths_of(list: &Path, kind: &str) -> Result<BTreeSet<String>, Error> {
    let path = |line: Result<(String, Value), Error>| match line {
        Ok((_, difference)) => (difference["difference"] == kind).then(|| Ok(path_of(&difference))),
        Err(error) => Some(Err(error)),
    };
    lines_of(list)?.filter_map(path).collect()
}

/// Returns the lines of a list, each with its JSON object.
fn lines_of(list: &Path) -> Result<impl Iterator<Item = Result<(String, Value), Error>>, Error> {
    let failed = |cause| Error::file("read", list, &cause);
    let lines = BufReader::new(File::open(list).map_err(failed)?).lines();
    Ok(lines.map(move |line| {
        line.map(|line| (line.clone(), serde_json::from_str(&line).unwrap_or_default())).map_err(failed)
    }))
}

/// Returns a unique path of a difference. A path that is not UTF-8 has a hexadecimal part.
fn path_of(difference: &Value) -> String {
    let part = |key: &str| difference[key].as_str().unwrap_or_default().to_owned();
    part("path") + "\0" + &part("path_hex")
}

/// An owner that no entry has.
const OWNER: &str = "uid=4294967294";

/// The implicit directories of a tar, found on first use.
pub struct ImplicitDirs {
    tar: PathBuf,
    paths: Option<BTreeSet<String>>,
}

impl ImplicitDirs {
    pub fn of(tar: &Path) -> ImplicitDirs {
        ImplicitDirs { tar: tar.to_path_buf(), paths: None }
    }

    /// Returns the paths. The tar is packed with another default owner than `image`: a directory whose owner differs has no entry. Other
    /// processes do this, so that the peak memory of this process stays small.
    ///
    /// # Errors
    /// Returns an error if the tar cannot be packed again.
    pub fn paths(&mut self, runner: &mut Runner<'_>, image: &Path) -> Result<&BTreeSet<String>, Error> {
        let paths = match self.paths.take() {
            Some(known) => known,
            None => self.find(runner, image)?,
        };
        Ok(self.paths.insert(paths))
    }

    fn find(&self, runner: &mut Runner<'_>, image: &Path) -> Result<BTreeSet<String>, Error> {
        let other = runner.work_dir.at("owners.sqfs");
        let list = runner.work_dir.at("owners");
        let pack = runner.packline().with(["tar2sqfs", "-q", "-f", "-c", "lz4", "--defaults", OWNER]).with([&other]);
        runner.run_check(&pack.stdin(&self.tar))?;
        let diff = runner.packline().with(["diff", "--json", "--no-contents"]).with([image, &other]);
        runner.run_check(&diff.stdout(Stdout::File(list.clone())).status_1_is_a_result())?;
        remove(&other)?;
        paths_of(&list, "owner")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_attributes_of_the_root_only_on_request() {
        let top = tempfile::tempdir().unwrap();
        let list = top.path().join("list");
        let lines: Vec<String> =
            (0..7).map(|number| format!(r#"{{"difference":"mode","path":"f{number}"}}"#)).collect();
        std::fs::write(&list, format!("{{\"difference\":\"mode\",\"path\":\".\"}}\n{}\n", lines.join("\n"))).unwrap();
        assert_eq!(Differences::read(&list, true, None).unwrap().count, 8);
        let found = Differences::read(&list, false, None).unwrap();
        assert_eq!((found.count, found.shown.len(), found.shown[0].contains("f0")), (7, 5, true));
    }

    #[test]
    fn ignores_only_attributes_of_implicit_directories() {
        let top = tempfile::tempdir().unwrap();
        let list = top.path().join("list");
        let own = top.path().join("own");
        std::fs::write(&own, "{\"difference\":\"owner\",\"path\":\"d\"}\n").unwrap();
        let paths = paths_of(&own, "owner").unwrap();
        let line = |what: &str, path: &str| format!("{{\"difference\":\"{what}\",\"path\":\"{path}\"}}\n");
        std::fs::write(&list, line("mtime", "d") + &line("mode", "d")).unwrap();
        assert!(Differences::read(&list, true, None).unwrap().of_attributes);
        let found = Differences::read(&list, true, Some(&paths)).unwrap();
        assert_eq!((found.count, found.chosen.into_iter().collect::<Vec<_>>()), (0, vec!["mode", "mtime"]));
        std::fs::write(&list, line("mtime", "d/e") + &line("type", "d") + &line("xattrs", "d")).unwrap();
        let found = Differences::read(&list, true, Some(&paths)).unwrap();
        assert_eq!((found.count, found.chosen.len()), (3, 0));
    }
}
