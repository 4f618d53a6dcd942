//! Packs a directory into an image: `cargo run --example pack_directory DIRECTORY IMAGE`.

use std::path::Path;

use packline::{Packed, Packer, Resources, Source};

/// Packs `directory` into `image`, without object files, with four workers in 256 MiB of memory.
pub fn pack(directory: &Path, image: &Path) -> Result<Packed, packline::Error> {
    Packer::new(Source::directory(directory))
        .codec("zstd:level=19")
        .block_size(256 << 10)
        .exclude("*.o")?
        .resources(Resources::new(4).memory_limit(256 << 20))
        .write_to(image)
}

#[allow(dead_code, clippy::disallowed_methods)] // A program of its own; the tests use the function above.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(directory), Some(image)) = (arguments.next(), arguments.next()) else {
        return Err("expected a directory and the name of an image".into());
    };
    pack(Path::new(&directory), Path::new(&image))?;
    Ok(())
}
