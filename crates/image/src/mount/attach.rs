//! Mounts on a directory and unmounts. Uses mount(2) where that is allowed, and otherwise fusermount, which is set-uid root.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::{MountRequest, helper, refused};
use crate::Error;

const DEVICE: &str = "/dev/fuse";
/// Suffix after `fuse.` in the type that mount(8) shows, by default.
pub(super) const SUBTYPE: &[u8] = b"packline";

/// A connection to the kernel that is mounted, but not served yet.
pub(super) struct Attached {
    device: OwnedFd,
    unmounter: Unmounter,
}

/// Unmounts a mount. Clones refer to the same mount.
#[derive(Debug, Clone)]
pub struct Unmounter {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// `None` for a mount of another process.
    point: Option<PathBuf>,
    /// Shows whether it is still mounted. Closed with the mount, because the kernel ends the connection only when no process has the device.
    device: Mutex<Option<OwnedFd>>,
    /// fusermount waits until it is closed, and then unmounts.
    _guard: Option<UnixStream>,
}

/// Mounts. `source`: the source that mount(8) shows; `answer`: maximum bytes of a read request.
pub(super) fn attach(request: &MountRequest, source: &[u8], answer: u64) -> Result<Attached, Error> {
    if let Some(device) = &request.device {
        let device = device.try_clone().map_err(|cause| refused(&request.point, cause))?;
        return attached(request, None, (device, None));
    }
    let point = mount_point(&request.point)?;
    check_access(request)?;
    let taken = if request.auto_unmount {
        through_helper(request, &point, source, answer)
    } else {
        by_any_means(request, &point, source, answer)
    };
    let taken = taken.map_err(|cause| refused(&request.point, cause))?;
    attached(request, Some(point), taken)
}

fn attached(request: &MountRequest, point: Option<PathBuf>, taken: DeviceAndGuard) -> Result<Attached, Error> {
    let (device, guard) = taken;
    let watched = device.try_clone().map_err(|cause| refused(&request.point, cause))?;
    let shared = Shared { point, device: Mutex::new(Some(watched)), _guard: guard };
    Ok(Attached { device, unmounter: Unmounter { shared: Arc::new(shared) } })
}

impl Attached {
    pub(super) fn unmounter(&self) -> Unmounter {
        self.unmounter.clone()
    }

    /// Returns the mount point, if the mount is ours.
    pub(super) fn point(&self) -> Option<&Path> {
        self.unmounter.point()
    }

    pub(super) fn into_device(self) -> OwnedFd {
        self.device
    }
}

/// fusermount checks as root whether a mount is dead, but root may not enter a mount that only one user may use.
fn check_access(request: &MountRequest) -> Result<(), Error> {
    if request.allow_root && request.allow_other {
        let what = "allow-root and allow-other exclude each other".to_string();
        return Err(Error::Request { what, expected: "one of them".to_string() });
    }
    let pretended = rustix::process::geteuid().as_raw();
    let user = kernel_user().unwrap_or(pretended);
    if request.allow_root && user != pretended {
        let what =
            "allow-root would lock out the real user, because fakeroot and pseudo show another user; use allow-other, \
                    or run without fakeroot and pseudo"
                .to_string();
        return Err(Error::Request { what, expected: String::new() });
    }
    if !request.auto_unmount || lets_others_in(request) || user == 0 {
        return Ok(());
    }
    let what = "automatic unmounting of a user's mount works only if other users may access it; use allow-other, too";
    Err(Error::Request { what: what.to_string(), expected: String::new() })
}

/// Returns the effective user that the kernel knows. fakeroot and pseudo replace it in libc.
fn kernel_user() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    numbers.split_whitespace().nth(1)?.parse().ok()
}

/// Whether the kernel must let other users in: it lets root in only together with all others. The session then rejects the others.
fn lets_others_in(request: &MountRequest) -> bool {
    request.allow_other || request.allow_root
}

fn mount_point(path: &Path) -> Result<PathBuf, Error> {
    let failed = |cause| Error::Output { path: path.to_path_buf(), action: "cannot be used as a mount point", cause };
    if !fs::metadata(path).map_err(failed)?.is_dir() {
        let what = "not a directory".to_string();
        let expected = "a directory to mount on".to_string();
        return Err(Error::Target { path: path.to_path_buf(), what, expected });
    }
    fs::canonicalize(path).map_err(failed)
}

