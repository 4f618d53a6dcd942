//! Writes lists of what is packed to files.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use packline::StoredData;

use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

/// The lists that are written to files.
#[derive(Default)]
pub struct Listings {
    /// The names of the entries, one per line.
    pub names: Option<ListFile>,
    /// The offset of each file's data in the image, and how the list shows the file's path.
    pub places: Option<(ListFile, ShownPath)>,
}

/// Returns how a path in the image is shown.
pub type ShownPath = Box<dyn Fn(&[u8]) -> Vec<u8>>;

/// A file with a list.
pub struct ListFile {
    path: PathBuf,
    out: BufWriter<File>,
    /// The first write error. Nothing is written after it, and it does not fail the pack.
    failure: Option<io::Error>,
}

impl Listings {
    /// Adds a line in the format of squashfs-tools' `-log`.
    pub fn stored(&mut self, data: StoredData<'_>) {
        let Some((file, shown)) = &mut self.places else { return };
        file.write(&match data {
            StoredData::File { path, start } => [&shown(path), format!(", {start}\n").as_bytes()].concat(),
            StoredData::FragmentBlock { index, start } => format!("Fragment {index}, {start}\n").into_bytes(),
        });
    }

    /// Closes the lists and returns messages about write errors.
    pub fn finish(&mut self) -> Vec<String> {
        let places = self.places.take().map(|(file, _)| file);
        self.names.take().into_iter().chain(places).filter_map(ListFile::finish).collect()
    }
}

impl ListFile {
    pub fn create(path: &Path) -> Result<ListFile, Failure> {
        let file = File::create(path);
        let file = file.map_err(|cause| Failure::failed(format!("{}: cannot create: {cause}", path.escaped())))?;
        Ok(ListFile { path: path.to_path_buf(), out: BufWriter::new(file), failure: None })
    }

    pub fn write(&mut self, text: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.out.write_all(text).err();
        }
    }

    fn finish(mut self) -> Option<String> {
        let flushed = self.out.flush();
        let cause = self.failure.or(flushed.err())?;
        Some(format!("{}: cannot write: {cause}", self.path.escaped()))
    }
}
