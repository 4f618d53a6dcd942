//! Mounts of images of which no byte is in the page cache.

use super::named;
use packline_testkit::mount::LoopDevice;
use packline_testkit::tools;
use rustix::fs::Advice;
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// Bytes of a sector in the kernel's counters of block devices.
const SECTOR: u64 = 512;

/// An image that the kernel mounts from a loop device. Unmounted when dropped, before the device is detached.
pub struct MountedImage {
    point: tempfile::TempDir,
    device: LoopDevice,
}

impl MountedImage {
    /// Mounts an image after its bytes have left the page cache. Needs root. The bytes of a file on tmpfs stay in memory.
    pub fn cold(image: &Path) -> Result<MountedImage, String> {
        let file = File::open(image).map_err(named(image))?;
        file.sync_all().map_err(named(image))?;
        rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).map_err(|cause| named(image)(cause.into()))?;
        let device = LoopDevice::over(image)?;
        let point = tempfile::tempdir().map_err(|cause| format!("no mount point: {cause}"))?;
        let mut command = Command::new("mount");
        tools::run(command.args(["-t", "erofs", "-o", "ro", device.path()]).arg(point.path()))?;
        Ok(MountedImage { point, device })
    }

    pub fn path(&self) -> &Path {
        self.point.path()
    }

    /// Bytes that were read from the device so far.
    pub fn bytes_read(&self) -> Result<u64, String> {
        let name = Path::new(self.device.path()).file_name().unwrap_or_default();
        let path = Path::new("/sys/block").join(name).join("stat");
        let text = std::fs::read_to_string(&path).map_err(named(&path))?;
        sectors_read(&text).map(|sectors| sectors * SECTOR).ok_or_else(|| format!("{}: {text:?}", path.display()))
    }
}

impl Drop for MountedImage {
    fn drop(&mut self) {
        // A mount that stays keeps the device, and the next mount uses another one.
        let _ = tools::run(Command::new("umount").arg(self.point.path()));
    }
}

/// The third number of a block device's counters.
fn sectors_read(counters: &str) -> Option<u64> {
    counters.split_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_of_sectors() {
        assert_eq!(sectors_read("      12        3     4096       10        0        0\n"), Some(4096));
        assert_eq!(sectors_read("12 3"), None);
    }
}
