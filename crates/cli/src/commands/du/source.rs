//! The operands of `du`: an image, or an archive of which only sizes of contents are known.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use packline::requests::Archive;
use packline_archives::tar::TarOptions;
use packline_image::{EntryFault, Error, SizesOfEntries, Usage};
use packline_tree::Kind;
use packline_tree::path::canonical;

use crate::args::Invocation;
use crate::args::image::{ArchiveArgs, refuse_keys};
use crate::args::keys::OpeningKeys;
use crate::args::registry::ContainerArgs;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::mode::node_type;

/// A measured image or archive.
pub struct Measured {
    pub usage: Usage,
    /// The path as the user gave it.
    pub path: PathBuf,
    /// Whether the stored bytes are known, and not only the sizes of contents.
    pub has_stored: bool,
    /// The format, for JSON.
    pub format: String,
}

/// How an image or an archive is opened.
pub struct Opening<'a> {
    pub container: &'a ContainerArgs,
    pub keys: &'a OpeningKeys,
}

/// Measures an image or an archive.
pub fn measure(
    place: &ArchiveArgs,
    opening: &Opening<'_>,
    invocation: &Invocation,
    io: &mut Io,
) -> Result<Measured, Failure> {
    let resources = io.host.resources();
    let archive = place.offset.open(&place.image, opening.container, &resources, io)?;
    refuse_keys(&archive, invocation)?;
    let archive = match archive {
        Archive::Pln(file) => place.offset.open_in_pln(file, opening.keys, &resources, io)?,
        archive => archive,
    };
    let mut archive = match archive {
        Archive::Image(image) => {
            let usage = Usage::of(&image, resources.memory)?;
            let format = image.file_system.name().to_lowercase();
            return Ok(Measured { usage, path: place.image.clone(), has_stored: true, format });
        }
        archive => archive,
    };
    let mut format = "";
    let mut sizes = SizesOfEntries::default();
    let mut fits = true;
    let warnings = archive.read_tar(TarOptions::default(), &resources, &mut |source| {
        format = source.format();
        while let Some(entry) = source.next_entry()?.filter(|_| fits) {
            fits = sizes.add(&entry.path, node_type(&entry.kind), size(&entry.kind));
        }
        Ok(())
    })?;
    warnings.iter().for_each(|warning| io.warn(warning));
    if !fits {
        let what = format!("{}: too many entries", place.image.escaped());
        return Err(Failure::failed(format!(
            "{what} (expected paths of at most {} bytes)",
            SizesOfEntries::PATHS_MOST
        )));
    }
    // The layers of a container image have no format together.
    let format = if format.is_empty() { "oci" } else { format }.to_string();
    Ok(Measured { usage: sizes.finish(), path: place.image.clone(), has_stored: false, format })
}

fn size(kind: &Kind) -> u64 {
    match kind {
        Kind::File { size } => *size,
        _ => 0,
    }
}

/// Whether PATH is not an entry of what was measured, but another image.
pub fn wants_comparison(measured: &Measured, path: &OsStr) -> bool {
    measured.find(path).is_none() && Path::new(path).metadata().is_ok_and(|about| !about.is_dir())
}

impl Measured {
    fn find(&self, path: &OsStr) -> Option<usize> {
        canonical(path.as_bytes()).ok().and_then(|path| self.usage.find(&path))
    }

    /// Returns the numbers of the entries at paths, or the root. An entry below another one is left out.
    pub fn roots(&self, paths: &[OsString]) -> Result<Vec<usize>, Failure> {
        let mut roots = Vec::new();
        for path in paths {
            roots.push(self.find(path).ok_or_else(|| Error::Entry {
                path: self.path.clone(),
                entry: path.as_bytes().to_vec(),
                fault: EntryFault::Missing,
                expected: "the path of an entry",
            })?);
        }
        if paths.is_empty() {
            roots.push(0);
        }
        roots.sort_unstable();
        let mut end = 0;
        roots.retain(|root| {
            let outside = *root >= end;
            if outside {
                end = self.usage.entry(*root).map_or(0, |entry| entry.end);
            }
            outside
        });
        Ok(roots)
    }

    /// Prints the entries that could not be read. Returns whether there are none.
    pub fn report_faults(&self, io: &mut Io) -> bool {
        for fault in self.usage.faults() {
            io.print_message(&fault.to_string());
        }
        self.usage.faults().is_empty()
    }
}
