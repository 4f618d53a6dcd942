//! The tar in a .lrz file as a source, while it is decompressed.

use std::{io, thread};

use packline_archives::decompress::Limits;
use packline_archives::pipe::{PipeReader, PipeWriter, pipe};
use packline_runtime::{Resources, Unobserved};

use super::tree::{TREE_BYTES, decompress, internal, tar_from};
use super::{OpenedLrz, PIPE_CHUNKS, needing_more, tar_limits};
use crate::container::archive::TarWork;
use crate::error::Error;

/// Passes the tar in a .lrz file to `work`, which need not read it to its end. Returns the warnings of the tar.
///
/// # Errors
/// [`Error`]; errors of the .lrz file come before those of the tar.
pub(crate) fn read_tar(
    opened: &OpenedLrz,
    resources: &Resources,
    work: &mut TarWork<'_>,
) -> Result<Vec<String>, Error> {
    let (limits, inner) = tar_limits(resources.memory);
    let done = run(opened, limits, &resources.with_less_memory(TREE_BYTES + inner), work);
    done.map_err(|error| needing_more(error, resources, |memory| TREE_BYTES + tar_limits(Some(memory)).1))
}

fn run(
    opened: &OpenedLrz,
    limits: Limits,
    resources: &Resources,
    work: &mut TarWork<'_>,
) -> Result<Vec<String>, Error> {
    let (writer, reader) = pipe(PIPE_CHUNKS);
    thread::scope(|threads| {
        let started = thread::Builder::new().spawn_scoped(threads, || decompress_into(opened, writer, resources));
        let decompressing = started.map_err(|cause| refused(opened, cause))?;
        let done = read(opened, reader, limits, work);
        match decompressing.join().unwrap_or_else(|_| Err(internal("decompresses"))) {
            // The pipe breaks when the work ends before the tar.
            Err(Error::Output { .. }) | Ok(_) => done,
            Err(error) => Err(error),
        }
    })
}

fn decompress_into(opened: &OpenedLrz, writer: PipeWriter, resources: &Resources) -> Result<u64, Error> {
    decompress(opened, writer, resources, &mut Unobserved)
}

fn read(opened: &OpenedLrz, reader: PipeReader, limits: Limits, work: &mut TarWork<'_>) -> Result<Vec<String>, Error> {
    let mut source = tar_from(reader, &opened.display_path, &limits)?;
    work(source.as_mut())?;
    Ok(source.take_warnings())
}

fn refused(opened: &OpenedLrz, cause: io::Error) -> Error {
    Error::Source { path: opened.display_path.clone(), action: "cannot start a thread", cause }
}
