//! The distance that the kernel reads ahead in a mount: 128 KiB unless the administrator sets more, which a mount by root does.
//!
//! A block that the kernel asks for by itself costs least: the thread that decodes the block passes it on, on the same processor. The kernel
//! should therefore ask for enough blocks at once to keep all processors busy.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::detach::device_on;

/// Maximum bytes that the kernel reads ahead.
pub(super) const READ_AHEAD: u64 = 8 << 20;
/// Requests ahead for each processor: one in work, and one waiting.
const REQUESTS: u64 = 2;

/// The setting of one mount, if it exists and may be changed.
pub(super) struct KernelAhead(Option<File>);

impl KernelAhead {
    /// Finds the setting of the mount on `point`, which need not be served yet.
    pub(super) fn of(point: &Path) -> KernelAhead {
        KernelAhead(setting(point))
    }

    /// Lets the kernel have requests of `length` bytes in flight for `processors`; returns whether that was possible. Call it after the kernel's
    /// first request, which sets the value, too.
    pub(super) fn raise(self, processors: usize, length: u64) -> bool {
        let Some(mut setting) = self.0 else { return false };
        setting.write_all(kibibytes(processors, length).to_string().as_bytes()).is_ok()
    }
}

fn kibibytes(processors: usize, length: u64) -> u64 {
    (REQUESTS * length * processors.max(1) as u64).min(READ_AHEAD) >> 10
}

/// The table of mounts has the number without a call on the mount point. Such a call would wait for our own answer, and pseudo adds an lstat() to
/// each call. A mount by FUSE has no device, so its major number is 0: the setting of a disk is never changed.
fn setting(point: &Path) -> Option<File> {
    let device = device_on(point)?;
    if !device.starts_with("0:") {
        return None;
    }
    File::options().write(true).open(format!("/sys/class/bdi/{device}/read_ahead_kb")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_processor_has_a_request_and_another_one_waits_within_bounds() {
        assert_eq!(kibibytes(0, 128 << 10), 256);
        assert_eq!(kibibytes(2, 128 << 10), 512);
        assert_eq!(kibibytes(2, 1 << 20), 4096);
        assert_eq!(kibibytes(64, 1 << 20), 8192);
    }
}
