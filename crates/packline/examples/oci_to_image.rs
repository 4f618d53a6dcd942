//! Writes the layers of a container image as one image of a file system: `cargo run --example oci_to_image oci-archive:FILE IMAGE`.

use std::ffi::OsStr;
use std::path::Path;

use packline::requests::OciPlace;
use packline::{Packed, Packer, Resources, Source};

/// Merges the layers at `place`, such as `oci:DIRECTORY:TAG` or `docker-archive:FILE`, without a temporary tree.
pub fn convert(place: &OsStr, image: &Path) -> Result<Packed, Box<dyn std::error::Error>> {
    let place = OciPlace::parse(place).ok_or("expected oci:, oci-archive: or docker-archive:")?;
    // Compressed layers are stored there before they are merged.
    let resources = Resources::default().scratch_in("/var/tmp");
    let layers = Source::oci(&place, None, &resources)?;
    Ok(Packer::new(layers).resources(resources).write_to(image)?)
}

#[allow(dead_code, clippy::disallowed_methods)] // A program of its own; the tests use the function above.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(place), Some(image)) = (arguments.next(), arguments.next()) else {
        return Err("expected a container image and the name of an image".into());
    };
    convert(&place, Path::new(&image)).map(drop)
}
