//! Outputs chosen by their names: a file, a block device, standard output, or a pipe.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use packline::Output;
use packline::requests::PackRequest;

use crate::host::streams::{STDOUT, enlarge_pipe};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The name of standard output. `./-` is a file called '-'.
const OF_STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
/// The message for an archive that would go to a terminal.
const TERMINAL: &str = "standard output is a terminal; redirect it to a file or a pipe";

/// Returns whether an output of this name goes to standard output.
pub fn is_stdout(path: &Path) -> bool {
    OF_STDOUT.iter().any(|name| path.as_os_str() == *name)
}

/// Returns whether an output of this name is a stream, which is not replaced.
pub fn is_stream(path: &Path) -> bool {
    is_stdout(path) || is_pipe(path)
}

/// Returns whether a pipe of this name exists.
pub fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo())
}

/// Returns the output for a tar or a .lrz file that is packed from `input`.
///
/// # Errors
/// Standard output is a terminal or the input; a pipe cannot be opened.
pub fn target(path: &Path, force: bool, input: &Path, io: &mut Io) -> Result<Output, Failure> {
    if path.as_os_str() != "-" {
        return file_or_pipe(path, force);
    }
    if io.out_terminal {
        return Err(Failure::failed(TERMINAL));
    }
    io.refuse_input(input)?;
    Ok(io.stdout_target())
}

/// Returns the output for an image. If it is standard output, later text goes to standard error. Opening a pipe waits for its reader.
///
/// # Errors
/// Standard output is a terminal or closed; a pipe cannot be opened.
pub fn image(path: &Path, force: bool, io: &mut Io) -> Result<Output, Failure> {
    if !is_stdout(path) {
        return file_or_pipe(path, force);
    }
    if io.out_terminal {
        return Err(Failure::failed(TERMINAL));
    }
    if io.streams.stdout_closed {
        return Err(Failure::failed(format!("{STDOUT} is closed; redirect it to a file or a pipe")));
    }
    Ok(io.take_stdout())
}

/// Like [`image`], for an output that is not written: no pipe is opened, standard output does not change, and an existing file is only
/// worth a warning.
pub fn unwritten(path: &Path, force: bool, io: &mut Io) -> Output {
    if is_stream(path) {
        return Output::Stream(path.to_path_buf(), Box::new(io::sink()));
    }
    let exists = path.is_file();
    if exists && !force {
        io.warn(&format!("{}: already exists; a pack needs --force to replace it", path.escaped()));
    }
    Output::File { path: path.to_path_buf(), force: force || exists }
}

fn file_or_pipe(path: &Path, force: bool) -> Result<Output, Failure> {
    let path = path.to_path_buf();
    if !is_pipe(&path) {
        return Ok(Output::File { path, force });
    }
    let opened = OpenOptions::new().write(true).open(&path);
    let pipe = opened.map_err(|cause| Failure::failed(format!("{}: cannot open: {cause}", path.escaped())))?;
    enlarge_pipe(&pipe);
    Ok(Output::Stream(path, Box::new(pipe)))
}

/// A pack of a directory does not read the stream that it writes, so standard output may be a file in the directory.
pub fn without_stream(mut request: PackRequest, io: &Io) -> PackRequest {
    let Output::Stream(path, _) = &request.target else { return request };
    let written = if path.as_os_str() == STDOUT {
        io.streams.stdout_file.and_then(|file| file.device_and_inode())
    } else {
        fs::metadata(path).ok().map(|about| (about.dev(), about.ino()))
    };
    request.source.for_each_directory(&mut |_, options| options.without_inodes.extend(written));
    request
}
