//! Mounts that are undone when they go out of scope.

use crate::tools;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Returns whether this process may mount file systems. Root in a container may not. If not, the test is skipped as in [`tools::need`].
pub fn allowed() -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    tools::need(&["mount", "umount"])
        && tools::root()
        && (*ALLOWED.get_or_init(|| Mounted::memory(1 << 20).is_ok()) || tools::skip("needs the right to mount"))
}

/// Returns whether this process can use and mount loop devices. If not, the test is skipped as in [`tools::need`].
pub fn loop_devices() -> bool {
    static FREE: OnceLock<bool> = OnceLock::new();
    tools::need(&["losetup"])
        && allowed()
        && (*FREE.get_or_init(has_loop_device) || tools::skip("needs a free loop device"))
}

fn has_loop_device() -> bool {
    let file = tempfile::NamedTempFile::new().ok().filter(|file| file.as_file().set_len(1 << 20).is_ok());
    file.is_some_and(|file| LoopDevice::over(file.path()).is_ok())
}

/// Returns whether commands can run in a separate mount namespace, which needs a root directory that is a mount point. If not, the test is
/// skipped as in [`tools::need`].
pub fn namespaces() -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    let runs = || tools::run(Command::new("unshare").args(["-m", "true"])).is_ok();
    tools::need(&["unshare"]) && allowed() && (*ALLOWED.get_or_init(runs) || tools::skip("needs unshare -m to work"))
}

/// Returns whether [`Mounted::scratch`] works. If not, the test is skipped as in [`tools::need`].
pub fn scratch_available() -> bool {
    tools::need(&["mkfs.ext4"]) && loop_devices()
}

/// Returns whether FUSE file systems can be mounted. If not, the test is skipped as in [`tools::need`].
pub fn fuse_available() -> bool {
    let device = Path::new("/dev/fuse").exists() || tools::skip("needs /dev/fuse");
    device && tools::need(&["fusermount"]) && allowed()
}

/// Returns whether the kernel mounts SquashFS images of a codec for this process. If the process may not mount anything, the test is skipped as
/// in [`tools::need`].
pub fn kernel_mounts(codec: &str) -> bool {
    kernel_reads(codec) && loop_devices()
}

/// Returns whether the kernel mounts EROFS images of a codec for this process. If not, the test is skipped as in [`tools::need`].
pub fn kernel_mounts_erofs(codec: &str) -> bool {
    (kernel_reads_erofs(codec) || tools::skip("needs a kernel that reads EROFS images of the codec")) && loop_devices()
}

/// A mounted image. Unmounted when dropped.
#[derive(Debug)]
pub struct Mounted {
    point: tempfile::TempDir,
    unmount: &'static [&'static str],
    /// The file that holds the file system, if it is removed with the mount.
    _held: Option<tempfile::NamedTempFile>,
    /// A further device of the file system.
    _device: Option<LoopDevice>,
}

impl Mounted {
    /// Mounts an image with the kernel's SquashFS, read-only, through a loop device. Needs root.
    pub fn kernel(image: &Path) -> Result<Mounted, String> {
        Mounted::kernel_at(image, 0)
    }

    /// As [`Mounted::kernel`], of an image that begins at a byte of the file.
    pub fn kernel_at(image: &Path, offset: u64) -> Result<Mounted, String> {
        Mounted::through_loop(image, "squashfs", offset)
    }

    /// Mounts an image with the kernel's EROFS, read-only, through a loop device. Needs root.
    pub fn erofs(image: &Path) -> Result<Mounted, String> {
        Mounted::erofs_at(image, 0)
    }

    /// As [`Mounted::erofs`], of an image that begins at a byte of the file.
    pub fn erofs_at(image: &Path, offset: u64) -> Result<Mounted, String> {
        Mounted::through_loop(image, "erofs", offset)
    }

    fn through_loop(image: &Path, kind: &str, offset: u64) -> Result<Mounted, String> {
        let point = point()?;
        let mut command = Command::new("mount");
        let options = format!("loop,ro,offset={offset}");
        tools::run(command.args(["-t", kind, "-o", &options]).arg(image).arg(point.path()))?;
        Ok(Mounted { point, unmount: &["umount"], _held: None, _device: None })
    }

    /// As [`Mounted::erofs`], of an image whose contents are on a device, which is another file.
    pub fn erofs_on(image: &Path, device: &Path) -> Result<Mounted, String> {
        let point = point()?;
        let device = LoopDevice::over(device)?;
        let options = format!("loop,ro,device={}", device.path());
        tools::run(Command::new("mount").args(["-t", "erofs", "-o", &options]).arg(image).arg(point.path()))?;
        Ok(Mounted { point, unmount: &["umount"], _held: None, _device: Some(device) })
    }

    /// Mounts an image with squashfuse.
    pub fn fuse(image: &Path) -> Result<Mounted, String> {
        let point = point()?;
        tools::run(Command::new("squashfuse").arg(image).arg(point.path()))?;
        Ok(Mounted { point, unmount: &["fusermount", "-u"], _held: None, _device: None })
    }

