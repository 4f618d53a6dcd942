//! Compressed inputs of common tools: complete, concatenated, truncated and damaged.

use std::fs;
use std::io::{self, Cursor, Read};

use crate::tar_support::*;
use packline_archives::decompress::{Limits, open};
use packline_archives::tar::{Meter, Metered, TarOptions, open_file, open_stream};
use packline_testkit::tools;
use packline_tree::Extent;

const MIB: usize = 1 << 20;

/// A program as a filter. `None`, with a message, if it is not installed.
fn filter(program: &str, options: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    if !tools::need(&[program]) {
        return None;
    }
    let output = fed(program, options, input);
    assert!(output.status.success(), "{program} {options:?}");
    Some(output.stdout)
}

fn limits(threads: usize) -> Limits {
    Limits { threads, ..Limits::default() }
}

/// A reader that returns odd numbers of bytes.
struct Dribble(Cursor<Vec<u8>>, usize);

impl Read for Dribble {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = self.1 * 7 % 100_003 + 1;
        let length = buffer.len().min(self.1);
        self.0.read(&mut buffer[..length])
    }
}

fn decoded(compressed: &[u8], limits: &Limits) -> (Vec<u8>, Option<String>) {
    let input = Dribble(Cursor::new(compressed.to_vec()), 17);
    let mut out = Vec::new();
    let outcome = open(input, limits).unwrap().read_to_end(&mut out);
    (out, outcome.err().map(|error| error.to_string()))
}

/// Decodes with one thread and with four. The results must be equal.
fn decode(compressed: &[u8]) -> (Vec<u8>, Option<String>) {
    let one = decoded(compressed, &limits(1));
    let more = decoded(compressed, &limits(4));
    assert_eq!(one.1, more.1);
    // The output of liblzma's threads before they detect damage depends on timing.
    assert!(one.0 == more.0 || (one.1.is_some() && compressed.starts_with(b"\xfd7zXZ")));
    one
}

/// Arguments of each tool, and whether its streams may be concatenated.
const TOOLS: &[(&str, &[&str], bool)] = &[
    ("gzip", &["-c"], true),
    ("gzip", &["-c", "-1", "-N"], true),
    ("pigz", &["-c", "-b128"], true),
    ("bzip2", &["-c"], true),
    ("bzip2", &["-c", "-1"], true),
    ("xz", &["-c", "-1"], true),
    ("xz", &["-c", "-1", "-T2", "--block-size=300KiB"], true),
    ("xz", &["-c", "-0", "--check=none"], true),
    ("xz", &["-c", "-1", "--format=lzma"], false),
    ("zstd", &["-c"], true),
    ("zstd", &["-c", "-T2", "--no-check"], true),
    ("zstd", &["-c", "-1", "--long=23"], true),
    ("pzstd", &["-c", "-p", "2", "-1"], true),
    ("lz4", &["-c"], true),
    ("lz4", &["-c", "-BD", "-B4"], true),
    ("lz4", &["-c", "-B5", "-BX", "--no-frame-crc", "-9"], true),
    ("lz4", &["-c", "-l"], true),
];

#[test]
fn round_trips_of_every_tool() {
    let texts = [vec![], b"x".to_vec(), bytes(1, MIB + 417), [vec![0; MIB], noise(300_000)].concat()];
    for (program, options, joins) in TOOLS {
        for text in &texts {
            let Some(compressed) = filter(program, options, text) else { break };
            let what = format!("{program} {options:?} of {} bytes", text.len());
            assert_eq!(decode(&compressed), (text.clone(), None), "{what}");
            let zeros = [&compressed[..], &[0; 1000]].concat();
            let is_legacy = options.contains(&"-l");
            if !is_legacy {
                assert_eq!(decode(&zeros), (text.clone(), None), "{what}, zeros after it");
            }
            if *joins {
                let (found, error) = decode(&compressed.repeat(3));
                assert!(found == text.repeat(3) && error.is_none(), "{what}, three times: {error:?}");
            }
        }
    }
}

fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut step = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..length).map(|_| step()).collect()
}

#[test]
fn cut_short() {
    let text = bytes(2, 400_000);
    for (program, options, _) in TOOLS {
        let Some(compressed) = filter(program, options, &text) else { continue };
        let is_legacy = options.contains(&"-l");
        for length in [20, compressed.len() / 2, compressed.len() - 5, compressed.len() - 1] {
            let (found, error) = decode(&compressed[..length]);
            let error = error.unwrap_or_else(|| panic!("{program} {options:?} cut to {length} was accepted"));
            assert!(error.contains(" data: ") && error.contains("compressed byte "), "{program} {options:?}: {error}");
            assert!(!error.contains('\n'));
            assert!(text.starts_with(&found) || is_legacy, "{program} {options:?}");
        }
    }
}

