//! fusermount, the program that mounts for users without the privilege.
//!
//! An environment variable names the descriptor of a socket, through which fusermount sends the open device. With `auto_unmount` fusermount runs
//! until the socket closes, and then unmounts.

use std::ffi::OsStr;
use std::io::{self, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use crate::Error;

/// Names under which the program is installed.
const NAMES: [&str; 2] = ["fusermount3", "fusermount"];
/// The variable that names the socket.
const SOCKET: &str = "_FUSE_COMMFD";
/// Maximum bytes of its error messages that are shown.
const SHOWN: u64 = 4000;

/// Mounts. Returns the device, and the socket on which fusermount waits if it `stays`.
pub(super) fn mount(options: &[u8], point: &Path, stays: bool) -> io::Result<(OwnedFd, Option<UnixStream>)> {
    let (ours, theirs) = UnixStream::pair()?;
    fcntl_setfd(&theirs, FdFlags::empty())?;
    let number = theirs.as_raw_fd().to_string();
    let options = OsStr::from_bytes(options);
    let mut child = start(|command| {
        command.arg("-o").arg(options).arg("--").arg(point).env(SOCKET, &number);
    })?;
    drop(theirs);
    match receive(&ours) {
        Ok(Some(device)) => {
            if stays {
                return Ok((device, Some(ours)));
            }
            drop(ours);
            child.wait()?;
            Ok((device, None))
        }
        Ok(None) => Err(explained(complaint(&mut child))),
        Err(cause) => Err(cause),
    }
}

/// Adds why the kernel rejects a mount of fusermount, if it does: fusermount prints only the system's error.
fn explained(complaint: io::Error) -> io::Error {
    let message = complaint.to_string();
    if !message.ends_with("Operation not permitted") {
        return complaint;
    }
    io::Error::other(format!(
        "{message}; fusermount may not mount: it is not set-user-ID root, or a container or no-new-privs takes its privileges \
         away"
    ))
}

/// Unmounts lazily.
pub(super) fn unmount(point: &Path) -> io::Result<()> {
    unmount_with(&["-u", "-z", "-q", "--"], point)
}

/// Unmounts unless a process uses it.
pub(super) fn unmount_idle(point: &Path) -> io::Result<()> {
    unmount_with(&["-u", "--"], point)
}

fn unmount_with(options: &[&str], point: &Path) -> io::Result<()> {
    let mut child = start(|command| {
        command.args(options).arg(point);
    })?;
    if child.wait()?.success() { Ok(()) } else { Err(complaint(&mut child)) }
}

/// Escapes a value for a list of options.
pub(super) fn escaped(value: &[u8]) -> Vec<u8> {
    value.iter().flat_map(|&byte| if matches!(byte, b',' | b'\\') { vec![b'\\', byte] } else { vec![byte] }).collect()
}

/// Returns the error of an action on a mount point, or of fusermount if it could not be started.
pub(super) fn failed(point: &Path, action: &'static str, cause: io::Error) -> Error {
    match cause.downcast::<NotStarted>() {
        Ok(NotStarted(cause)) => Error::Output {
            path: NAMES.join(" or ").into(),
            action: "cannot start the program that mounts for users",
            cause,
        },
        Err(cause) => Error::Output { path: point.to_path_buf(), action, cause },
    }
}

/// The source of an [`io::Error`] if the program could not be started under any of its names.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NotStarted(io::Error);

fn start(prepare: impl Fn(&mut Command)) -> io::Result<Child> {
    let mut refused = io::ErrorKind::NotFound.into();
    for name in NAMES {
        let mut command = Command::new(name);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        prepare(&mut command);
        match command.spawn() {
            // A failed search in PATH also has this error if a directory in PATH may not be entered.
            Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
                refused = cause;
            }
            started => return started,
        }
    }
    Err(io::Error::other(NotStarted(refused)))
}

fn complaint(child: &mut Child) -> io::Error {
    let mut message = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        let _: io::Result<usize> = stderr.take(SHOWN).read_to_end(&mut message);
    }
    let _: io::Result<std::process::ExitStatus> = child.wait();
    let message = String::from_utf8_lossy(&message);
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    io::Error::other(if lines.is_empty() { "fusermount failed".to_string() } else { lines.join("; ") })
}

/// Receives the descriptor that comes with the one byte of fusermount; `None` if fusermount closed the socket.
fn receive(socket: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0u8];
    let received = rustix::io::retry_on_intr(|| {
        recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)
    })?;
    if received.bytes == 0 {
        return Ok(None);
    }
    let descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(rights) => Some(rights),
        _ => None,
    });
    Ok(descriptors.flatten().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explains_only_missing_privileges() {
        let explained = |message: &str| explained(io::Error::other(message.to_string())).to_string();
        let denied = "fusermount3: mount failed: Operation not permitted";
        assert!(explained(denied).starts_with(&format!("{denied}; fusermount may not mount: ")));
        let closed = "fusermount3: failed to open /dev/fuse: Permission denied";
        assert_eq!(explained(closed), closed);
    }

    #[test]
    fn a_name_cannot_end_its_option() {
        assert_eq!(escaped(b"/a,b\\c"), b"/a\\,b\\\\c");
    }
}
