//! The staging directory: a new destination is filled next to its final name, an existing one file by file.
//!
//! A destination that does not exist is created as `.NAME.packline-partial` in the same directory, locked, and renamed when it is complete. In a
//! directory that exists, each file is written in `.packline-partial` at its top and renamed into place. A killed run leaves a directory of these
//! names that is not locked; the next run removes it. A directory with such a leftover counts as empty, because the killed run wrote everything
//! else in it.

use std::cell::Cell;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_runtime::{Exists, checksum, end_of_links};
use packline_tree::destination::{Directory, Refusal, WritableDirectory, remove_tree};
use rustix::io::Errno;

use crate::{Error, Observer, Temporaries};

/// Name of a staging directory inside a destination. Next to a destination, the destination's name is between the dot and the suffix.
const STAGING: &str = ".packline-partial";
/// Longest name of a directory entry in bytes.
const NAME_MOST: usize = 255;
/// Attempts to remove a leftover before assuming that another run creates them.
const LEFTOVERS_MOST: usize = 4;

/// A destination being filled.
#[derive(Debug)]
pub struct StagingDir {
    display_path: PathBuf,
    /// The path of the staging directory, registered as temporary.
    staging_path: PathBuf,
    staging: Arc<Directory>,
    way: Placement,
    /// The original permissions of an existing destination, if they are extended while files are written.
    before: Cell<Option<u16>>,
    temporaries: Temporaries,
    done: bool,
}

#[derive(Debug)]
enum Placement {
    /// The staging directory is renamed to the destination.
    Beside { parent: Directory, staging: Vec<u8>, name: Vec<u8> },
    /// Files are renamed from the staging directory into the destination.
    Into { root: Directory },
}

impl StagingDir {
    /// Examines `path` and creates the staging directory.
    ///
    /// # Errors
    /// [`Error::Target`] if the destination is unsuitable; [`Error::Exists`] if it has entries and `force` is off; [`Error::Output`] if a system
    /// call fails.
    pub fn open(path: &Path, force: bool, temporaries: &Temporaries) -> Result<StagingDir, Error> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => StagingDir::into(path, force, temporaries),
            Ok(_) => Err(unsuitable(path, "is not a directory", "a directory, or a name that is not taken")),
            Err(cause) if cause.kind() == ErrorKind::NotFound => StagingDir::beside(path, temporaries),
            Err(cause) => Err(Error::Output { path: path.to_path_buf(), action: "cannot examine it", cause }),
        }
    }

    fn beside(path: &Path, temporaries: &Temporaries) -> Result<StagingDir, Error> {
        let end = end_of_links(path)?;
        let name = end.file_name().ok_or_else(|| unsuitable(path, "is not a name", "the name of a directory"))?;
        let name = name.as_encoded_bytes().to_vec();
        let above = end.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = Directory::root(above).map_err(|refusal| refused(above, refusal))?;
        let staging = staging_name(&name);
        let staging_path = super::dir_table::below(above, &staging);
        let handle = make_staging(&parent, &staging, &staging_path, temporaries)?;
        let way = Placement::Beside { parent, staging, name };
        Ok(StagingDir::new(path, staging_path, handle, way, temporaries))
    }

    fn into(path: &Path, force: bool, temporaries: &Temporaries) -> Result<StagingDir, Error> {
        let opened = Directory::root_writable(path).map_err(|refusal| refused(path, refusal))?;
        let WritableDirectory { directory: root, before } = opened;
        let staging_path = path.join(STAGING);
        let handle = match staging_in(&root, path, force, &staging_path, temporaries) {
            Ok(handle) => handle,
            Err(error) => {
                restore_mode(&root, before);
                return Err(error);
            }
        };
        let staging_dir = StagingDir::new(path, staging_path, handle, Placement::Into { root }, temporaries);
        staging_dir.before.set(before);
        Ok(staging_dir)
    }

    fn new(
        display_path: &Path,
        staging_path: PathBuf,
        staging: Directory,
        way: Placement,
        temporaries: &Temporaries,
    ) -> StagingDir {
        let display_path = display_path.to_path_buf();
        let staging = Arc::new(staging);
        let before = Cell::new(None);
        let temporaries = temporaries.clone();
        StagingDir { display_path, staging_path, staging, way, before, temporaries, done: false }
    }

    /// Opens the directory that becomes the tree's root.
    pub fn root(&self) -> Result<Directory, Error> {
        let of = match &self.way {
            Placement::Beside { parent, staging, .. } => parent.open(staging),
            Placement::Into { root } => root.again(),
        };
        of.map_err(|refusal| refused(&self.display_path, refusal))
    }

    /// Returns the directory where files are created before they are renamed into place; `None` if they are created in place.
    pub fn staging(&self) -> Option<Arc<Directory>> {
        matches!(self.way, Placement::Into { .. }).then(|| self.staging.clone())
    }

    /// Whether a name in the root is the staging directory's.
    pub fn reserves(&self, name: &[u8]) -> bool {
        self.reserved() == Some(name)
    }

    /// The name in the root that the staging directory has; `None` if it is not in the root.
    pub fn reserved(&self) -> Option<&'static [u8]> {
        matches!(self.way, Placement::Into { .. }).then_some(STAGING.as_bytes())
    }

    /// Returns an error of the destination itself.
    pub fn refused(&self, refusal: Refusal) -> Error {
        refused(&self.display_path, refusal)
    }

    /// Removes the staging directory from an existing destination and restores the permissions of the destination, so that the root can then get
    /// its attributes.
    ///
    /// # Errors
    /// [`Error::Output`] if a system call fails.
    pub fn clear_away(&self) -> Result<(), Error> {
        let Placement::Into { root } = &self.way else { return Ok(()) };
        let removed = self.temporaries.settle(&self.staging_path, |_| root.remove_directory(STAGING.as_bytes()));
        removed.map_err(|refusal| self.refused(refusal))?;
        restore_mode(root, self.before.take());
        Ok(())
    }

    /// Renames a tree to its final name. If the new name cannot be flushed, the observer gets a warning.
    ///
    /// # Errors
    /// [`Error::Output`] if a system call fails, or if the name now exists.
    pub fn finish(mut self, sync: bool, observer: &mut dyn Observer) -> Result<(), Error> {
        if sync {
            observer.syncing();
        }
        self.settle(sync).map_err(|refusal| refused(&self.display_path, refusal))?;
        self.done = true;
        if let (true, Placement::Beside { parent, .. }) = (sync, &self.way)
            && let Err(refusal) = parent.sync_file_system()
        {
            observer.unsynced(&self.display_path, &refusal.cause());
        }
        Ok(())
    }

    fn settle(&self, sync: bool) -> Result<(), Refusal> {
        if sync {
            self.staging.sync_file_system()?;
        }
        let Placement::Beside { parent, staging, name } = &self.way else { return Ok(()) };
        self.temporaries.settle(&self.staging_path, |_| parent.rename_new(staging, parent, name))
    }
}

