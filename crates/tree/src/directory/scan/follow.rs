//! Symbolic links that the walk follows.
//!
//! The directories from the root to a link are known, and a link to one of them is not followed, so the walk always ends. Links
//! between neighbouring directories can still multiply the entries, so entries below links are counted.

use std::os::fd::{AsFd, OwnedFd};

use packline_runtime::escape::Escape;
use rustix::fs::Stat;

use super::{Scanner, is_directory};
use crate::directory::fault::{Fault, Tried};
use crate::directory::found::at_flags;
use crate::directory::xattr::join;
use crate::directory::{FOLLOWED_MOST, NotFollowed, Symlinks, stat};

impl Scanner {
    /// The attributes of the target of the symbolic link at `path`. `None`, with a warning, if it cannot be followed.
    pub(super) fn follow(&mut self, directory: &OwnedFd, name_start: usize) -> Option<Stat> {
        let found = match self.entered {
            0 => stat_at(directory, &self.path[name_start..], true),
            // By its path, because the system limits the number of links in a path, in whatever way it is opened later.
            _ => rustix::fs::stat(join(&self.root, &self.path)).tried("cannot examine"),
        };
        let why = match found {
            Ok(stat) if is_directory(&stat) && self.is_in(stat::id(&stat)) => {
                "it leads to a directory that it is in".into()
            }
            Ok(stat) => return Some(stat),
            Err(Fault::Os(_, errno)) => std::io::Error::from(errno).to_string(),
            Err(_) => "it cannot be examined".into(),
        };
        let kept = self.options.symlinks == Symlinks::Followed(NotFollowed::Kept);
        let end = if kept { "kept as a symbolic link" } else { "left out" };
        let link = join(&self.root, &self.path).escaped();
        self.warnings.push(format!("{link}: cannot follow the symbolic link: {why}; {end}"));
        None
    }

    /// Whether the entry at `path` is in a directory.
    fn is_in(&self, directory: stat::FileId) -> bool {
        self.options.above.contains(&directory) || self.stack.iter().any(|frame| frame.id == directory)
    }

    /// Counts the entry at `path`, if it is below a link.
    pub(super) fn count_multiplied(&mut self) -> Result<(), Fault> {
        self.multiplied += u64::from(self.entered > 0);
        if self.multiplied > FOLLOWED_MOST { Err(Fault::Multiplied) } else { Ok(()) }
    }
}

/// The attributes of `name` in a directory. If it is a symbolic link and `followed`, the attributes of its target.
pub(super) fn stat_at(directory: impl AsFd, name: &[u8], followed: bool) -> Result<Stat, Fault> {
    rustix::fs::statat(directory, name, at_flags(followed)).tried("cannot examine")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DirectoryOptions;

    /// Seven directories, each with links to the six others: 13,699 paths that enter no directory twice.
    #[test]
    fn rejects_links_that_multiply_the_entries() {
        let temp = tempfile::tempdir().unwrap();
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        for name in names {
            std::fs::create_dir(temp.path().join(name)).unwrap();
            for other in names {
                std::os::unix::fs::symlink(format!("../{other}"), temp.path().join(name).join(other)).unwrap();
            }
        }
        let options = DirectoryOptions { symlinks: Symlinks::Followed(NotFollowed::LeftOut), ..Default::default() };
        let walk = |multiplied: u64| {
            let mut scanner = Scanner::open(temp.path(), options.clone()).unwrap();
            scanner.multiplied = multiplied;
            let mut count = 0;
            while scanner.next().map_err(|error| error.to_string())?.is_some() {
                count += 1;
            }
            Ok::<_, String>(count)
        };
        assert_eq!(walk(0), Ok(1 + 13_699));
        assert!(walk(FOLLOWED_MOST - 10_000).unwrap_err().contains("entries are below links to directories"));
    }
}
