//! The directories of a tar that have no entry. Each program chooses their attributes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::compare::tree_diff::paths_of;
use crate::programs::command_line::Stdout;
use crate::runs::runner::Runner;
use crate::runs::work_dir::remove;

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
