//! Determines the kind of a source.

use packline_runtime::escape::Escape;

use super::directory::{DirectoriesPlan, DirectoryPlan};
use super::image::ImagePlan;
use super::planned::{OpenSource, Opening, PlannedSource, Share};
use super::source::Source;
use super::stack::StackPlan;
use super::tar::TarPlan;
use super::tree::TreePlan;
use super::zip::ZipPlan;
use crate::error::Error;

/// Examines a source. The first bytes of a tar, and the end of a zip archive, are read.
///
/// # Errors
/// [`Error::Source`] if the source cannot be opened or read, [`Error::Request`] for a stack that cannot be packed.
pub(crate) fn examine(source: Source) -> Result<Box<dyn PlannedSource>, Error> {
    Ok(match source {
        Source::Directory { path, options } => Box::new(DirectoryPlan { path, options }),
        Source::Directories { parts, root } => Box::new(DirectoriesPlan { parts, root }),
        Source::TarFile { path, opened } => Box::new(TarPlan::of_file(path, opened)?),
        Source::TarStream { name, stream } => Box::new(TarPlan::of_stream(name, stream)?),
        Source::Zip { path, input } => Box::new(ZipPlan::new(path.escaped(), input)?),
        Source::Image(image) => Box::new(ImagePlan { image, listener: None }),
        Source::Stack(stack) => Box::new(StackPlan::new(stack)?),
        #[cfg(feature = "oci")]
        Source::Oci(image) => Box::new(StackPlan::new(super::source::Stack::of([Source::Oci(image)]))?),
        Source::Tree(tree) => Box::new(TreePlan(tree)),
        Source::Entries { name, source } => Box::new(EntriesPlan { name, source }),
    })
}

/// Entries made by the caller.
struct EntriesPlan {
    name: String,
    source: Box<dyn packline_tree::Source + Send>,
}

impl PlannedSource for EntriesPlan {
    fn open(self: Box<Self>, _share: &Share, _opening: &Opening<'_>) -> Result<OpenSource, Error> {
        Ok(OpenSource::new(self.name, self.source))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Cursor;

    use packline_tree::DirectoryOptions;

    use super::*;

    #[test]
    fn sources_take_their_minimum_without_spare_memory() {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join("x");
        fs::write(&file, b"\x1f\x8b\x08\0").unwrap();
        let options = DirectoryOptions::new(2);
        let directory = Source::Directory { path: top.path().to_path_buf(), options };
        let stream = Source::TarStream { name: "s".to_string(), stream: Box::new(Cursor::new(vec![0; 1024])) };
        for source in [directory, Source::tar_file(file), stream] {
            let planned = examine(source).unwrap();
            let share = Share { threads: 1, limit: None, spare: 0 };
            assert_eq!(planned.memory(&share), planned.demand(None).fixed);
        }
    }
}
