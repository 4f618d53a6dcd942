//! Pipes between a measured program and threads of the benchmark, which fill or empty them while the benchmark waits for the program.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::path::Path;
use std::thread;

use crate::inputs::source::BUFFER;

/// Returns a pipe through which the bytes of a file come. The thread that fills it ends with the file, or when the program ends.
pub(super) fn feed(path: &Path) -> io::Result<PipeReader> {
    let file = File::open(path)?;
    let (reader, writer) = io::pipe()?;
    start(file, writer)?;
    Ok(reader)
}

/// Returns a pipe whose bytes are read and discarded.
pub(super) fn drain() -> io::Result<PipeWriter> {
    let (reader, writer) = io::pipe()?;
    start(reader, io::sink())?;
    Ok(writer)
}

/// Copies in a thread of its own. An error ends the copy: the measured program then reports the end of its pipe.
fn start(mut from: impl Read + Send + 'static, mut to: impl Write + Send + 'static) -> io::Result<()> {
    let copy = move || {
        let mut buffer = vec![0; BUFFER];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            if to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
    };
    thread::Builder::new().name("pipe".into()).spawn(copy).map(drop)
}