type DeviceAndGuard = (OwnedFd, Option<UnixStream>);

fn by_any_means(request: &MountRequest, point: &Path, source: &[u8], answer: u64) -> io::Result<DeviceAndGuard> {
    match directly(request, point, source, answer) {
        Ok(device) => Ok((device, None)),
        // A user who may not mount, or may not open the device, can use fusermount.
        Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => through_helper(request, point, source, answer),
        Err(cause) => Err(cause),
    }
}

fn directly(request: &MountRequest, point: &Path, source: &[u8], answer: u64) -> io::Result<OwnedFd> {
    let open = File::options().read(true).write(true).open(DEVICE);
    let device = open.map_err(|cause| io::Error::new(cause.kind(), format!("{DEVICE}: {cause}")))?;
    let uid = rustix::process::getuid().as_raw();
    let gid = rustix::process::getgid().as_raw();
    let mut data = format!("fd={},rootmode=40000,user_id={uid},group_id={gid},max_read={answer}", device.as_raw_fd(),);
    let words = [(request.check_permissions, ",default_permissions"), (lets_others_in(request), ",allow_other")];
    words.into_iter().filter(|(wanted, _)| *wanted).for_each(|(_, word)| data.push_str(word));
    let data = CString::new(data)?;
    let kind = type_name(&request.subtype);
    rustix::mount::mount(source, point, kind.as_slice(), request.flags.kernel(), data.as_c_str())?;
    Ok(device.into())
}

fn through_helper(request: &MountRequest, point: &Path, source: &[u8], answer: u64) -> io::Result<DeviceAndGuard> {
    let mut options = format!("{},max_read={answer},fsname=", request.flags.words()).into_bytes();
    options.extend_from_slice(&helper::escaped(source));
    if !request.subtype.is_empty() {
        options.extend_from_slice(b",subtype=");
        options.extend_from_slice(&helper::escaped(&request.subtype));
    }
    for (wanted, word) in [
        (request.check_permissions, ",default_permissions"),
        (lets_others_in(request), ",allow_other"),
        (request.auto_unmount, ",auto_unmount"),
    ] {
        options.extend_from_slice(if wanted { word.as_bytes() } else { b"" });
    }
    helper::mount(&options, point, request.auto_unmount)
}

/// Returns the type that mount(8) shows.
pub(super) fn type_name(subtype: &[u8]) -> Vec<u8> {
    if subtype.is_empty() { b"fuse".to_vec() } else { [b"fuse.", subtype].concat() }
}

/// Returns the source that mount(8) shows by default.
pub(super) fn source_name(image: &Path) -> Vec<u8> {
    let path = fs::canonicalize(image).unwrap_or_else(|_| image.to_path_buf());
    path.as_os_str().as_bytes().to_vec()
}

impl Unmounter {
    pub(super) fn point(&self) -> Option<&Path> {
        self.shared.point.as_deref()
    }

    /// Unmounts, unless that was done already. Nobody can enter the mount afterwards; processes inside the mount stay until the process ends. A
    /// mount of another process answers with errors after this process ends.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn unmount(&self) -> io::Result<()> {
        let mut device = self.shared.device.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(watched) = device.take() else { return Ok(()) };
        let Some(point) = self.point().filter(|_| !is_gone(watched.as_fd())) else { return Ok(()) };
        match rustix::mount::unmount(point, UnmountFlags::DETACH) {
            Err(Errno::PERM) => helper::unmount(point),
            outcome => outcome.map_err(io::Error::from),
        }
    }
}

/// Whether the mount no longer exists: the kernel then reports an error on its device. Checked before unmounting, so that a later mount on the same
/// directory is not removed.
fn is_gone(device: BorrowedFd<'_>) -> bool {
    let mut watched = [PollFd::new(&device, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut watched, Some(&now)) {
        Ok(_) => watched[0].revents().contains(PollFlags::ERR),
        Err(_) => false,
    }
}
