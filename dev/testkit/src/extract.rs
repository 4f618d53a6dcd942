//! Extracts images with other programs.

use crate::tools;
use std::path::Path;
use std::process::Command;

/// Extracts an image with unsquashfs, including special files and attributes. `into` must not exist yet.
pub fn with_unsquashfs(image: &Path, into: &Path) -> Result<(), String> {
    let mut command = Command::new("unsquashfs");
    tools::run(command.args(["-no-progress", "-xattrs", "-processors", "2", "-dest"]).arg(into).arg(image)).map(drop)
}

/// Extracts an image with rdsquashfs, including special files and attributes. `into` must not exist yet.
pub fn with_rdsquashfs(image: &Path, into: &Path) -> Result<(), String> {
    std::fs::create_dir(into).map_err(|cause| format!("{}: {cause}", into.display()))?;
    let mut command = Command::new("rdsquashfs");
    let restore = ["--set-xattr", "--set-times", "--chmod", "--chown", "--quiet"];
    tools::run(command.args(["--unpack-path", "/", "--unpack-root"]).arg(into).args(restore).arg(image)).map(drop)
}
