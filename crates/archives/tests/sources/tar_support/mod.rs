//! Shared by the tar tests: writes tar blocks with any content, and reads sources to their end.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use packline_archives::decompress::Limits;
use packline_archives::tar::{TarOptions, TarSource, open_ahead, open_input};
use packline_testkit::snapshot::{Attributes, Kind as Found, Snapshot};
use packline_testkit::tools;
use packline_tree::{Entry, Error, Extent, Kind, Source};

pub const BLOCK: usize = 512;

#[derive(Clone)]
pub struct Header(pub [u8; BLOCK]);

impl Header {
    /// A v7 header without magic.
    pub fn v7(name: &str, kind: u8, size: u64) -> Self {
        let mut header = Self([0; BLOCK]);
        header.put(0, name.as_bytes());
        header.put(100, b"0000644\0");
        header.put(108, b"0000001\0");
        header.put(116, b"0000002\0");
        header.put(124, format!("{size:011o}\0").as_bytes());
        header.put(136, b"00000000007\0");
        header.0[156] = kind;
        header
    }

    pub fn ustar(name: &str, kind: u8, size: u64) -> Self {
        Self::v7(name, kind, size).with(257, b"ustar\x0000")
    }

    pub fn gnu(name: &str, kind: u8, size: u64) -> Self {
        Self::v7(name, kind, size).with(257, b"ustar  \0")
    }

    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// The header with bytes at an offset.
    pub fn with(mut self, at: usize, bytes: &[u8]) -> Self {
        self.put(at, bytes);
        self
    }

    pub fn link(self, target: &str) -> Self {
        self.with(157, target.as_bytes())
    }

    /// The block with the right checksum.
    pub fn seal(self) -> Vec<u8> {
        self.sealed(i32::from)
    }

    /// The block with the checksum that archivers with signed characters wrote.
    pub fn seal_signed(self) -> Vec<u8> {
        self.sealed(|byte| i32::from(byte.cast_signed()))
    }

    fn sealed(mut self, number: fn(u8) -> i32) -> Vec<u8> {
        self.put(148, b"        ");
        let sum: i32 = self.0.iter().map(|&byte| number(byte)).sum();
        self.put(148, format!("{sum:06o}\0 ").as_bytes());
        self.0.to_vec()
    }

    /// The header and a body in whole blocks.
    pub fn body(self, body: &[u8]) -> Vec<u8> {
        [self.seal(), padded(body)].concat()
    }
}

/// Bytes padded to a whole block.
pub fn padded(body: &[u8]) -> Vec<u8> {
    let mut padded = body.to_vec();
    padded.resize(body.len().next_multiple_of(BLOCK), 0);
    padded
}

pub fn end() -> Vec<u8> {
    vec![0; 2 * BLOCK]
}

pub fn file(name: &str, body: &[u8]) -> Vec<u8> {
    Header::ustar(name, b'0', body.len() as u64).body(body)
}

/// One PAX record with the right length.
pub fn record(key: &str, value: &[u8]) -> Vec<u8> {
    packline_testkit::tar::pax_record(key.as_bytes(), value)
}

/// An extended header of type `x` or `g`.
pub fn pax(kind: u8, records: &[(&str, &[u8])]) -> Vec<u8> {
    let body: Vec<u8> = records.iter().flat_map(|(key, value)| record(key, value)).collect();
    raw_pax(kind, &body)
}

/// An extended header with any bytes.
pub fn raw_pax(kind: u8, body: &[u8]) -> Vec<u8> {
    Header::ustar("PaxHeader/x", kind, body.len() as u64).body(body)
}

/// A GNU long name (`L`) or link (`K`).
pub fn long(kind: u8, name: &[u8]) -> Vec<u8> {
    Header::gnu("././@LongLink", kind, name.len() as u64 + 1).body(&[name, b"\0"].concat())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    pub entry: Entry,
    /// Content of a regular file.
    pub content: Vec<u8>,
    /// Number of its bytes in holes.
    pub holes: u64,
}

/// Reads everything, at most 16 MiB of each file.
pub fn read_all(source: &mut dyn Source) -> Result<Vec<Read>, Error> {
    let mut all = Vec::new();
    while let Some(entry) = source.next_entry()? {
        let mut read = Read { entry, content: Vec::new(), holes: 0 };
        if let Kind::File { size } = read.entry.kind {
            read_content(source, &mut read)?;
            assert_eq!(read.content.len() as u64, size);
        }
        all.push(read);
    }
    assert!(matches!(source.next_entry(), Ok(None)));
    Ok(all)
}