impl Drop for StagingDir {
    fn drop(&mut self) {
        if !self.done {
            self.temporaries.remove(&self.staging_path);
        }
        if let Placement::Into { root } = &self.way {
            restore_mode(root, self.before.take());
        }
    }
}

/// Restores the permissions of a directory, if they were extended. The directory is also usable if that fails.
fn restore_mode(directory: &Directory, before: Option<u16>) {
    let _: Option<Result<(), Refusal>> = before.map(|mode| directory.attributes().set_mode(mode));
}

/// Creates the staging directory in an existing destination, which must be empty unless `force` is on.
fn staging_in(
    root: &Directory,
    path: &Path,
    force: bool,
    staging_path: &Path,
    temporaries: &Temporaries,
) -> Result<Directory, Error> {
    let leftover = fs::symlink_metadata(staging_path).is_ok();
    let empty = root.is_empty_but(STAGING.as_bytes()).map_err(|refusal| refused(path, refusal))?;
    if !force && !leftover && !empty {
        return Err(Exists::Directory(path.to_path_buf()).into());
    }
    make_staging(root, STAGING.as_bytes(), staging_path, temporaries)
}

/// Returns `.NAME.packline-partial`. A name that is too long is shortened, with a checksum of the complete name.
fn staging_name(name: &[u8]) -> Vec<u8> {
    let whole = [b".", name, STAGING.as_bytes()].concat();
    if whole.len() <= NAME_MOST {
        return whole;
    }
    let sum = checksum(name);
    [b".", &name[..200], format!("-{sum:016x}{STAGING}").as_bytes()].concat()
}

