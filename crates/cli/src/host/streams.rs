//! The standard streams that the process got: their kinds, and how they are read and written.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, LineWriter, Read, Write, stderr, stdin, stdout};
use std::os::fd::{AsFd, BorrowedFd};

use packline_runtime::FileIdentity;
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};

use crate::host::closed_streams;

/// The name of standard output in messages.
pub const STDOUT: &str = "standard output";
/// The name of standard input in messages.
pub const STDIN: &str = "standard input";
/// The columns of a terminal whose width is not known.
const COLUMNS: usize = 80;
/// The size of the output buffer without a terminal, in bytes.
const BUFFER: usize = 64 << 10;
/// The size of a pipe for a tar or an image, in bytes. A larger one leaves more of its bytes out of the processor's caches.
const PIPE: usize = 256 << 10;

#[derive(Debug, Clone, Copy, Default)]
pub struct Streams {
    /// Whether standard input was closed when the process started.
    pub stdin_closed: bool,
    /// Whether standard output was closed when the process started.
    pub stdout_closed: bool,
    /// The file that standard input reads, if it reads a file.
    pub stdin_file: Option<FileIdentity>,
    /// A path that opens the file, if standard input is at its start.
    pub stdin_path: Option<&'static str>,
    /// The file that standard output writes, if it writes a file.
    pub stdout_file: Option<FileIdentity>,
}

impl Streams {
    pub fn of_process() -> Streams {
        Streams {
            stdin_closed: closed_streams::stdin(),
            stdout_closed: closed_streams::stdout(),
            stdin_file: FileIdentity::of_descriptor(stdin()),
            stdin_path: stdin_path(),
            stdout_file: FileIdentity::of_descriptor(stdout()),
        }
    }
}

fn stdin_path() -> Option<&'static str> {
    const PATH: &str = "/dev/stdin";
    let file = FileIdentity::of_descriptor(stdin())?;
    let at_start = rustix::fs::tell(stdin()).is_ok_and(|at| at == 0);
    let same = File::open(PATH).is_ok_and(|opened| FileIdentity::of_descriptor(opened) == Some(file));
    (at_start && same).then_some(PATH)
}

/// Returns the columns of the terminal that shows the output.
pub fn columns() -> usize {
    let of = |descriptor: BorrowedFd<'_>| rustix::termios::tcgetwinsize(descriptor).ok().filter(|size| size.ws_col > 0);
    of(stdout().as_fd()).or_else(|| of(stderr().as_fd())).map_or(COLUMNS, |size| usize::from(size.ws_col))
}

/// Returns standard input, unless it was closed. It bypasses the lock and the small buffer of the standard library, which cost time for
/// a tar of gigabytes.
pub fn input() -> Option<Box<dyn Read + Send>> {
    if closed_streams::stdin() {
        return None;
    }
    Some(match stdin().as_fd().try_clone_to_owned() {
        Ok(descriptor) => Box::new(File::from(descriptor)),
        Err(_) => Box::new(stdin()),
    })
}

/// Returns standard output, line-buffered on a terminal and otherwise block-buffered. `std::io::stdout` is not used, because it ignores
/// errors of a descriptor that is not open for writing.
pub fn output() -> Box<dyn Write + Send> {
    if closed_streams::stdout() {
        return Box::new(ClosedStream);
    }
    match stdout().as_fd().try_clone_to_owned() {
        Ok(descriptor) if stdout().is_terminal() => Box::new(LineWriter::new(File::from(descriptor))),
        Ok(descriptor) => Box::new(BufWriter::with_capacity(BUFFER, File::from(descriptor))),
        Err(_) => Box::new(stdout()),
    }
}

/// Enlarges a pipe for a tar or an image, so that writer and reader wait for each other less often. A pipe that cannot be enlarged, and
/// a stream that is not a pipe, stays as it is.
pub fn enlarge_pipe(stream: impl AsFd) {
    if fcntl_getpipe_size(&stream).is_ok_and(|size| size < PIPE) {
        let _: rustix::io::Result<usize> = fcntl_setpipe_size(&stream, PIPE);
    }
}

/// A stream that was closed when the process started. Writing to it fails, and flushing succeeds.
pub struct ClosedStream;

impl Write for ClosedStream {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("it is closed"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_pipes_are_enlarged() {
        let (_reader, writer) = io::pipe().unwrap();
        enlarge_pipe(&writer);
        assert_eq!(fcntl_getpipe_size(&writer), Ok(PIPE));
        fcntl_setpipe_size(&writer, 2 * PIPE).unwrap();
        enlarge_pipe(&writer);
        assert_eq!(fcntl_getpipe_size(&writer), Ok(2 * PIPE));
        enlarge_pipe(File::open("/dev/null").unwrap());
    }
}