    /// Mounts an empty file system in memory of `bytes` bytes, writable. Needs root.
    pub fn memory(bytes: u64) -> Result<Mounted, String> {
        let point = point()?;
        let size = format!("size={bytes}");
        tools::run(Command::new("mount").args(["-t", "tmpfs", "-o", &size, "packline-test"]).arg(point.path()))?;
        Ok(Mounted { point, unmount: &["umount"], _held: None, _device: None })
    }

    /// Mounts an empty ext4 of `bytes` bytes, held in memory where there is `/dev/shm`: it supports all attributes, and programs that sync every file are fast on it.
    /// It has a journal: without one ext4 examines everything deleted in the last minute whenever a file is created. Needs root.
    pub fn scratch(bytes: u64) -> Result<Mounted, String> {
        let point = point()?;
        let memory = tempfile::NamedTempFile::new_in("/dev/shm");
        let file = memory.or_else(|_| tempfile::NamedTempFile::new()).map_err(|cause| cause.to_string())?;
        file.as_file().set_len(bytes).map_err(|cause| format!("{}: {cause}", file.path().display()))?;
        tools::run(Command::new("mkfs.ext4").args(["-q", "-F", "-b", "4096", "-J", "size=8"]).arg(file.path()))?;
        tools::run(
            Command::new("mount")
                .args(["-o", "loop,data=writeback,nobarrier,commit=600"])
                .arg(file.path())
                .arg(point.path()),
        )?;
        Ok(Mounted { point, unmount: &["umount"], _held: Some(file), _device: None })
    }

    pub fn path(&self) -> &Path {
        self.point.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let program = self.unmount[0];
        let options = &self.unmount[1..];
        let command = || tools::run(Command::new(program).args(options).arg(self.point.path()));
        // A killed reader may use the mount a moment longer. In this case the mount is detached lazily.
        if command().is_err() {
            let _ = tools::run(Command::new("umount").arg("-l").arg(self.point.path()));
        }
    }
}

/// A loop device over a file. Detached when dropped.
#[derive(Debug)]
pub struct LoopDevice(String);

impl LoopDevice {
    /// Returns an error without losetup, without root, or without a free device.
    pub fn over(file: &Path) -> Result<LoopDevice, String> {
        let output = tools::run(Command::new("losetup").args(["--find", "--show"]).arg(file))?;
        Ok(LoopDevice(String::from_utf8_lossy(&output.stdout).trim().to_owned()))
    }

    pub fn path(&self) -> &str {
        &self.0
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = tools::run(Command::new("losetup").args(["--detach", &self.0]));
    }
}

fn point() -> Result<tempfile::TempDir, String> {
    tempfile::tempdir().map_err(|cause| format!("no mount point: {cause}"))
}

/// Whether this kernel reads SquashFS images of a codec. Where its configuration is not available, a kernel that has SquashFS, or may load it,
/// is taken to read all codecs: then mounting shows it. No kernel reads lzma.
fn kernel_reads(codec: &str) -> bool {
    let option = match codec {
        "gzip" | "none" => "CONFIG_SQUASHFS_ZLIB=y",
        "xz" => "CONFIG_SQUASHFS_XZ=y",
        "lzo" => "CONFIG_SQUASHFS_LZO=y",
        "lz4" => "CONFIG_SQUASHFS_LZ4=y",
        "zstd" => "CONFIG_SQUASHFS_ZSTD=y",
        _ => return false,
    };
    match kernel_configuration() {
        Some(text) => text.lines().any(|line| line == option),
        None => has_file_system("squashfs"),
    }
}

/// As [`kernel_reads`], for EROFS.
fn kernel_reads_erofs(codec: &str) -> bool {
    let option = match codec {
        "none" => "CONFIG_EROFS_FS=",
        "lz4" | "lz4hc" => "CONFIG_EROFS_FS_ZIP=",
        "lzma" => "CONFIG_EROFS_FS_ZIP_LZMA=",
        "gzip" => "CONFIG_EROFS_FS_ZIP_DEFLATE=",
        "zstd" => "CONFIG_EROFS_FS_ZIP_ZSTD=",
        _ => return false,
    };
    match kernel_configuration() {
        Some(text) => text.lines().any(|line| line.starts_with(option)),
        None => has_file_system("erofs"),
    }
}

/// Whether a file system is in the kernel, or there are modules that it may be one of.
fn has_file_system(name: &str) -> bool {
    let read = |name| std::fs::read_to_string(name).unwrap_or_default();
    let modules = PathBuf::from("/lib/modules").join(read("/proc/sys/kernel/osrelease").trim());
    let is_known = |line: &str| line.split_whitespace().next_back() == Some(name);
    read("/proc/filesystems").lines().any(is_known) || modules.is_dir()
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
