//! The directories of a tar that have no entry of their own: each program chooses their attributes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::check::paths_of;
use super::contest::Arena;
use super::line::Printed;
use super::scratch::clear;
use crate::failure::Failure;

/// An owner that no entry is expected to have.
const OWNER: &str = "uid=4294967294";

/// Finds these directories when they are first asked for.
pub struct Unlisted {
    tar: PathBuf,
    paths: Option<BTreeSet<String>>,
}

impl Unlisted {
    /// Those of a tar.
    pub fn of(tar: &Path) -> Unlisted {
        Unlisted { tar: tar.to_path_buf(), paths: None }
    }

    /// Their paths, found by packing the tar with another default owner than `image` was packed with: what then has another
    /// owner has no entry. In processes of their own, as all that takes memory.
    ///
    /// # Errors
    /// The tar cannot be packed again.
    pub fn paths(&mut self, arena: &mut Arena<'_>, image: &Path) -> Result<&BTreeSet<String>, Failure> {
        let paths = match self.paths.take() {
            Some(known) => known,
            None => self.find(arena, image)?,
        };
        Ok(self.paths.insert(paths))
    }

    fn find(&self, arena: &mut Arena<'_>, image: &Path) -> Result<BTreeSet<String>, Failure> {
        let (other, list) = (arena.scratch.at("owners.sqfs"), arena.scratch.at("owners"));
        let line = arena.ours().with(["tar2sqfs", "-q", "-f", "-c", "lz4", "--defaults", OWNER]).with([&other]);
        arena.help(&line.reading(&self.tar))?;
        let line = arena.ours().with(["diff", "--json", "--no-contents"]).with([image, &other]);
        let mut line = line.printing(Printed::To(list.clone()));
        line.one_is_an_answer = true;
        arena.help(&line)?;
        clear(&other)?;
        paths_of(&list, "owner")
    }
}
