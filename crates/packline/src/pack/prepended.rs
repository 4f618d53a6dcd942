//! Bytes before an image, which another file has: the runtime of an AppImage, or another program.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_image::OpenedImage;
use packline_runtime::escape::Escape;
use packline_runtime::{Input, InputStream};

use crate::container::opened_file::OpenedFile;
use crate::error::Error;
use crate::sources::inputs::ReadInputs;

/// Bytes that are copied at a time.
const STEP: usize = 128 << 10;

/// Bytes that are written before an image. The image begins right after them.
#[derive(Clone)]
pub struct Prepended {
    path: PathBuf,
    input: Arc<dyn Input>,
    length: u64,
    executable: bool,
}

impl Prepended {
    /// All bytes of the file at `path`.
    ///
    /// # Errors
    /// [`Error::Source`] if the file cannot be opened, [`Error::Target`] for a directory.
    pub fn file(path: &Path) -> Result<Prepended, Error> {
        let file = OpenedFile::open(path)?;
        let length = file.size();
        let executable = is_executable(&file);
        Ok(Prepended { path: path.to_path_buf(), input: Arc::new(file), length, executable })
    }

    /// The bytes before an image in its file; `None` if the image begins at the first byte.
    pub fn before(image: &OpenedImage) -> Option<Prepended> {
        let length = image.volume.facts().origin;
        let path = image.display_path.clone();
        let input = image.input();
        let executable = is_executable(input.as_ref());
        (length > 0).then(|| Prepended { path, input, length, executable })
    }

    /// Number of bytes, which is the offset of the image.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether the file with these bytes may be executed.
    pub(super) fn is_executable(&self) -> bool {
        self.executable
    }

    /// Compares the file with its state now, after everything was read.
    pub(super) fn watch(&self, inputs: &ReadInputs) {
        let input = Arc::clone(&self.input);
        inputs.add(self.path.escaped(), move || input.rewritten());
    }

    /// Passes all bytes to `write`.
    ///
    /// # Errors
    /// [`Error::Source`] if they cannot be read, and the errors of `write`.
    pub(super) fn copy(&self, write: &mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
        let refused = |cause| Error::Source { path: self.path.clone(), action: "cannot read", cause };
        let mut stream = InputStream::new(Arc::clone(&self.input), 0);
        let mut left = self.length;
        let mut bytes = vec![0; STEP];
        while left > 0 {
            let step = &mut bytes[..left.min(STEP as u64) as usize];
            io::Read::read_exact(&mut stream, step).map_err(refused)?;
            write(step)?;
            left -= step.len() as u64;
        }
        Ok(())
    }
}

/// Whether a user may execute the file that was opened. A stream has no such right.
fn is_executable(input: &dyn Input) -> bool {
    input.stamp().is_some_and(|stamp| stamp.is_executable())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::container::image_place::ImagePlace;
    use crate::{Packer, Tree};

    #[test]
    fn the_file_that_was_opened_decides_whether_it_may_be_executed() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("x.sqfs");
        Packer::new(Tree::new()).write_to(&path).unwrap();
        let image = fs::read(&path).unwrap();
        for (mode, expected) in [(0o755, true), (0o644, false)] {
            fs::write(&path, [&[b'#'; 4096][..], &image].concat()).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let opened = ImagePlace::new(&path).open(1 << 20).unwrap();
            fs::remove_file(&path).unwrap();
            fs::write(&path, "another file").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode ^ 0o111)).unwrap();
            let before = Prepended::before(&opened).unwrap();
            assert_eq!((before.length(), before.is_executable()), (4096, expected));
        }
    }
}
