//! Attributes that an output takes from the file that it is made from.

use std::fs::{File, FileTimes, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

/// Permission bits that are kept: not set-user-id and set-group-id.
const MODE: u32 = 0o777;

/// Owner, permissions and time. Without the privilege the owner stays.
pub(crate) fn set_attributes(file: &File, about: &Metadata) -> io::Result<()> {
    let _: io::Result<()> = fchown(file, Some(about.uid()), Some(about.gid()));
    file.set_permissions(Permissions::from_mode(about.mode() & MODE))?;
    file.set_times(FileTimes::new().set_accessed(about.accessed()?).set_modified(about.modified()?))
}