/// A changed bit is detected or has no effect: no format has a checksum over each bit, but all have one over the content.
#[test]
fn damaged() {
    let text = bytes(3, 150_000);
    for (program, options, _) in TOOLS {
        let has_sum =
            !options.iter().any(|option| matches!(*option, "--no-check" | "--check=none" | "--no-frame-crc" | "-l"));
        if !has_sum || options.contains(&"--format=lzma") || options.contains(&"--long=23") {
            continue;
        }
        let Some(compressed) = filter(program, options, &text) else { continue };
        for step in 0..40 {
            let mut damaged = compressed.clone();
            let at = 10 + step * (compressed.len() - 10) / 40;
            damaged[at] ^= 1 << (step % 8);
            let (found, error) = decode(&damaged);
            match error {
                Some(error) => {
                    let place = error.rsplit("compressed byte ").next().unwrap().split(',').next().unwrap();
                    let place: usize = place.parse().unwrap_or_else(|_| panic!("no place in: {error}"));
                    assert!(place <= compressed.len() && (*program != "gzip" || place >= at), "{at}: {error}");
                }
                None => assert!(found == text, "{program} {options:?}: damage at {at} passed"),
            }
        }
    }
}

#[test]
fn rejects_other_bytes_after_the_stream() {
    let text = bytes(4, 10_000);
    for (program, options, _) in TOOLS.iter().filter(|(_, options, _)| !options.contains(&"-l")) {
        let Some(compressed) = filter(program, options, &text) else { continue };
        let (found, error) = decode(&[&compressed[..], b"garbage"].concat());
        let expected = format!("unknown data follows the stream near compressed byte {}", compressed.len());
        assert!(error.clone().is_some_and(|error| error.ends_with(&expected)), "{program} {options:?}: {error:?}");
        assert!(found == text, "{program} {options:?}");
    }
}

#[test]
fn zstd_frames_of_many_sizes() {
    let texts: Vec<Vec<u8>> = (0..30).map(|seed| bytes(seed, (seed * seed * 3000) as usize)).collect();
    let mut joined = Vec::new();
    for text in &texts {
        let Some(frame) = filter("zstd", &["-c", "-1"], text) else { return };
        // A skippable frame between all frames.
        joined.extend_from_slice(&[0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9]);
        joined.extend_from_slice(&frame);
    }
    assert_eq!(decode(&joined), (texts.concat(), None));
}

#[test]
fn one_frame_larger_than_the_buffers() {
    let text = noise(6 * MIB);
    for (program, options) in
        [("zstd", &["-c", "-1"][..]), ("lz4", &["-c"]), ("gzip", &["-c", "-1"]), ("bzip2", &["-c"])]
    {
        let Some(compressed) = filter(program, options, &text) else { continue };
        let small = Limits { threads: 3, buffers: 0, ..Limits::default() };
        assert_eq!(decoded(&compressed.repeat(2), &small), (text.repeat(2), None), "{program}");
    }
}

/// BGZF members: gzip headers with an extra field that contains the member's size.
#[test]
fn gzip_members_with_their_size() {
    let text = bytes(6, 2 * MIB);
    let mut joined = Vec::new();
    for piece in text.chunks(60_000).chain([&b""[..]]) {
        let Some(member) = filter("gzip", &["-c", "-n"], piece) else { return };
        let size = (member.len() + 8 - 1) as u16;
        let mut header = member[..10].to_vec();
        header[3] |= 4;
        header.extend_from_slice(&[6, 0, b'B', b'C', 2, 0]);
        header.extend_from_slice(&size.to_le_bytes());
        joined.extend_from_slice(&[&header, &member[10..]].concat());
    }
    assert_eq!(decode(&joined), (text.clone(), None));
    let plain = filter("gzip", &["-c"], b"plain at the end").unwrap();
    assert_eq!(decode(&[&joined[..], &plain].concat()).0, [&text[..], b"plain at the end"].concat());
    joined[100] ^= 4;
    assert!(decode(&joined).1.is_some());
}

#[test]
fn windows_beyond_the_limit() {
    let text = noise(3 * MIB);
    let small = Limits { window: MIB as u64, ..Limits::default() };
    for (program, options) in [
        ("zstd", &["-c", "--long=24", "--no-check"][..]),
        ("xz", &["-c", "-6"]),
        ("xz", &["-c", "-6", "--format=lzma"]),
    ] {
        let Some(compressed) = filter(program, options, &text) else { continue };
        let (found, error) = decoded(&compressed, &small);
        assert!(found.is_empty());
        assert!(error.clone().unwrap().contains("needs a window of more than 1 MiB"), "{program}: {error:?}");
        assert_eq!(decoded(&compressed, &Limits::default()).1, None, "{program}");
    }
}

/// A bzip2 block that contains the block mark by chance is still one block.
#[test]
fn a_bzip2_mark_within_noise_is_not_a_block() {
    let Some(compressed) = filter("bzip2", &["-c"], &noise(100_000)) else { return };
    // Writing the mark over compressed symbols makes the block fail its checksum, and the message must be about that block.
    let mut damaged = compressed.clone();
    damaged[50_000..50_006].copy_from_slice(&[0x31, 0x41, 0x59, 0x26, 0x53, 0x59]);
    let (_, error) = decode(&damaged);
    assert!(error.clone().unwrap().contains("corrupt block"), "{error:?}");
}

