//! Helpers of all tests here.

use std::io::{self, Read};
use std::sync::Arc;

use packline_codec::Coding;
use packline_pln::{
    Error, Input, RecordSize, Resources, Source, Span, Unobserved, Unpacked, Verified, WriteOptions, Written, compress,
    decompress, verify,
};
use packline_testkit::Random;

/// One coding of each kind.
pub const CODINGS: [&str; 14] = [
    "none",
    "slack",
    "gzip:level=1",
    "lzma",
    "lzo",
    "xz",
    "lz4",
    "zstd:level=3",
    "slack+zstd:level=1",
    "bzip2",
    "huff0",
    "zle",
    "slack+zle",
    "lz4hc",
];

/// A stream that returns bytes in odd sizes.
pub struct Drip<'a>(pub &'a [u8], pub usize);

impl Read for Drip<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.1 = (self.1 * 7 + 3) % 5000;
        let bytes = into.len().min(self.1 + 1).min(self.0.len());
        into[..bytes].copy_from_slice(&self.0[..bytes]);
        self.0 = &self.0[bytes..];
        Ok(bytes)
    }
}

pub fn options(codings: &[&str], record_size: u64) -> WriteOptions {
    let codings = codings.iter().map(|text| Coding::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")));
    WriteOptions { record_size: RecordSize::new(record_size).unwrap(), codings: codings.collect() }
}

pub fn resources(workers: usize) -> Resources {
    Resources::new(workers)
}

/// No threads, some, many, and too little memory for all of them.
pub fn resource_sets() -> Vec<Resources> {
    vec![resources(0), resources(1), resources(2), resources(7), resources(7).memory_limit(22 << 20)]
}

/// Text, noise, zeros and runs: records of many kinds.
pub fn mixed(length: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes = Vec::new();
    while bytes.len() < length {
        let size = 1 + random.below(12_000) as usize;
        match random.below(4) {
            0 => bytes.extend(random.prose(size)),
            1 => bytes.extend(random.noise(size)),
            2 => bytes.extend(vec![0; 2 * size]),
            _ => bytes.extend(vec![random.bits() as u8; size]),
        }
    }
    bytes.truncate(length);
    bytes
}

pub fn written_by(bytes: &[u8], options: &WriteOptions, resources: &Resources) -> (Vec<u8>, Written) {
    let mut out = Vec::new();
    let input = Arc::new(bytes.to_vec());
    let written = compress(Source::At(input), &mut out, options, resources, &mut Unobserved).unwrap();
    assert_eq!((written.logical, written.physical), (bytes.len() as u64, out.len() as u64));
    (out, written)
}

/// A file with this content.
pub fn file(bytes: &[u8], codings: &[&str], record_size: u64) -> Vec<u8> {
    written_by(bytes, &options(codings, record_size), &resources(2)).0
}

/// The bytes that were read, and the result.
pub type Outcome = (Vec<u8>, Result<Unpacked, Error>);

pub fn read_span(file: &[u8], span: Span, resources: &Resources) -> Outcome {
    let mut out = Vec::new();
    let input = Arc::new(file.to_vec());
    let read = decompress(Source::At(input as Arc<dyn Input>), span, &mut out, resources, &mut Unobserved);
    (out, read)
}

pub fn read_span_piped(file: &[u8], span: Span, resources: &Resources) -> Outcome {
    let mut out = Vec::new();
    let read = decompress(Source::Stream(&mut Drip(file, 1)), span, &mut out, resources, &mut Unobserved);
    (out, read)
}

pub fn read(file: &[u8], resources: &Resources) -> Outcome {
    read_span(file, Span::ALL, resources)
}

pub fn read_piped(file: &[u8], resources: &Resources) -> Outcome {
    read_span_piped(file, Span::ALL, resources)
}

/// Returns the faults of a file, found by means of the index or in a pipe.
pub fn verified(file: &[u8], piped: bool) -> (Vec<Error>, Verified) {
    let mut found = Vec::new();
    let mut stream = file;
    let input: Arc<dyn Input> = Arc::new(file.to_vec());
    let source = if piped { Source::Stream(&mut stream) } else { Source::At(input) };
    let verified = verify(source, &mut |error| found.push(copy(error)), &resources(2), &mut Unobserved).unwrap();
    assert_eq!(verified.findings, found.len() as u64);
    (found, verified)
}

fn copy(error: &Error) -> Error {
    match error {
        Error::Corrupt { part, fault } => Error::Corrupt { part: *part, fault: fault.clone() },
        &Error::Cut { length, part, offset, missing, records, bytes } => {
            Error::Cut { length, part, offset, missing, records, bytes }
        }
        other => panic!("not the file's fault: {other}"),
    }
}
