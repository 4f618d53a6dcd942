//! `pack --prepend`: the bytes before the image.

use std::path::Path;

use packline::Source;
use packline::requests::{ImagePlace, Prepended};
use packline_image::OpenedImage;

use crate::args::wrong;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The value that stands for the bytes before the image in the source.
const KEEP: &str = "keep";

/// Returns the bytes before the image: of a file, or of the only source.
///
/// # Errors
/// [`Failure::Usage`] for a source that has no bytes before an image; [`Failure::Failed`] for a file that cannot be opened.
pub fn prepended(option: Option<&Path>, source: &Source, io: &mut Io) -> Result<Option<Prepended>, Failure> {
    let Some(path) = option else { return Ok(None) };
    if path.as_os_str() != KEEP {
        if let Some(kind) = ImagePlace::new(path).content_kind() {
            let what = format!("begins with {kind}; programs, and packline, read that instead of the new image");
            io.warn(&format!("{}: {what}", path.escaped()));
        }
        return Ok(Some(Prepended::file(path)?));
    }
    let Some(image) = only_image(source) else {
        return Err(wrong("prepend", "keep works only with one SOURCE, a file in which an image follows other bytes"));
    };
    let nothing = || wrong("prepend", format!("there is nothing before the image in {}", image.display_path.escaped()));
    Prepended::before(image).map(Some).ok_or_else(nothing)
}

/// Returns the image that is the only source.
fn only_image(source: &Source) -> Option<&OpenedImage> {
    match source {
        Source::Image(image) => Some(image),
        Source::Stack(stack) => match stack.layers.as_slice() {
            [layer] => only_image(layer),
            _ => None,
        },
        _ => None,
    }
}
