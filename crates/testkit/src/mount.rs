//! Mounts of an image, undone when they go out of scope.

use crate::tools;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted image. Unmounted when dropped.
#[derive(Debug)]
pub struct Mounted {
    point: tempfile::TempDir,
    unmount: &'static [&'static str],
}

impl Mounted {
    /// Mounts an image with the kernel's SquashFS, read-only, through a loop device. Needs root.
    pub fn kernel(image: &Path) -> Result<Mounted, String> {
        let point = point()?;
        let mut command = Command::new("mount");
        tools::run(command.args(["-t", "squashfs", "-o", "loop,ro"]).arg(image).arg(point.path()))?;
        Ok(Mounted { point, unmount: &["umount"] })
    }

    /// Mounts an image with squashfuse.
    pub fn fuse(image: &Path) -> Result<Mounted, String> {
        let point = point()?;
        tools::run(Command::new("squashfuse").arg(image).arg(point.path()))?;
        Ok(Mounted { point, unmount: &["fusermount", "-u"] })
    }

    /// Mounts an empty file system in memory of `bytes` bytes, writable. Needs root.
    pub fn memory(bytes: u64) -> Result<Mounted, String> {
        let point = point()?;
        let size = format!("size={bytes}");
        tools::run(Command::new("mount").args(["-t", "tmpfs", "-o", &size, "packline-test"]).arg(point.path()))?;
        Ok(Mounted { point, unmount: &["umount"] })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.point.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let (program, options) = (self.unmount[0], &self.unmount[1..]);
        let command = || tools::run(Command::new(program).args(options).arg(self.point.path()));
        // A reader that was killed may hold the mount a moment longer: then let go lazily.
        if command().is_err() {
            let _ = tools::run(Command::new("umount").arg("-l").arg(self.point.path()));
        }
    }
}

fn point() -> Result<tempfile::TempDir, String> {
    tempfile::tempdir().map_err(|cause| format!("no mount point: {cause}"))
}

/// Whether this kernel reads SquashFS images of a codec. Says yes where the kernel keeps its configuration to itself:
/// then mounting shows it. No kernel reads lzma.
pub fn kernel_reads(codec: &str) -> bool {
    let option = match codec {
        "gzip" | "none" => "CONFIG_SQUASHFS_ZLIB=y",
        "xz" => "CONFIG_SQUASHFS_XZ=y",
        "lzo" => "CONFIG_SQUASHFS_LZO=y",
        "lz4" => "CONFIG_SQUASHFS_LZ4=y",
        "zstd" => "CONFIG_SQUASHFS_ZSTD=y",
        _ => return false,
    };
    kernel_configuration().is_none_or(|text| text.lines().any(|line| line == option))
}

fn kernel_configuration() -> Option<String> {
    let unpacked = Command::new("gzip").args(["-dc", "/proc/config.gz"]).output().ok();
    let text = unpacked.map(|output| output.stdout).filter(|text| !text.is_empty());
    let bytes = text.or_else(boot_configuration)?;
    String::from_utf8(bytes).ok()
}

fn boot_configuration() -> Option<Vec<u8>> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let mut bytes = Vec::new();
    File::open(PathBuf::from(format!("/boot/config-{}", release.trim()))).ok()?.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
