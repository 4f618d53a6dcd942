//! Files for lists of what is packed.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use packline::StoredData;

use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

/// Lists that go to files.
#[derive(Default)]
pub struct Listings {
    /// The names of entries, a line each.
    pub names: Option<ListFile>,
    /// Where data lies in the image, and how the file at a path in the image is called there.
    pub places: Option<(ListFile, ShownPath)>,
}

/// How a path in the image is shown.
pub type ShownPath = Box<dyn Fn(&[u8]) -> Vec<u8>>;

/// A file for a list.
pub struct ListFile {
    path: PathBuf,
    out: BufWriter<File>,
    /// The first failure, after which nothing more is written. It is not one of the pack.
    failure: Option<io::Error>,
}

impl Listings {
    /// Adds a line as squashfs-tools write it with `-log`.
    pub fn stored(&mut self, data: StoredData<'_>) {
        let Some((file, shown)) = &mut self.places else { return };
        file.write(&match data {
            StoredData::File { path, start } => [&shown(path), format!(", {start}\n").as_bytes()].concat(),
            StoredData::FragmentBlock { index, start } => format!("Fragment {index}, {start}\n").into_bytes(),
        });
    }

    /// Ends the lists; messages of what failed.
    pub fn finish(&mut self) -> Vec<String> {
        let places = self.places.take().map(|(file, _)| file);
        self.names.take().into_iter().chain(places).filter_map(ListFile::finish).collect()
    }
}

impl ListFile {
    /// # Errors
    /// [`Failure::Failed`] if it cannot be created.
    pub fn create(path: &Path) -> Result<ListFile, Failure> {
        let file = File::create(path);
        let file = file.map_err(|cause| Failure::failed(format!("{}: cannot create: {cause}", path.escaped())))?;
        Ok(ListFile { path: path.to_path_buf(), out: BufWriter::new(file), failure: None })
    }

    /// Adds to the list.
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
