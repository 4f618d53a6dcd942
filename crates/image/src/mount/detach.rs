//! Unmounts a mount whose requests another process answers.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::attach::{SUBTYPE, type_name};
use super::helper;
use crate::Error;

/// The mounts of this process's namespace.
const MOUNTS: &str = "/proc/self/mountinfo";

/// Unmounts an image that [`super::mount`] mounted on a directory.
///
/// # Errors
/// [`Error::Target`] if packline has no image mounted there, [`Error::Output`] if the system call fails, for example while a process uses the
/// mount.
pub fn unmount(point: &Path) -> Result<(), Error> {
    let failed = |cause| helper::failed(point, "cannot unmount", cause);
    // A mount whose process was killed answers no path look-up, so only its parent is resolved.
    let resolved = resolved(point).map_err(failed)?;
    let mounts = std::fs::read(MOUNTS).map_err(failed)?;
    if !is_ours(&mounts, &resolved) {
        let what = "packline has no image mounted here".to_string();
        let expected = "a directory of packline mount".into();
        return Err(Error::Target { path: point.to_path_buf(), what, expected });
    }
    match rustix::mount::unmount(&resolved, UnmountFlags::NOFOLLOW) {
        Err(Errno::PERM) => helper::unmount_idle(&resolved).map_err(failed),
        outcome => outcome.map_err(|errno| failed(errno.into())),
    }
}

fn resolved(point: &Path) -> io::Result<PathBuf> {
    match point.canonicalize() {
        Err(cause) if cause.raw_os_error() == Some(Errno::NOTCONN.raw_os_error()) => {
            let parent = point.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let name = point.file_name().ok_or(cause)?;
            Ok(parent.canonicalize()?.join(name))
        }
        outcome => outcome,
    }
}

/// A line of the table of mounts.
struct Mount<'m> {
    /// `MAJOR:MINOR`.
    device: &'m [u8],
    kind: &'m [u8],
}

/// Returns the topmost mount on a directory. Fields as in proc_pid_mountinfo(5): the third is the device, the fifth the mount point, and the one
/// after ` - ` the type.
fn topmost<'m>(mounts: &'m [u8], point: &Path) -> Option<Mount<'m>> {
    let mut found = mounts.split(|&byte| byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|&byte| byte == b' ').skip(2);
        let device = fields.next()?;
        let on = unescaped(fields.nth(1)?);
        let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
        (on == point).then_some(Mount { device, kind })
    });
    found.next_back()
}

/// Whether packline made the topmost mount on a directory.
fn is_ours(mounts: &[u8], point: &Path) -> bool {
    topmost(mounts, point).is_some_and(|mount| mount.kind == type_name(SUBTYPE))
}

/// Returns the device of the topmost mount on a directory, as `MAJOR:MINOR`.
pub(super) fn device_on(point: &Path) -> Option<String> {
    let mounts = std::fs::read(MOUNTS).ok()?;
    let mount = topmost(&mounts, point)?;
    String::from_utf8(mount.device.to_vec()).ok()
}

/// Decodes a path in which space, tab, newline and backslash are written as `\ooo`, octal.
fn unescaped(field: &[u8]) -> OsString {
    let mut path = Vec::new();
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                path.push(byte);
                rest = &after[3..];
            }
            None => {
                path.push(first);
                rest = after;
            }
        }
    }
    OsString::from_vec(path)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    const SAMPLE: &[u8] = b"36 35 98:0 / /mnt rw - ext4 /dev/sda rw\n\
        37 36 0:50 / /mnt/a\\040b ro shared:1 - fuse.packline /x.sqfs ro\n\
        38 36 0:51 / /mnt/c ro - fuse.packline /x.sqfs ro\n\
        39 36 0:52 / /mnt/c ro - tmpfs none ro\n";

    #[test]
    fn only_the_topmost_mount_counts_and_only_ours() {
        assert!(is_ours(SAMPLE, Path::new("/mnt/a b")));
        for other in ["/mnt", "/mnt/c", "/mnt/a", "/"] {
            assert!(!is_ours(SAMPLE, Path::new(other)), "{other}");
        }
    }

    #[test]
    fn the_topmost_mount_tells_the_device() {
        let device = |point: &str| topmost(SAMPLE, Path::new(point)).map(|mount| mount.device.to_vec());
        assert_eq!(device("/mnt/a b").as_deref(), Some(&b"0:50"[..]));
        assert_eq!(device("/mnt/c").as_deref(), Some(&b"0:52"[..]));
        assert_eq!(device("/mnt/a"), None);
    }

    #[test]
    fn octal_codes_are_bytes_and_all_else_is_kept() {
        assert_eq!(unescaped(b"a\\040\\134b\\9\\04"), OsStr::from_bytes(b"a \\b\\9\\04"));
    }
}
