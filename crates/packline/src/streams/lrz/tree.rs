//! The tree in a tar in a .lrz file, unpacked into a directory while it is decompressed.

use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::thread::{self, Builder};

use packline_archives::decompress::Limits;
use packline_archives::pipe::{PipeReader, PipeWriter, pipe};
use packline_archives::tar::{self, TarOptions};
use packline_image::{StagingDir, UnpackRequest};
use packline_lrz::{ReadOptions, Stream};
use packline_runtime::escape::Escape;
use packline_runtime::{Observer, Resources, threads};
use packline_tree::Source;

use super::{OpenedLrz, PIPE_BYTES, PIPE_CHUNKS, fault, needing_more, source_failed, tar_limits};
use crate::container::by_magic::ContentKind::{self, Compressed, Tar};
use crate::container::recognise::head_of;
use crate::error::Error;
use crate::sources::selected::Scope;
use crate::unpack::extraction::{Extraction, ExtractionSettings, TarTreeCounts};

/// Memory of the reader of a tar, bytes: the pipe, a buffer, and directories and links that are kept to the end.
pub(super) const TREE_BYTES: u64 = PIPE_BYTES + (4 << 20);

/// Unpacks the tar in an open .lrz file, which is used instead of the file of the request. The selected entries are unpacked with the requested
/// attributes, devices only on request. Nothing is created outside the destination, and no link in it is followed. A new destination gets
/// its name only when complete. In an existing destination, written entries stay after an error.
///
/// # Errors
/// [`Error`], with the entry or the path; errors of the .lrz file come before those of the tar. A pattern without a match is an error that is
/// found at the end of the tar.
pub fn lrz_unpack_tree(
    opened: &OpenedLrz,
    request: UnpackRequest,
    destination: PathBuf,
    observer: &mut dyn Observer,
) -> Result<TarTreeCounts, Error> {
    let settings = ExtractionSettings::of(&request);
    let scope = Scope::new(request.selection, request.subdirectory)?;
    let staging_dir = StagingDir::open(&destination, request.force, &request.temporaries)?;
    let extraction = Extraction::new(&staging_dir, opened.file_id(), destination, settings)?;
    let resources = &request.resources;
    let (limits, inner) = tar_limits(resources.memory);
    let besides = TREE_BYTES + inner;
    let unpacked = run(opened, (extraction, &scope), limits, &resources.with_less_memory(besides), observer);
    let (extraction, tar_bytes) =
        unpacked.map_err(|error| needing_more(error, resources, |memory| TREE_BYTES + tar_limits(Some(memory)).1))?;
    scope.check_patterns(&opened.display_path.escaped(), observer)?;
    // Before the root gets its time.
    staging_dir.clear_away()?;
    let (counts, warnings) = extraction.finish()?;
    warnings.iter().for_each(|warning| observer.warning(warning));
    staging_dir.finish(request.sync, observer)?;
    Ok(TarTreeCounts { tar_bytes, ..counts })
}

/// Unpacks everything but the root's attributes; returns the bytes of the tar too.
fn run(
    opened: &OpenedLrz,
    (extraction, scope): (Extraction, &Scope),
    limits: Limits,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<(Extraction, u64), Error> {
    let (writer, reader) = pipe(PIPE_CHUNKS);
    let path = opened.display_path.as_path();
    let memory = resources.memory;
    thread::scope(|threads| {
        let work = move || {
            let source = scope.of(tar_from(reader, path, &limits)?, path.escaped(), memory);
            extract(source, extraction)
        };
        let spawned = Builder::new().name("extract".into()).spawn_scoped(threads, work);
        let extracting = spawned.map_err(|cause| cannot_start(&opened.display_path, &cause))?;
        let read = decompress(opened, writer, resources, observer);
        let extracted = extracting.join().unwrap_or_else(|_| Err(internal("makes the tree")));
        match (read, extracted) {
            // The pipe breaks when the tree cannot be created; that error is reported instead.
            (Err(Error::Output { .. }) | Ok(_), Err(error)) | (Err(error), _) => Err(error),
            (Ok(tar_bytes), Ok(extraction)) => Ok((extraction, tar_bytes)),
        }
    })
}

pub(super) fn decompress(
    opened: &OpenedLrz,
    mut writer: PipeWriter,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<u64, Error> {
    let decompressed =
        opened.archive.decompress(&mut Stream(&mut writer), &ReadOptions::default(), resources, observer);
    let read = decompressed.and_then(|unpacked| writer.flush().map_err(packline_lrz::Error::Output).map(|()| unpacked));
    match read {
        Ok(unpacked) => {
            writer.finish(Ok(()));
            Ok(unpacked.plain)
        }
        Err(cause) => {
            writer.finish(Err(source_failed()));
            Err(fault(&opened.display_path, &opened.display_path, cause))
        }
    }
}

/// The tar that a .lrz file called `display_path` holds, plain or compressed.
///
/// # Errors
/// [`Error::Request`] if it does not begin as a tar.
pub(super) fn tar_from(
    mut reader: PipeReader,
    display_path: &Path,
    limits: &Limits,
) -> Result<Box<dyn Source + Send>, Error> {
    let mut head = head_of(display_path, &mut reader)?;
    let refused = |cause| Error::Source { path: display_path.to_path_buf(), action: "cannot read", cause };
    let known = ContentKind::of_head(&head);
    let foreign =
        if known.is_none() { ContentKind::foreign_stream(&mut head, &mut reader).map_err(refused)? } else { None };
    if let Some(foreign) = foreign {
        let what = format!("{}: a .lrz file with {foreign}", display_path.escaped());
        return Err(Error::Request { what, expected: "a tar".to_string() });
    }
    if head.iter().any(|&byte| byte != 0) && !matches!(known, Some(Tar | Compressed(_))) {
        let what = format!("{}: a .lrz file whose content is not a tar", display_path.escaped());
        return Err(Error::Request { what, expected: "a tar".to_string() });
    }
    let options = TarOptions::named(display_path.escaped());
    Ok(tar::open_stream(Cursor::new(head).chain(reader), options, limits)?)
}

/// Unpacks the tree.
fn extract(mut source: Box<dyn Source>, mut extraction: Extraction) -> Result<Extraction, Error> {
    while let Some(entry) = source.next_entry()? {
        extraction.entry(&entry, source.as_mut())?;
    }
    extraction.finish_entries(&mut Err)?;
    extraction.add_warnings(source.take_warnings());
    Ok(extraction)
}

fn cannot_start(display_path: &Path, cause: &io::Error) -> Error {
    Error::Source { path: display_path.to_path_buf(), action: "cannot unpack", cause: threads::refused(cause) }
}

/// The error for a thread that panicked. `does` says what the thread does.
pub(super) fn internal(does: &str) -> Error {
    let what = format!("internal error: the thread that {does} panicked");
    Error::Request { what, expected: String::new() }
}
