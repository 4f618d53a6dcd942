//! Where a tree is unpacked: beside its place until it is whole, or into a directory that is there, file by file.
//!
//! A destination that does not exist is made as `.NAME.packline-partial` beside it, locked, and renamed when it is whole.
//! In a directory that exists, each file is written in `.packline-partial` at its top and renamed into place. What a
//! killed run left under these names, and nobody locks, is removed by the next one; a directory with such a leftover counts
//! as empty, since what else is in it was put there by the run that was killed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_runtime::checksum;
use packline_tree::destination::{Directory, Refusal, remove_tree};
use rustix::io::Errno;

use crate::{Error, Observer, Temporaries};

/// What a staging directory is called, with the destination's name between dot and suffix if it stands beside it.
const STAGING: &str = ".packline-partial";
/// Longest name of a directory entry, bytes.
const NAME_MOST: usize = 255;
/// How often a leftover is removed before someone else must be making them.
const LEFTOVERS_MOST: usize = 4;

/// A destination being filled.
#[derive(Debug)]
pub struct Site {
    shown: PathBuf,
    /// The staging directory's path: listed as temporary.
    staging_path: PathBuf,
    staging: Arc<Directory>,
    way: Way,
    temporaries: Temporaries,
    done: bool,
}

#[derive(Debug)]
enum Way {
    /// The staging directory becomes the destination.
    Beside { parent: Directory, staging: Vec<u8>, name: Vec<u8> },
    /// Files are renamed from the staging directory into the destination.
    Into { root: Directory },
}

impl Site {
    /// Finds out what is under `path` and makes the staging directory.
    ///
    /// # Errors
    /// [`Error::Target`] if there is something that must not be unpacked to; [`Error::Output`] if the system refuses.
    pub fn open(path: &Path, force: bool, temporaries: &Temporaries) -> Result<Site, Error> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Site::into(path, force, temporaries),
            Ok(_) => Err(unsuitable(path, "is no directory", "a directory, or a name that is not taken")),
            Err(cause) if cause.kind() == ErrorKind::NotFound => Site::beside(path, temporaries),
            Err(cause) => Err(Error::Output { path: path.to_path_buf(), action: "cannot look at it", cause }),
        }
    }

    fn beside(path: &Path, temporaries: &Temporaries) -> Result<Site, Error> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(unsuitable(path, "is a link that leads nowhere", "a directory, or a name that is not taken"));
        }
        let name = path.file_name().ok_or_else(|| unsuitable(path, "is no name", "the name of a directory"))?;
        let name = name.as_encoded_bytes().to_vec();
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = Directory::root(above).map_err(|refusal| refused(above, refusal))?;
        let staging = staging_name(&name);
        let staging_path = super::ground::below(above, &staging);
        let handle = make_staging(&parent, &staging, &staging_path, temporaries)?;
        let way = Way::Beside { parent, staging, name };
        Ok(Site::new(path, staging_path, handle, way, temporaries))
    }

    fn into(path: &Path, force: bool, temporaries: &Temporaries) -> Result<Site, Error> {
        let root = Directory::root(path).map_err(|refusal| refused(path, refusal))?;
        let staging_path = path.join(STAGING);
        let leftover = fs::symlink_metadata(&staging_path).is_ok();
        let empty = root.is_empty_but(STAGING.as_bytes()).map_err(|refusal| refused(path, refusal))?;
        if !force && !leftover && !empty {
            return Err(unsuitable(path, "is not empty", "an empty directory, or --force to replace files in it"));
        }
        let handle = make_staging(&root, STAGING.as_bytes(), &staging_path, temporaries)?;
        Ok(Site::new(path, staging_path, handle, Way::Into { root }, temporaries))
    }

    fn new(shown: &Path, staging_path: PathBuf, staging: Directory, way: Way, temporaries: &Temporaries) -> Site {
        let (shown, staging) = (shown.to_path_buf(), Arc::new(staging));
        Site { shown, staging_path, staging, way, temporaries: temporaries.clone(), done: false }
    }

    /// The directory that becomes the tree's root, opened again.
    pub fn root(&self) -> Result<Directory, Error> {
        let of = match &self.way {
            Way::Beside { parent, staging, .. } => parent.open(staging),
            Way::Into { root } => root.again(),
        };
        of.map_err(|refusal| refused(&self.shown, refusal))
    }

    /// Where files are made before they are renamed into place; none if they are made in place.
    pub fn staging(&self) -> Option<Arc<Directory>> {
        matches!(self.way, Way::Into { .. }).then(|| self.staging.clone())
    }

    /// Whether a name in the root is needed for ourselves.
    pub fn reserves(&self, name: &[u8]) -> bool {
        matches!(self.way, Way::Into { .. }) && name == STAGING.as_bytes()
    }

    /// A refusal that concerns the destination itself.
    pub fn refused(&self, refusal: Refusal) -> Error {
        refused(&self.shown, refusal)
    }

    /// Removes the staging directory from a destination that was there: its root can then get the time it is to have.
    ///
    /// # Errors
    /// [`Error::Output`]: the system refuses.
    pub fn clear_away(&self) -> Result<(), Error> {
        let Way::Into { root } = &self.way else { return Ok(()) };
        let removed = self.temporaries.settle(&self.staging_path, |_| root.remove_directory(STAGING.as_bytes()));
        removed.map_err(|refusal| self.refused(refusal))
    }

    /// Gives a tree that was made beside its place its name. What goes wrong once it has it is a matter for the observer.
    ///
    /// # Errors
    /// [`Error::Output`]: the system refuses, or something has come to stand under the name meanwhile.
    pub fn finish(mut self, sync: bool, observer: &mut dyn Observer) -> Result<(), Error> {
        self.settle(sync).map_err(|refusal| refused(&self.shown, refusal))?;
        self.done = true;
        if let (true, Way::Beside { parent, .. }) = (sync, &self.way)
            && let Err(refusal) = parent.sync_file_system()
        {
            observer.unsynced(&self.shown, &refusal.cause());
        }
        Ok(())
    }

    fn settle(&self, sync: bool) -> Result<(), Refusal> {
        if sync {
            self.staging.sync_file_system()?;
        }
        let Way::Beside { parent, staging, name } = &self.way else { return Ok(()) };
        self.temporaries.settle(&self.staging_path, |_| parent.rename_new(staging, name))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if !self.done {
            self.temporaries.remove(&self.staging_path);
        }
    }
}

