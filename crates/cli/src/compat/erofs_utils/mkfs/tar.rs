//! `--tar`: the contents of a tar, or an index of it, and a copy of the plain tar.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use packline::Source;
use packline_archives::decompress::{self, Limits};
use packline_archives::tar::{TarOptions, open_positions, open_positions_at};
use packline_runtime::{FileInput, OutputFile, must_differ};

use super::MkfsErofs;
use crate::host::streams::STDIN;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The part of a tar that is read for the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TarMode {
    Contents,
    /// The positions of contents, to which the image refers.
    Index,
}

impl MkfsErofs {
    /// Returns the tar at `path`, or in standard input. The plain tar is also written to `copy`.
    pub(super) fn open_tar(
        &self,
        path: Option<&Path>,
        mode: TarMode,
        copy: Option<&OutputFile>,
        io: &mut Io,
    ) -> Result<Source, Failure> {
        if let Some(path) = path {
            must_differ(path, &self.image)?;
        }
        let name = path.map_or_else(|| STDIN.to_string(), Escape::escaped);
        let refused = |cause: io::Error| Failure::failed(format!("{name}: cannot open: {cause}"));
        let stream: Box<dyn Read + Send> = match (path, copy, mode) {
            (Some(path), None, TarMode::Contents) => return Ok(Source::tar_file(path)),
            (Some(path), None, TarMode::Index) => {
                let file = File::open(path).map_err(refused)?;
                if file.metadata().map_err(refused)?.is_file() {
                    let input = Arc::new(FileInput::new(file).map_err(refused)?);
                    let source = open_positions_at(input, TarOptions::named(name)).map_err(packline::Error::from)?;
                    return Ok(Source::Entries { name: path.escaped(), source });
                }
                Box::new(file)
            }
            (Some(path), Some(_), _) => Box::new(File::open(path).map_err(refused)?),
            (None, ..) => io.take_stdin(Some(&self.image))?,
        };
        let stream = match copy {
            None => stream,
            Some(copy) => {
                let stream = decompress::open(stream, &Limits::default()).map_err(refused)?;
                Box::new(Copied { stream, copy: copy.file()? })
            }
        };
        if mode == TarMode::Contents {
            return Ok(Source::TarStream { name, stream });
        }
        let source = open_positions(stream, TarOptions::named(name.clone())).map_err(packline::Error::from)?;
        Ok(Source::Entries { name, source })
    }
}

/// A stream that is written to a file while it is read.
struct Copied {
    stream: Box<dyn Read + Send>,
    copy: File,
}

impl Read for Copied {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        let written = self.copy.write_all(&buffer[..count]);
        let failed = |cause: io::Error| io::Error::new(cause.kind(), format!("cannot write the plain tar: {cause}"));
        written.map_err(failed).map(|()| count)
    }
}
