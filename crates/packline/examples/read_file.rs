//! Writes one file of an image to standard output: `cargo run --example read_file IMAGE PATH`.

use std::io::Write;
use std::path::Path;

use packline::{Image, Selection};

/// Writes the file at `path` in `image` to `out`.
pub fn read(image: &Path, path: &str, out: &mut dyn Write) -> Result<(), packline::Error> {
    Image::open(image)?.read(path, out)
}

/// Paths of all entries that `pattern` names.
pub fn list(image: &Path, pattern: &str) -> Result<Vec<Vec<u8>>, packline::Error> {
    let (image, selection) = (Image::open(image)?, Selection::pattern(pattern)?);
    image.entries(&selection).map(|entry| Ok(entry?.path)).collect()
}

#[allow(dead_code, clippy::disallowed_methods)] // A program of its own; the tests use the function above.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(image), Some(path)) = (arguments.next(), arguments.next()) else {
        return Err("expected an image and a path in it".into());
    };
    read(Path::new(&image), &path, &mut std::io::stdout())?;
    Ok(())
}
