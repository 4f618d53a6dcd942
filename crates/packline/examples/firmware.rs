//! Makes an image in memory from files that a program knows: `cargo run --example firmware HOSTNAME IMAGE`.

use std::io::Cursor;

use packline::{Device, Error, Kind, Packer, Tree};

/// Returns the bytes of an image of a few files, for a device with this name. The bytes depend on the name alone.
pub fn image(hostname: &str) -> Result<Vec<u8>, Error> {
    let mut tree = Tree::new();
    tree.file("etc/hostname", format!("{hostname}\n"))?;
    tree.file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")?;
    tree.symlink("bin", "usr/bin")?;
    tree.directory("root")?.mode(0o700);
    tree.special("dev/console", Kind::CharDevice(Device { major: 5, minor: 1 }))?.mode(0o600);
    let mut bytes = Cursor::new(Vec::new());
    Packer::new(tree).codec("xz").time(0).write_into(&mut bytes)?;
    Ok(bytes.into_inner())
}

#[allow(dead_code, clippy::disallowed_methods)] // A program of its own; the tests use the function above.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(hostname), Some(path)) = (arguments.next(), arguments.next()) else {
        return Err("expected a name of a host and the name of an image".into());
    };
    Ok(std::fs::write(path, image(&hostname.to_string_lossy())?)?)
}
