//! Unpacks a tar, plain or compressed, or a zip archive into a directory or a tar.
//!
//! The tar is read once, from its start to its end, so that it may be a stream. Threads decompress it; the caller's thread creates the entries.

use std::path::PathBuf;
use std::sync::Arc;

use packline_archives::is_whiteout_name;
use packline_archives::tar::TarOptions;
use packline_blocks::Counts;
use packline_codec::StreamSpec;
use packline_image::{Output, StagingDir, TarSummary, UnpackRequest};
use packline_runtime::escape::Escape;
use packline_runtime::{FailedOutput, Observer, Problem};
use packline_tree::Source;

use super::extraction::{Extraction, ExtractionSettings, TarTreeCounts};
use crate::container::archive::OpenedTar;
use crate::error::Error;
use crate::pack::request::TarRequest;
use crate::pack::tar::{TarWork, pack_tar};
use crate::sources::changes::Changes;
use crate::sources::changes::limits::EntryLimits;
use crate::sources::inputs::ReadInputs;
use crate::sources::observed::ObservedSource;
use crate::sources::selected::Scope;

/// Memory in bytes of the work besides the tar: a buffer, and directories and links that are kept to the end.
const TREE_BYTES: u64 = 4 << 20;

/// Unpacks the selected entries.
///
/// # Errors
/// As [`super::unpack`].
pub(super) fn to_directory(
    mut tar: OpenedTar,
    request: UnpackRequest,
    destination: PathBuf,
    observer: &mut dyn Observer,
) -> Result<TarTreeCounts, Error> {
    let settings = ExtractionSettings::of(&request);
    let UnpackRequest { force, sync, continue_on_error, temporaries, resources, .. } = request;
    let name = tar.display_path.escaped();
    let scope = Scope::new(request.selection, request.subdirectory)?;
    let staging_dir = StagingDir::open(&destination, force, &temporaries)?;
    let mut extraction = Extraction::new(&staging_dir, tar.file_id(), destination, settings)?;
    let inputs = ReadInputs::default();
    let source = tar.open(TarOptions::default(), &resources.with_less_memory(TREE_BYTES), Some(&inputs))?;
    let source = scope.of(source, name.clone(), resources.memory);
    let counter = Arc::default();
    let mut observed = ObservedSource::new(source, Changes::default(), EntryLimits::TAR, counter, observer);
    let mut problems = Problems { go_on: continue_on_error, errors: 0 };
    let whiteouts = entries(&mut observed, &mut extraction, &mut problems)?;
    extraction.finish_entries(&mut |error| problems.take(error, observed.observer()))?;
    let tar_bytes = observed.consumed();
    if whiteouts > 0 {
        let plural = if whiteouts == 1 { "" } else { "s" };
        observed.warn(&format!("{name}: {whiteouts} whiteout{plural} of a layer (.wh.NAME), unpacked as plain files"));
    }
    if let Err(error) = scope.check_patterns(&name, observed.observer()) {
        problems.take(error.into(), observed.observer())?;
    }
    drop(observed);
    inputs.check_unchanged()?;
    // Before the root gets its time.
    staging_dir.clear_away()?;
    let (counts, warnings) = extraction.finish()?;
    warnings.iter().for_each(|warning| observer.warning(warning));
    staging_dir.finish(sync, observer)?;
    Ok(TarTreeCounts { tar_bytes, errors: problems.errors, ..counts })
}

/// Writes the selected entries to another tar.
///
/// # Errors
/// As [`super::unpack`]; [`Error::Request`] for work that continues after errors.
pub(super) fn to_tar(
    mut tar: OpenedTar,
    request: UnpackRequest,
    (target, compression): (Output, Option<StreamSpec>),
    observer: &mut dyn Observer,
) -> Result<TarSummary, Error> {
    if request.continue_on_error {
        let what = format!("{}: work that continues after errors, from a tar to a tar", tar.display_path.escaped());
        return Err(Error::Request { what, expected: "a directory as the destination".to_string() });
    }
    let no_xattrs = !request.restore.xattrs;
    let no_sparse = !request.sparse;
    let written = TarRequest { compression, no_xattrs, no_sparse, ..TarRequest::default() };
    let scope = Scope::new(request.selection, request.subdirectory)?;
    let source = tar.source(&request.resources)?;
    let work = TarWork::new(source, target, written, request.resources, request.temporaries).within(scope);
    let packed = pack_tar(work, observer)?;
    let Counts { files, directories, symlinks, hard_links, special } = packed.counts;
    Ok(TarSummary {
        entries: files + directories + symlinks + hard_links + special,
        skipped: packed.sockets,
        content_bytes: packed.content_bytes,
        tar_bytes: packed.tar_bytes,
        output_bytes: packed.output_bytes,
        workers_wanted: packed.workers_wanted,
        workers: packed.workers,
        ..TarSummary::default()
    })
}

/// Unpacks all entries. Returns the number of whiteouts.
fn entries(
    observed: &mut ObservedSource<'_>,
    extraction: &mut Extraction,
    problems: &mut Problems,
) -> Result<u64, Error> {
    let mut whiteouts = 0;
    loop {
        let unpacked = match observed.next_entry() {
            Ok(None) => return Ok(whiteouts),
            Ok(Some(entry)) => {
                whiteouts += u64::from(is_whiteout_name(&entry.path));
                extraction.entry(&entry, observed)
            }
            Err(error) => Err(error.into()),
        };
        let Err(error) = unpacked else { continue };
        // Nothing after a fault of the tar can be interpreted.
        let is_last = !matches!(error, Error::Output { .. });
        problems.take(error, observed.observer())?;
        if is_last {
            return Ok(whiteouts);
        }
    }
}

/// Errors after which unpacking continues, if that is requested.
struct Problems {
    go_on: bool,
    errors: u64,
}

impl Problems {
    /// Reports an error, or returns it.
    fn take(&mut self, error: Error, observer: &mut dyn Observer) -> Result<(), Error> {
        let is_cancelled = matches!(error, Error::Tree(packline_tree::Error::Work(_)));
        if !self.go_on || is_cancelled {
            return Err(error);
        }
        self.errors += 1;
        let output = match &error {
            Error::Output { path, action, cause } => Some(FailedOutput { path, action, cause }),
            _ => None,
        };
        observer.problem(Problem { error: &error, output });
        Ok(())
    }
}
