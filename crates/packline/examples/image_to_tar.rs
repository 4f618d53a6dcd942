//! Converts an image or a .lrz file to a tar: `cargo run --example image_to_tar IMAGE TAR`.

use std::path::Path;

use packline::{Unpacked, Unpacker};

/// Makes a tar of `image`, on all processors, compressed as the name of `tar` says.
pub fn convert(image: &Path, tar: &Path) -> Result<Unpacked, packline::Error> {
    Unpacker::new(image).to_tar(tar)
}

#[allow(dead_code, clippy::disallowed_methods)] // A program of its own; the tests use the function above.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(image), Some(tar)) = (arguments.next(), arguments.next()) else {
        return Err("expected an image and the name of a tar".into());
    };
    convert(Path::new(&image), Path::new(&tar))?;
    Ok(())
}
