//! Every bit that changes on the way to the medium is found, and the image then has no superblock.

use std::io;

use packline_codec::Spec;
use packline_engine::Config;
use packline_runtime::Observer;
use packline_tree::{Entry, Kind};

use crate::format::superblock::SUPERBLOCK_BYTES;
use crate::test_image::{BLOCK, Content, META, entry, file};
use crate::{BlockSize, Error, FileHints, Options, ReadBack, Sink, Start, Writer};

/// A sink whose medium changes one bit when it is synced.
struct Faulty<'i> {
    image: &'i mut Vec<u8>,
    /// The bit, counted from the first bit of the image.
    bit: u64,
    syncs: u32,
}

impl Faulty<'_> {
    fn change(&mut self) {
        let of_superblock = self.bit / 8 < SUPERBLOCK_BYTES;
        // The superblock is written after all other parts were found right.
        if self.syncs == 1 + u32::from(of_superblock)
            && let Some(byte) = self.image.get_mut((self.bit / 8) as usize)
        {
            *byte ^= 1 << (self.bit % 8);
        }
    }
}

impl Sink for Faulty<'_> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        Sink::append(self.image, bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        Sink::write_at(self.image, offset, bytes)
    }

    fn reads_back(&self) -> bool {
        true
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        Sink::read_at(self.image, offset, buffer)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.syncs += 1;
        self.change();
        Ok(())
    }
}

/// Text, noise, zeros, duplicates and tail ends, and every table.
fn entries() -> Vec<(Entry, Vec<u8>)> {
    let noise = |length: usize| -> Vec<u8> {
        let mut state = 7u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..length).map(|_| next()).collect()
    };
    let text: Vec<u8> = (0..3 * BLOCK + 900).map(|at| b'a' + (at / 11 * at % 23) as u8).collect();
    let mut entries = vec![(entry("d", Kind::Dir), Vec::new())];
    entries.extend([
        file("d/noise", &noise(2 * BLOCK + 50)),
        file("d/same", &text),
        file("d/text", &text),
        file("small", &text[..700]),
        file("zeros", &vec![0; 2 * BLOCK]),
    ]);
    entries.extend((0..40).map(|number| file(&format!("empty{number}"), b"")));
    entries[1].0.xattrs = vec![packline_tree::Xattr { name: b"user.name".to_vec(), value: vec![5; 300] }];
    entries.push((entry("link", Kind::Symlink(b"d/text".to_vec())), Vec::new()));
    entries
}

struct Calls(Vec<(u64, u64)>);

impl Observer for Calls {
    fn verifying(&mut self, done: u64, total: u64) {
        self.0.push((done, total));
    }
}

/// Packs with this number of workers, with a medium that changes a bit.
fn pack(codec: &str, bit: u64, workers: usize, image: &mut Vec<u8>) -> Result<Option<ReadBack>, Error> {
    let mut options = Options::new(Spec::parse(codec).unwrap());
    options.block_size = BlockSize::new(BLOCK as u64).unwrap();
    let start = Start {
        root: META,
        defaults: META,
        input: "test".into(),
        memory: usize::MAX,
        verify: true,
        lookup: Default::default(),
        scratch: None,
    };
    let mut sink = Faulty { image, bit, syncs: 0 };
    let mut writer = Writer::new(&mut sink, options, Config::new(workers, 1 << 20), start).unwrap();
    for (entry, bytes) in entries() {
        writer.add(&entry, FileHints::default(), &mut Content(bytes, 0)).unwrap();
    }
    let mut calls = Calls(Vec::new());
    let summary = writer.finish_with(&mut calls)?;
    let read = summary.read_back.map_or(0, |read| read.bytes);
    let calls = calls.0;
    assert!(calls.first() == Some(&(0, read)) && calls.last() == Some(&(read, read)), "{calls:?}");
    Ok(summary.read_back)
}

#[test]
fn each_of_a_thousand_changed_bits_is_found() {
    let codecs = ["gzip", "zstd", "xz", "lz4", "lzo"];
    for (number, codec) in codecs.iter().enumerate() {
        let mut whole = Vec::new();
        let read = pack(codec, u64::MAX, 0, &mut whole).unwrap().unwrap();
        let bits = whole.len() as u64 * 8;
        let superblock = SUPERBLOCK_BYTES * 8;
        assert!(read.bytes * 8 == bits && read.parts > 8, "{read:?}");
        let step = bits / 200;
        for fault in 0..200 {
            // In all parts of the image, and 20 in the superblock.
            let bit = if fault < 20 { fault * superblock / 20 + number as u64 } else { fault * step + fault % 8 };
            let mut image = Vec::new();
            let found = pack(codec, bit, 0, &mut image);
            let offset = match &found {
                Err(Error::ReadBack { offset, what, .. }) if !what.is_empty() => *offset,
                other => panic!("{codec}: bit {bit} of {bits}: {other:?}"),
            };
            assert!(offset <= bit / 8 && bit / 8 - offset <= 70_000, "{codec}: bit {bit}: {found:?}");
            assert!(image[..4] == [0; 4], "{codec}: bit {bit}: the image has a superblock");
        }
    }
}

#[test]
fn workers_find_the_same_fault() {
    let message = |workers| pack("zstd", 30_001, workers, &mut Vec::new()).unwrap_err().to_string();
    let serial = message(0);
    assert!(serial.contains(" at byte ") && serial.contains("d/noise"), "{serial}");
    assert!([1, 2, 7].into_iter().all(|workers| message(workers) == serial));
}

#[test]
fn verification_changes_no_byte() {
    for codec in ["none", "gzip", "lzma"] {
        let mut image = Vec::new();
        pack(codec, u64::MAX, 2, &mut image).unwrap();
        assert!(image == crate::test_image::image(entries(), codec, |_| {}), "{codec}");
    }
}