/// `.NAME.packline-partial`; a name too long for that is cut, and told from others by a checksum.
fn staging_name(name: &[u8]) -> Vec<u8> {
    let whole = [b".", name, STAGING.as_bytes()].concat();
    if whole.len() <= NAME_MOST {
        return whole;
    }
    let sum = checksum(name);
    [b".", &name[..200], format!("-{sum:016x}{STAGING}").as_bytes()].concat()
}

/// Makes and locks a staging directory, in place of one that a killed run left.
fn make_staging(parent: &Directory, name: &[u8], path: &Path, list: &Temporaries) -> Result<Directory, Error> {
    for _ in 0..LEFTOVERS_MOST {
        match list.create_tree(path, remove_tree, || parent.make(name)) {
            Err(Refusal::Os(_, Errno::EXIST)) => remove_leftover(parent, name, path)?,
            Err(refusal) => return Err(refused(path, refusal)),
            Ok(made) => match is_ours(parent, name, &made) {
                Ok(true) => return Ok(made),
                // Another run took it between our making and our locking it: it is not ours to remove.
                Ok(false) => {
                    let _: Result<(), Refusal> = list.settle(path, |_| Ok(()));
                    return Err(busy(path));
                }
                Err(refusal) => {
                    list.remove(path);
                    return Err(refused(path, refusal));
                }
            },
        }
    }
    Err(busy(path))
}