/// Creates and locks a staging directory. Replaces the leftover of a killed run.
fn make_staging(parent: &Directory, name: &[u8], path: &Path, list: &Temporaries) -> Result<Directory, Error> {
    for _ in 0..LEFTOVERS_MOST {
        match list.create_tree(path, remove_tree, || parent.make(name)) {
            Err(Refusal::Os(_, Errno::EXIST)) => remove_leftover(parent, name, path)?,
            Err(refusal) => return Err(refused(path, refusal)),
            Ok(made) => match is_ours(parent, name, &made) {
                Ok(true) => return Ok(made),
                // Another run locked the directory between the creation and our lock: it must not be removed.
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

/// Whether a directory could be locked, and still has its name.
fn is_ours(parent: &Directory, name: &[u8], made: &Directory) -> Result<bool, Refusal> {
    // On file systems without locks the user must not start two runs at once.
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
            return Err(unsuitable(
                path,
                "exists and is not a directory",
                "no such file, or a directory left by a killed run",
            ));
        }
        other => other.map_err(|refusal| refused(path, refusal))?,
    };
    let owner = leftover.owner().map_err(|refusal| refused(path, refusal))?;
    if owner != rustix::process::geteuid().as_raw() {
        let what = format!("exists and belongs to user {owner}");
        return Err(unsuitable(path, &what, "no such file, or a directory left by a killed run of the same user"));
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

    fn open(path: &Path, force: bool) -> Result<StagingDir, Error> {
        StagingDir::open(path, force, &Temporaries::default())
    }

    #[test]
    fn a_new_destination_has_its_name_only_in_the_end() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("new");
        let staging_dir = open(&path, false).unwrap();
        staging_dir.root().unwrap().create(b"file").unwrap();
        assert_eq!(names(top.path()), [".new.packline-partial"]);
        assert!(staging_dir.staging().is_none() && !staging_dir.reserves(b".packline-partial"));
        staging_dir.finish(true, &mut Unobserved).unwrap();
        assert_eq!((names(top.path()), names(&path)), (vec!["new".to_string()], vec!["file".to_string()]));
    }

    #[test]
    fn what_is_given_up_leaves_nothing() {
        let top = tempfile::tempdir().unwrap();
        let staging_dir = open(&top.path().join("new"), false).unwrap();
        staging_dir.root().unwrap().make(b"d").unwrap().create(b"file").unwrap();
        drop(staging_dir);
        assert_eq!(names(top.path()), Vec::<String>::new());
        let staging_dir = open(top.path(), false).unwrap();
        staging_dir.staging().unwrap().create(b"file").unwrap();
        assert!(staging_dir.reserves(b".packline-partial"));
        drop(staging_dir);
        assert_eq!(names(top.path()), Vec::<String>::new());
    }

    #[test]
    fn a_leftover_is_removed_and_one_in_use_is_not() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("new");
        let leftover = top.path().join(".new.packline-partial");
        fs::create_dir_all(leftover.join("a/b")).unwrap();
        let staging_dir = open(&path, false).unwrap();
        assert_eq!(names(&leftover), Vec::<String>::new());
        let second = open(&path, false).unwrap_err().to_string();
        assert!(second.contains("in use"), "{second}");
        staging_dir.root().unwrap().create(b"still there").unwrap();
        staging_dir.finish(false, &mut Unobserved).unwrap();
        assert_eq!(names(&path), ["still there"]);
    }

    #[test]
    fn a_planted_staging_directory_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let outside = top.path().join("outside");
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, top.path().join(".new.packline-partial")).unwrap();
        let error = open(&top.path().join("new"), false).unwrap_err().to_string();
        assert!(error.contains("exists and is not a directory"), "{error}");
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
            let staging_dir = open(top.path(), force).unwrap();
            staging_dir.clear_away().unwrap();
            staging_dir.finish(false, &mut Unobserved).unwrap();
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
        assert!(open(&file, true).unwrap_err().to_string().contains("is not a directory"));
        std::os::unix::fs::symlink("missing/new", top.path().join("dangling")).unwrap();
        assert!(open(&top.path().join("dangling"), true).unwrap_err().to_string().contains("missing/new: No such"));
        assert!(open(&top.path().join("missing/new"), false).is_err());
    }

    #[test]
    fn creates_the_directory_that_a_link_names() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("other")).unwrap();
        std::os::unix::fs::symlink("other/new/", top.path().join("link")).unwrap();
        let staging_dir = open(&top.path().join("link"), false).unwrap();
        staging_dir.finish(false, &mut Unobserved).unwrap();
        assert!(fs::symlink_metadata(top.path().join("other/new")).unwrap().is_dir());
        assert_eq!(names(&top.path().join("other")), ["new"]);
        assert_eq!(names(top.path()), ["link", "other"]);
    }

    #[test]
    fn a_new_entry_under_the_name_is_not_replaced() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("new");
        let staging_dir = open(&path, false).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(staging_dir.finish(false, &mut Unobserved).unwrap_err().to_string().contains("exists"));
        assert_eq!(names(top.path()), ["new"]);
    }

    #[test]
    fn long_names_get_short_staging_names() {
        let one = staging_name(&[b'a'; 255]);
        let other = staging_name(&[&[b'a'; 254][..], b"b"].concat());
        assert!(one != other && one.len() <= NAME_MOST);
        assert_eq!(staging_name(b"x"), b".x.packline-partial");
    }
}
