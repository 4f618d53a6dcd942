//! The entries of a tar in a .lrz file, while it is decompressed.

use std::io;
use std::thread;

use packline_tree::Entry;
use packline_tree::decompress::Limits;
use packline_tree::pipe::{PipeReader, PipeWriter, pipe};

use super::tree::{TREE_BYTES, decompress, internal, tar_from};
use super::{OpenedLrz, PIPE_CHUNKS, needing_more, tar_limits, with_less};
use crate::listing::each_entry;
use crate::{Error, Resources, Unobserved};

/// Passes the entries of the tar in a .lrz file to `found`, in the order of the tar, until that returns false or the tar ends.
///
/// # Errors
/// [`Error`]; errors of the .lrz file come before those of the tar.
pub fn lrz_entries(
    opened: &OpenedLrz,
    resources: &Resources,
    found: &mut dyn FnMut(&Entry) -> bool,
) -> Result<(), Error> {
    let (limits, inner) = tar_limits(resources.memory);
    let listed = run(opened, limits, &with_less(resources, TREE_BYTES + inner), found);
    listed.map_err(|error| needing_more(error, resources, |memory| TREE_BYTES + tar_limits(Some(memory)).1))
}

fn run(
    opened: &OpenedLrz,
    limits: Limits,
    resources: &Resources,
    found: &mut dyn FnMut(&Entry) -> bool,
) -> Result<(), Error> {
    let (writer, reader) = pipe(PIPE_CHUNKS);
    thread::scope(|threads| {
        let started = thread::Builder::new().spawn_scoped(threads, || give(opened, writer, resources));
        let decompressing = started.map_err(|cause| refused(opened, cause))?;
        let listed = list(opened, reader, limits, found);
        match decompressing.join().unwrap_or_else(|_| Err(internal("decompresses"))) {
            // The pipe breaks when the list ends before the tar.
            Err(Error::Output { .. }) | Ok(_) => listed,
            Err(error) => Err(error),
        }
    })
}

fn give(opened: &OpenedLrz, writer: PipeWriter, resources: &Resources) -> Result<u64, Error> {
    decompress(opened, writer, resources, &mut Unobserved)
}

fn list(
    opened: &OpenedLrz,
    reader: PipeReader,
    limits: Limits,
    found: &mut dyn FnMut(&Entry) -> bool,
) -> Result<(), Error> {
    let mut source = tar_from(reader, &opened.display_path, &limits)?;
    each_entry(source.as_mut(), found)
}

fn refused(opened: &OpenedLrz, cause: io::Error) -> Error {
    Error::Source { path: opened.display_path.clone(), action: "cannot start a thread", cause }
}