/// Whether a directory could be locked, and is still the one under its name.
fn is_ours(parent: &Directory, name: &[u8], made: &Directory) -> Result<bool, Refusal> {
    // On file systems without locks two runs at once are the user's to avoid.
    if !made.lock().unwrap_or(true) {
        return Ok(false);
    }
    match parent.open(name) {
        Ok(found) => Ok(found.id()? == made.id()?),
        Err(Refusal::Os(_, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => Ok(false),
        Err(refusal) => Err(refusal),
    }
}

fn remove_leftover(parent: &Directory, name: &[u8], path: &Path) -> Result<(), Error> {
    let leftover = match parent.open(name) {
        Err(Refusal::Os(_, Errno::NOENT)) => return Ok(()),
        Err(Refusal::Os(_, Errno::NOTDIR | Errno::LOOP)) => {
            return Err(unsuitable(path, "is in the way and no directory", "nothing there, or what a killed run left"));
        }
        other => other.map_err(|refusal| refused(path, refusal))?,
    };
    let owner = leftover.owner().map_err(|refusal| refused(path, refusal))?;
    if owner != rustix::process::geteuid().as_raw() {
        let what = format!("is in the way and belongs to user {owner}");
        return Err(unsuitable(path, &what, "nothing there, or what a killed run of the same user left"));
    }
    if !is_ours(parent, name, &leftover).map_err(|refusal| refused(path, refusal))? {
        return Err(busy(path));
    }
    parent.remove_tree(name).map_err(|refusal| refused(path, refusal))
}

fn busy(path: &Path) -> Error {
    unsuitable(path, "is in use: another run unpacks to the same place", "that one to end first")
}

fn unsuitable(path: &Path, what: &str, expected: &str) -> Error {
    Error::Target { path: path.to_path_buf(), what: what.to_string(), expected: expected.to_string() }
}

fn refused(path: &Path, refusal: Refusal) -> Error {
    Error::Output { path: path.to_path_buf(), action: refusal.action(), cause: refusal.cause() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_runtime::Unobserved;

    fn names(place: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn open(path: &Path, force: bool) -> Result<Site, Error> {
        Site::open(path, force, &Temporaries::default())
    }

    #[test]
    fn a_new_destination_has_its_name_only_in_the_end() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("new");
        let site = open(&path, false).unwrap();
        site.root().unwrap().create(b"file").unwrap();
        assert_eq!(names(top.path()), [".new.packline-partial"]);
        assert!(site.staging().is_none() && !site.reserves(b".packline-partial"));
        site.finish(true, &mut Unobserved).unwrap();
        assert_eq!((names(top.path()), names(&path)), (vec!["new".to_string()], vec!["file".to_string()]));
    }

    #[test]
    fn what_is_given_up_leaves_nothing() {
        let top = tempfile::tempdir().unwrap();
        let site = open(&top.path().join("new"), false).unwrap();
        site.root().unwrap().make(b"d").unwrap().create(b"file").unwrap();
        drop(site);
        assert_eq!(names(top.path()), Vec::<String>::new());
        let site = open(top.path(), false).unwrap();
        site.staging().unwrap().create(b"file").unwrap();
        assert!(site.reserves(b".packline-partial"));
        drop(site);
        assert_eq!(names(top.path()), Vec::<String>::new());
    }

    #[test]
    fn a_leftover_is_removed_and_one_in_use_is_not() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("new");
        let leftover = top.path().join(".new.packline-partial");
        fs::create_dir_all(leftover.join("a/b")).unwrap();
        let site = open(&path, false).unwrap();
        assert_eq!(names(&leftover), Vec::<String>::new());
        let second = open(&path, false).unwrap_err().to_string();
        assert!(second.contains("in use"), "{second}");
        site.root().unwrap().create(b"still there").unwrap();
        site.finish(false, &mut Unobserved).unwrap();
        assert_eq!(names(&path), ["still there"]);
    }

    #[test]
    fn a_planted_staging_directory_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let outside = top.path().join("outside");
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, top.path().join(".new.packline-partial")).unwrap();
        let error = open(&top.path().join("new"), false).unwrap_err().to_string();
        assert!(error.contains("in the way"), "{error}");
        assert!(outside.exists());
        if rustix::process::geteuid().is_root() {
            let planted = top.path().join(".other.packline-partial");
            fs::create_dir(&planted).unwrap();
            std::os::unix::fs::chown(&planted, Some(1234), None).unwrap();
            let error = open(&top.path().join("other"), false).unwrap_err().to_string();
            assert!(error.contains("belongs to user 1234"), "{error}");
        }
    }

    #[test]
    fn an_existing_directory_must_be_empty_or_forced_or_of_a_killed_run() {
        let top = tempfile::tempdir().unwrap();
        let put = |force| {
            let site = open(top.path(), force).unwrap();
            site.clear_away().unwrap();
            site.finish(false, &mut Unobserved).unwrap();
        };
        put(false);
        fs::write(top.path().join("file"), "").unwrap();
        assert!(open(top.path(), false).unwrap_err().to_string().contains("is not empty"));
        put(true);
        assert_eq!(names(top.path()), ["file"]);
        fs::create_dir_all(top.path().join(".packline-partial/x")).unwrap();
        put(false);
        assert_eq!(names(top.path()), ["file"]);
    }

    #[test]
    fn what_is_no_directory_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(open(&file, true).unwrap_err().to_string().contains("is no directory"));
        std::os::unix::fs::symlink("nowhere", top.path().join("dangling")).unwrap();
        assert!(open(&top.path().join("dangling"), true).unwrap_err().to_string().contains("leads nowhere"));
        assert!(open(&top.path().join("missing/new"), false).is_err());
    }

    #[test]
    fn something_that_appears_meanwhile_is_not_replaced() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("new");
        let site = open(&path, false).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(site.finish(false, &mut Unobserved).unwrap_err().to_string().contains("exists"));
        assert_eq!(names(top.path()), ["new"]);
    }

    #[test]
    fn long_names_get_short_staging_names() {
        let (one, other) = (staging_name(&[b'a'; 255]), staging_name(&[&[b'a'; 254][..], b"b"].concat()));
        assert!(one != other && one.len() <= NAME_MOST);
        assert_eq!(staging_name(b"x"), b".x.packline-partial");
    }
}
