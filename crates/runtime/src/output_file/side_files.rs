//! Files next to an output that belong to its content: recovery data, and the files of dm-verity.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::escape::Escape;
use crate::{FileStamp, Observer};

/// The endings of the hash tree, the root hash and its signature, for [`beside_image`].
const VERITY_ENDINGS: [&str; 3] = [".verity", ".roothash", ".roothash.p7s"];

/// The name of the recovery data of a file.
pub fn recovery_beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".recovery");
    name.into()
}

/// The name of a file of dm-verity next to an image: `ending` replaces `.raw`, or is added.
pub fn beside_image(image: &Path, ending: &str) -> PathBuf {
    let name = image.as_os_str().as_bytes();
    let stem = name.strip_suffix(b".raw").unwrap_or(name);
    OsString::from_vec([stem, ending.as_bytes()].concat()).into()
}

/// Warns that a side file does not belong to the new content.
pub fn warn_of_stale(side_file: &Path, observer: &mut dyn Observer) {
    let name = side_file.escaped();
    observer.warning(&format!("{name} belongs to the replaced file; remove it, or write it again"));
}

/// The side files of a file that is about to be replaced, with their state before.
#[derive(Debug, Default)]
pub(super) struct SideFiles(Vec<(PathBuf, FileStamp)>);

impl SideFiles {
    pub(super) fn of(path: &Path) -> SideFiles {
        let verity = VERITY_ENDINGS.iter().map(|ending| beside_image(path, ending));
        let names = verity.chain([recovery_beside(path)]).filter(|name| name.is_file());
        SideFiles(names.filter_map(|name| FileStamp::of_path(&name).ok().map(|stamp| (name, stamp))).collect())
    }

    /// Warns about each file that has not changed since then.
    pub(super) fn warn(&self, observer: &mut dyn Observer) {
        self.0.iter().filter(|(name, stamp)| stamp.is_at(name)).for_each(|(name, _)| warn_of_stale(name, observer));
    }
}