#[test]
fn the_combined_checksum_of_bzip2_counts() {
    let Some(mut compressed) = filter("bzip2", &["-c"], &bytes(1, 5000)) else { return };
    let joined = [&compressed[..], &compressed[..]].concat();
    assert_eq!(decode(&joined).1, None);
    let at = compressed.len() - 3;
    compressed[at] ^= 0x10;
    let (_, error) = decode(&[&compressed[..], &joined].concat());
    assert!(error.clone().unwrap().contains("wrong checksum of the stream"), "{error:?}");
}

/// The input's own error is reported at its position, after everything that could be decoded.
#[test]
fn errors_of_the_input_pass_through() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let text = bytes(8, 300_000);
    for (program, options) in [("gzip", &["-c"][..]), ("zstd", &["-c"]), ("bzip2", &["-c", "-1"]), ("xz", &["-c"])] {
        let Some(compressed) = filter(program, options, &text) else { continue };
        let half = compressed[..compressed.len() / 2].to_vec();
        let mut out = Vec::new();
        let outcome = open(Cursor::new(half).chain(Fails), &limits(2)).unwrap().read_to_end(&mut out);
        assert_eq!(outcome.unwrap_err().to_string(), "the disk is gone", "{program}");
    }
    assert_eq!(open(Fails, &limits(1)).err().unwrap().to_string(), "the disk is gone");
}

#[test]
fn a_dropped_reader_ends_all_threads() {
    let text = noise(8 * MIB);
    for (program, options) in [("gzip", &["-c", "-1"][..]), ("bzip2", &["-c", "-1"]), ("zstd", &["-c", "-1"])] {
        let Some(compressed) = filter(program, options, &text) else { continue };
        let (sender, ended) = std::sync::mpsc::channel();
        struct NotifyOnDrop(Cursor<Vec<u8>>, std::sync::mpsc::Sender<()>);
        impl Read for NotifyOnDrop {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0.read(buffer)
            }
        }
        impl Drop for NotifyOnDrop {
            fn drop(&mut self) {
                let _ = self.1.send(());
            }
        }
        let mut reader = open(NotifyOnDrop(Cursor::new(compressed), sender), &limits(2)).unwrap();
        reader.read_exact(&mut [0; 1000]).unwrap();
        drop(reader);
        ended.recv().unwrap();
    }
}

/// A tar of a few files, compressed by each tool, from a file and from a stream.
#[test]
fn compressed_tars_are_sources() {
    let archive = [file("a", &bytes(1, 200_000)), file("b", b"b"), file("c", &bytes(2, 99_999)), end()].concat();
    let expected = read_bytes(&archive).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("archive");
    for (program, options, _) in TOOLS.iter().chain([&("cat", &[][..], false)]) {
        let Some(compressed) = filter(program, options, &archive) else { continue };
        fs::write(&path, &compressed).unwrap();
        let mut source = open_file(&path, TarOptions::default(), &limits(2)).unwrap();
        assert_eq!(read_all(source.as_mut()).unwrap(), expected, "{program} {options:?}");
        let (consumed, total) = source.progress();
        assert_eq!(total, Some(compressed.len() as u64));
        assert!(consumed <= compressed.len() as u64 && consumed + 2048 > compressed.len() as u64);
        let stream = Cursor::new(compressed.clone());
        let mut source = open_stream(stream, TarOptions::named("standard input"), &limits(2)).unwrap();
        assert_eq!(read_all(source.as_mut()).unwrap(), expected, "{program} {options:?} as a stream");
    }
}

/// The data after the tar's end is read too: a stream whose last bytes are missing is truncated.
#[test]
fn detects_a_cut_after_the_end_of_the_tar() {
    let archive = [file("a", b"a"), end(), vec![0; 100_000]].concat();
    let Some(compressed) = filter("gzip", &["-c"], &archive) else { return };
    let cut = Cursor::new(compressed[..compressed.len() - 4].to_vec());
    let mut source = open_stream(cut, TarOptions::named("standard input"), &limits(1)).unwrap();
    let error = read_all(source.as_mut()).unwrap_err().to_string();
    let expected = format!("standard input: cannot read: gzip data: ends at compressed byte {}", compressed.len() - 4);
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn a_meter_counts_what_is_read() {
    let meter = Meter::new(Some(10));
    let mut reader = Metered::new(&b"0123456789"[..], meter.clone());
    reader.read_exact(&mut [0; 4]).unwrap();
    assert_eq!((meter.consumed(), meter.total()), (4, Some(10)));
}

#[test]
fn skips_an_unused_source() {
    let archive = [file("a", &bytes(1, 500_000)), file("b", b"content"), end()].concat();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("archive.tar");
    fs::write(&path, &archive).unwrap();
    let mut source = open_file(&path, TarOptions::default(), &limits(1)).unwrap();
    source.next_entry().unwrap().unwrap();
    source.next_entry().unwrap().unwrap();
    let mut buffer = [0; 100];
    assert_eq!(source.read(&mut buffer).unwrap(), Extent::Data(7));
    assert_eq!(source.progress(), (archive.len() as u64 - 1024 - 505, Some(archive.len() as u64)));
}
