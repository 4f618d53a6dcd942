//! Makes an AppImage of a directory: `cargo run --example app_image RUNTIME APPDIR APPIMAGE`.

use std::fs::{self, File, Permissions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use packline::{Packer, Source};

/// Copies the runtime to `target`, which must not exist, and writes an image of `directory` after it. The runtime mounts the image when
/// `target` is run.
pub fn bundle(runtime: &Path, directory: &Path, target: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut file = File::options().read(true).write(true).create_new(true).open(target)?;
    std::io::copy(&mut File::open(runtime)?, &mut file)?;
    file.seek(SeekFrom::End(0))?;
    Packer::new(Source::directory(directory)).codec("zstd").owner(0, 0).write_into(&mut file)?;
    Ok(fs::set_permissions(target, Permissions::from_mode(0o755))?)
}

#[allow(dead_code, clippy::disallowed_methods)] // A program of its own; the tests use the function above.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [runtime, directory, target] = arguments.as_slice() else {
        return Err("expected a runtime, a directory and the name of an AppImage".into());
    };
    bundle(Path::new(runtime), Path::new(directory), Path::new(target))
}