fn read_content(source: &mut dyn Source, read: &mut Read) -> Result<(), Error> {
    let mut buffer = vec![0; 70_000];
    loop {
        if let Some(part) = source.read_later(70_000)? {
            let start = read.content.len();
            read.content.resize(start + part.bytes, 0);
            assert_eq!(part.content.read_at(part.offset, &mut read.content[start..])?, part.bytes);
            continue;
        }
        match source.read(&mut buffer)? {
            Extent::Data(count) => read.content.extend_from_slice(&buffer[..count]),
            Extent::Hole(count) => {
                read.holes += count;
                assert!(read.holes <= 16 << 20, "too large for this test");
                read.content.resize(read.content.len() + count as usize, 0);
            }
            Extent::End => return Ok(()),
        }
    }
}

/// Reads an archive as a stream, by seeking, ahead in a thread, and as workers read it, with the same result. Another pass skips the
/// contents of every other entry, and must return the same entries.
pub fn read_bytes(archive: &[u8]) -> Result<Vec<Read>, Error> {
    let stream = read_all(&mut TarSource::new(archive, TarOptions::named("test.tar")));
    let seeking = TarSource::seekable(Cursor::new(archive), TarOptions::named("test.tar"));
    let seeking = read_all(&mut seeking.unwrap());
    let shared = open_input(Arc::new(archive.to_vec()), TarOptions::named("test.tar"), &Limits::default());
    let shared = shared.and_then(|mut source| read_all(&mut *source));
    let ahead = read_all(&mut *open_ahead(Cursor::new(archive.to_vec()), TarOptions::named("test.tar"), 2, None));
    for other in [&seeking, &shared, &ahead] {
        match (&stream, other) {
            (Ok(stream), Ok(other)) => assert_eq!(stream, other),
            (Err(stream), Err(other)) => assert_eq!(stream.to_string(), other.to_string()),
            (stream, other) => panic!("as a stream {stream:?}, otherwise {other:?}"),
        }
    }
    if let Ok(all) = &stream {
        let mut skipping = TarSource::seekable(Cursor::new(archive), TarOptions::default()).unwrap();
        for read in all {
            assert_eq!(skipping.next_entry().unwrap().as_ref(), Some(&read.entry));
        }
        assert_eq!(skipping.next_entry().unwrap(), None);
    }
    stream
}

/// The error message of an archive.
pub fn refusal(archive: &[u8]) -> String {
    match read_bytes(archive) {
        Ok(all) => panic!("accepted as {:?}", all.iter().map(|read| &read.entry).collect::<Vec<_>>()),
        Err(error) => {
            let message = error.to_string();
            assert!(!message.contains('\n'), "more than a line: {message}");
            message
        }
    }
}

/// A snapshot of an archive as if extracted: later entries replace earlier ones, links are followed.
pub fn snapshot(all: &[Read]) -> Snapshot {
    let mut found = Snapshot::new();
    for read in all {
        let attributes = match &read.entry.kind {
            Kind::HardLink(target) => found[target].clone(),
            _ => attributes(read),
        };
        found.insert(read.entry.path.clone(), attributes);
    }
    found
}

fn attributes(read: &Read) -> Attributes {
    let kind = match &read.entry.kind {
        Kind::File { size } => Found::File(*size, *blake3::hash(&read.content).as_bytes()),
        Kind::Dir | Kind::HardLink(_) => Found::Dir,
        Kind::Symlink(target) => Found::Symlink(target.clone()),
        Kind::BlockDevice(device) => Found::BlockDevice(device.major, device.minor),
        Kind::CharDevice(device) => Found::CharDevice(device.major, device.minor),
        Kind::Fifo => Found::Fifo,
        Kind::Socket => Found::Socket,
    };
    let meta = read.entry.meta;
    let pair = |xattr: &packline_tree::Xattr| (xattr.name.clone(), xattr.value.clone());
    Attributes {
        kind,
        mode: meta.mode,
        uid: meta.uid,
        gid: meta.gid,
        mtime: meta.mtime.seconds().clamp(0, u32::MAX.into()),
        first_name: read.entry.path.clone(),
        links: 1,
        xattrs: read.entry.xattrs.iter().map(pair).collect::<BTreeMap<_, _>>(),
    }
}

/// Runs a program, which must succeed.
pub fn run(program: &str, arguments: &[&str], directory: &Path) -> Vec<u8> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).env("LC_ALL", "C");
    tools::run(&mut command).unwrap().stdout
}

/// The output of a program with `input` on its standard input.
pub fn fed(program: &str, arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C.UTF-8");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    let written = writer.join().unwrap();
    assert!(!output.status.success() || written.is_ok(), "{program} {arguments:?}: {written:?}");
    output
}

/// Typical file content from a seed: words, numbers and a run of noise.
pub fn bytes(seed: u32, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761).max(1);
    let mut bytes = Vec::with_capacity(length + 16);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        match state >> 30 {
            0 => bytes.extend_from_slice(&state.to_le_bytes()),
            1 => bytes.extend_from_slice(format!("word{} ", state % 300).as_bytes()),
            _ => bytes.extend_from_slice(&b"the same again, "[..(state % 16) as usize]),
        }
    }
    bytes.truncate(length);
    bytes
}
