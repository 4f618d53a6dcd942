//! Tars from streams of any pace. The image and the error are the same for any number of workers.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use packline::{Packer, Resources, Source};
use packline_testkit::generate;

const WORKERS: [usize; 5] = [0, 1, 2, 3, 7];

/// How a stream ends.
#[derive(Clone, Copy)]
enum End {
    Regular,
    Failure,
}

/// A stream that returns at most `step` bytes for each read.
struct Paced {
    rest: io::Cursor<Vec<u8>>,
    step: usize,
    end: End,
}

impl Read for Paced {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.step.min(buffer.len());
        match (self.rest.read(&mut buffer[..most])?, self.end) {
            (0, End::Failure) => Err(io::Error::other("the cable was cut")),
            (count, _) => Ok(count),
        }
    }
}

/// The image, or the message of the error.
fn packed(image: &Path, workers: usize, stream: impl Read + Send + 'static) -> Result<Vec<u8>, String> {
    let packer = Packer::new(Source::tar_reader("stream", stream)).codec("lz4").block_size(16 << 10).replace(true);
    let written = packer.resources(Resources::new(workers)).write_to(image);
    written.map(|_| fs::read(image).unwrap()).map_err(|error| error.to_string())
}

fn compare(tar: &[u8], steps: &[usize], end: End) {
    let top = tempfile::tempdir().unwrap();
    let image = top.path().join("image.sqfs");
    let paced = |step| Paced { rest: io::Cursor::new(tar.to_vec()), step, end };
    let reference = packed(&image, 0, paced(usize::MAX));
    assert!(reference.is_err() || matches!(end, End::Regular));
    for &step in steps {
        for workers in WORKERS {
            let found = packed(&image, workers, paced(step));
            assert!(found == reference, "{workers} workers, {step} bytes for each read: {:?}", found.err());
        }
    }
}

#[test]
fn any_pace_gives_the_same_image() {
    let mut tar = Vec::new();
    generate::mixed_bulk(&mut tar, 3).unwrap();
    compare(&tar, &[usize::MAX, 511, 4097, 65_536, 300_001], End::Regular);
    let mut tar = Vec::new();
    generate::noise_files(&mut tar, 9, 9_000).unwrap();
    compare(&tar, &[1], End::Regular);
}

#[test]
fn cut_and_broken_streams_give_the_same_error() {
    let mut tar = Vec::new();
    generate::mixed_bulk(&mut tar, 3).unwrap();
    for length in [1, 700, 20_000, tar.len() / 3 + 1, tar.len() - 3001] {
        let cut = &tar[..length];
        compare(cut, &[4097, 300_001], End::Regular);
        compare(cut, &[4097, 300_001], End::Failure);
    }
}

/// A stream that never returns after its bytes.
struct Stalled {
    rest: io::Cursor<Vec<u8>>,
    never: Receiver<()>,
}

impl Read for Stalled {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.rest.read(buffer)? {
            0 => self.never.recv().map(|()| 0).map_err(io::Error::other),
            count => Ok(count),
        }
    }
}

#[test]
fn an_error_does_not_wait_for_a_stalled_stream() {
    let top = tempfile::tempdir().unwrap();
    let mut tar = Vec::new();
    generate::noise_files(&mut tar, 2, 9_000).unwrap();
    let damaged = [&tar[..512 + 9216], &[b'x'; 1024][..]].concat();
    let (keep, never) = channel();
    let stream = Stalled { rest: io::Cursor::new(damaged), never };
    // The test would not end if the error waited.
    let found = packed(&top.path().join("image.sqfs"), 3, stream);
    assert!(found.unwrap_err().contains("bad header checksum"));
    drop(keep);
}
