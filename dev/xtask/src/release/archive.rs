//! A .tar.xz of a directory whose bytes depend on names, contents and the executable bits alone. packline itself writes it: its tars and its
//! xz streams are the same on every machine.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::release::named;
use crate::shell;

/// Writes `out` from the entries of `directory`, whose permissions change to 755 and 644. `host` is the packline to run.
pub fn write(host: &Path, directory: &Path, out: &Path, time: u64) -> Result<(), String> {
    normalise(directory)?;
    let image = directory.with_extension("sqfs");
    let time = time.to_string();
    let mut pack = Command::new(host);
    pack.args(["pack", "-q", "-c", "none", "--all-root", "--no-xattrs", "--mtime", &time, "--time", &time]);
    shell::run(pack.arg(directory).arg(&image))?;
    shell::run(Command::new(host).args(["unpack", "-q"]).arg(&image).arg(out))?;
    fs::remove_file(&image).map_err(|cause| named(&image, cause))
}

/// Removes what the user's umask decides. Links keep theirs, which no program looks at.
fn normalise(directory: &Path) -> Result<(), String> {
    let mut pending = vec![directory.to_path_buf()];
    while let Some(path) = pending.pop() {
        let metadata = fs::symlink_metadata(&path).map_err(|cause| named(&path, cause))?;
        if metadata.is_symlink() {
            continue;
        }
        let runs = metadata.is_dir() || metadata.permissions().mode() & 0o100 != 0;
        let mode = Permissions::from_mode(if runs { 0o755 } else { 0o644 });
        fs::set_permissions(&path, mode).map_err(|cause| named(&path, cause))?;
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).map_err(|cause| named(&path, cause))?;
            pending.extend(entries.flatten().map(|entry| entry.path()));
        }
    }
    Ok(())
}
