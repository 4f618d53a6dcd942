//! Images that were written to a pipe with the superblock at their end, as `mksquashfs -stream` of squashfs-tools 4.7 does. Such an image has a
//! block of zeros with a magic number of its own at byte 0, and the superblock after the padding.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use packline_runtime::FormatFault;
use packline_squashfs::read::{ReadError, STREAMED_MAGIC, SUPERBLOCK_BYTES, Superblock};

use crate::{Error, FileIdentity};

/// The image is padded to a multiple of this number of bytes before the superblock, or not at all.
const PADDING: u64 = 4096;

/// Moves the superblock of such an image from its end to its start. Returns false if the superblock was already at the start. After an error the
/// file is unchanged.
///
/// # Errors
/// [`Error::Source`] if the file cannot be opened, [`Error::Target`] if it is not such an image, [`Error::Read`] if the superblock is invalid,
/// [`Error::Output`] if the file cannot be written.
pub fn restore_superblock(path: &Path) -> Result<bool, Error> {
    let refused = |cause| Error::Source { path: path.to_path_buf(), action: "cannot open", cause };
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(refused)?;
    let size = file.metadata().map_err(refused)?.len();
    let mut start = [0; SUPERBLOCK_BYTES as usize];
    let mut end = [0; SUPERBLOCK_BYTES as usize];
    let length = SUPERBLOCK_BYTES;
    if FileIdentity::of_path(path).and_then(FileIdentity::device_and_inode).is_none() || size < length {
        return Err(neither(path, format!("is not a file of {length} bytes at least")));
    }
    let unread = |cause| Error::Source { path: path.to_path_buf(), action: "cannot read", cause };
    file.read_exact_at(&mut start, 0).map_err(unread)?;
    if !start.starts_with(&STREAMED_MAGIC) {
        return match Superblock::decode(&start) {
            Ok(superblock) if superblock.bytes_used <= size => Ok(false),
            Ok(superblock) => {
                Err(neither(path, format!("has {size} of the {} bytes of its image", superblock.bytes_used)))
            }
            Err(_) => Err(neither(path, "has no superblock at byte 0, nor the mark of a streamed image".to_string())),
        };
    }
    let at = size - length;
    file.read_exact_at(&mut end, at).map_err(unread)?;
    let superblock = Superblock::decode(&end).map_err(|cause| at_end(path, at, cause))?;
    if at != superblock.bytes_used && at != superblock.bytes_used.next_multiple_of(PADDING) {
        let what = format!("has a superblock at byte {at}, of an image of {} bytes", superblock.bytes_used);
        return Err(neither(path, what));
    }
    move_to_start(&file, (&start, &end), at).map_err(|cause| Error::Output {
        path: path.to_path_buf(),
        action: "cannot write",
        cause,
    })?;
    Ok(true)
}

/// Cuts the end off after the start is on the medium. After an error, the file has its start and its end again: `mark` and `superblock`.
fn move_to_start(file: &File, (mark, superblock): (&[u8], &[u8]), at: u64) -> io::Result<()> {
    let moved = file
        .write_all_at(superblock, 0)
        .and_then(|()| file.sync_all())
        .and_then(|()| file.set_len(at))
        .and_then(|()| file.sync_all());
    moved.inspect_err(|_| {
        // The end comes first: without it the mark is useless. The earlier error is the one that is reported.
        let _: io::Result<()> = file
            .write_all_at(superblock, at)
            .and_then(|()| file.sync_all())
            .and_then(|()| file.write_all_at(mark, 0))
            .and_then(|()| file.sync_all());
    })
}

fn neither(path: &Path, what: String) -> Error {
    Error::Target {
        path: path.to_path_buf(),
        what,
        expected: "a complete image, or an image that was written as a stream".to_string(),
    }
}

fn at_end(path: &Path, at: u64, cause: ReadError) -> Error {
    let cause = match cause {
        ReadError::Corrupt(fault) => ReadError::Corrupt(FormatFault { offset: at + fault.offset, ..fault }),
        other => other,
    };
    Error::Read { path: path.to_path_buf(), entry: None, cause: Box::new(cause) }
}
