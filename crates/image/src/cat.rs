//! Contents of files of an image in sequence, decoded ahead by workers.

use std::io::{self, Write};
use std::path::PathBuf;

use packline_runtime::zeros;
use packline_volume::{CheckScope, Event, FileData, Reading, Request, SharedUses};

use crate::follow::regular_file;
use crate::read_plan::read_settings;
use crate::{Error, OpenedImage, Resources};

/// Writes the contents of the files at `paths`, in that order, with holes as zeros. Symbolic links are followed inside the image. Messages call
/// the output `display_path`.
///
/// # Errors
/// [`Error::Entry`], before anything is written, for a path that does not lead to a regular file. [`Error::Read`] for unreadable content, after
/// all content before it is written. [`Error::Output`].
pub fn cat(
    image: &OpenedImage,
    paths: &[Vec<u8>],
    resources: &Resources,
    out: &mut dyn Write,
    display_path: &str,
) -> Result<(), Error> {
    let files: Vec<FileData> = paths.iter().map(|path| regular_file(image, path)).collect::<Result<_, _>>()?;
    write(image, files, paths, resources, (out, display_path))
}

/// Like [`cat`], for files whose paths are not known.
///
/// # Errors
/// [`Error::Read`] for unreadable content, after all content before it is written; [`Error::Output`].
pub fn cat_files(
    image: &OpenedImage,
    files: Vec<FileData>,
    resources: &Resources,
    out: &mut dyn Write,
    display_path: &str,
) -> Result<(), Error> {
    write(image, files, &[], resources, (out, display_path))
}

/// Writes the contents of `files`; faults name their `paths`, as far as there are paths.
fn write(
    image: &OpenedImage,
    files: Vec<FileData>,
    paths: &[Vec<u8>],
    resources: &Resources,
    (out, display_path): (&mut dyn Write, &str),
) -> Result<(), Error> {
    let image = &image.checked(CheckScope::IfAllWasRead);
    let mut uses = SharedUses::new();
    files.iter().for_each(|file| uses.note(image.volume.as_ref(), file));
    let requests = files.into_iter().enumerate().map(|(tag, file)| Ok(Request { tag, file: Some(file), weight: 0 }));
    let settings = read_settings(&image.volume, resources, 0)?;
    let reading = Reading::new(&image.volume, Box::new(requests), uses, &settings);
    let mut writing = Writing { image, paths, at: 0, out, display_path };
    writing.all(reading.map_err(|cause| image.fault(cause))?)?;
    image.compare_data(resources)
}

struct Writing<'w> {
    image: &'w OpenedImage,
    paths: &'w [Vec<u8>],
    /// Index of the current path.
    at: usize,
    out: &'w mut dyn Write,
    display_path: &'w str,
}

impl Writing<'_> {
    fn all(&mut self, mut reading: Reading<'_, usize>) -> Result<(), Error> {
        while let Some(event) = reading.next_event().map_err(|cause| self.fault(cause))? {
            match event {
                Event::Begin(tag) => self.at = tag,
                Event::Data(bytes) => self.out.write_all(&bytes).map_err(|cause| self.refused(cause))?,
                Event::Hole(length) => {
                    let written = zeros(length).try_for_each(|piece| self.out.write_all(piece));
                    written.map_err(|cause| self.refused(cause))?;
                }
                Event::Failed { error, .. } => {
                    // Everything before the fault is valid and is written.
                    self.out.flush().map_err(|cause| self.refused(cause))?;
                    return Err(self.fault(error));
                }
            }
        }
        self.out.flush().map_err(|cause| self.refused(cause))
    }

    fn fault(&self, cause: packline_volume::ReadError) -> Error {
        self.image.fault_at(self.paths.get(self.at).map_or(b"", Vec::as_slice), cause)
    }

    fn refused(&self, cause: io::Error) -> Error {
        Error::Output { path: PathBuf::from(self.display_path), action: "cannot write", cause }
    }
}
