//! The output is the same with any resources, and Debian's lrzip reads it.
#![allow(clippy::unwrap_used, clippy::panic)] // tests may panic

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use packline_lrz::{
    BackEnd, Error, Input, Observer, Password, Progress, Resources, Sink, Source, Unobserved, WindowSize, WriteOptions,
    Written, compress,
};
use packline_runtime::{InputChange, MemoryFault, WorkFault, hex};
use packline_testkit::Random;
use packline_testkit::tools::need;

/// An output that cannot be patched.
struct Pipe(Vec<u8>);

impl Sink for Pipe {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// The warnings, in order, and the last progress.
#[derive(Default)]
struct Notices(Vec<String>, u64);

impl Observer for Notices {
    fn advance(&mut self, progress: &Progress) {
        let done = progress.source_bytes;
        let total = progress.source_total;
        assert!(done >= self.1 && total.is_none_or(|total| done <= total), "{done} of {total:?} after {}", self.1);
        self.1 = done;
    }

    fn warning(&mut self, message: &str) {
        self.0.push(message.to_owned());
    }
}

fn options(back_end: BackEnd, level: u32, window: u64) -> WriteOptions {
    WriteOptions { back_end, level, window: WindowSize::Bytes(window), ..WriteOptions::default() }
}

fn resources(workers: usize) -> Resources {
    let mut resources = Resources::new(workers);
    resources.scratch = Some("/tmp".into());
    resources
}

fn at(bytes: &[u8]) -> Source<'static> {
    Source::At(Arc::new(bytes.to_vec()))
}

fn written(bytes: &[u8], options: &WriteOptions) -> (Vec<u8>, Written) {
    let mut out = Vec::new();
    let sums = compress(at(bytes), &mut out, options, &resources(2), &mut Unobserved).unwrap();
    assert_eq!((sums.stored, sums.plain), (out.len() as u64, bytes.len() as u64));
    assert_eq!(sums.literal_bytes + sums.match_bytes, sums.plain);
    (out, sums)
}

/// Text, noise, runs and repeats from near and far.
fn mixed(length: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes = random.prose(length / 8);
    while bytes.len() < length {
        let size = 1 + random.below(length as u64 / 8) as usize;
        match random.below(4) {
            0 => bytes.extend(random.prose(size)),
            1 => bytes.extend(random.noise(size / 4)),
            2 => bytes.extend(vec![random.bits() as u8; size / 2]),
            _ => {
                let start = random.below(bytes.len() as u64) as usize;
                bytes.extend_from_within(start..(start + size).min(bytes.len()));
            }
        }
    }
    bytes.truncate(length);
    bytes
}

fn lrzip(directory: &Path, line: &[&str], input: Option<&Path>) -> Output {
    let mut command = Command::new("lrzip");
    command.current_dir(directory).env("LRZIP", "NOCONFIG").args(line).stdin(Stdio::null());
    if let Some(input) = input {
        command.stdin(File::open(directory.join(input)).unwrap());
    }
    command.output().unwrap()
}

/// Checks that lrzip decompresses a file in every way, and lists it.
fn lrzip_reads(file: &[u8], plain: &[u8], password: Option<&str>, what: &str) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    fs::write(path.join("x.lrz"), file).unwrap();
    let word = password.map(|password| format!("--encrypt={password}"));
    let word: Vec<&str> = word.iter().map(String::as_str).collect();
    let messages =
        |output: &Output| format!("{what}: {}", String::from_utf8_lossy(&[&*output.stdout, &output.stderr].concat()));
    let made = lrzip(path, &[&["-d", "-f", "-o", "x", "x.lrz"], &*word].concat(), None);
    assert!(made.status.success() && fs::read(path.join("x")).unwrap() == plain, "{}", messages(&made));
    if password.is_some() {
        return; // Debian's lrzip rejects the rest.
    }
    let made = lrzip(path, &["-d", "-q"], Some(Path::new("x.lrz")));
    assert!(
        made.status.success() && made.stdout == plain,
        "{what}: from stdin: {}",
        String::from_utf8_lossy(&made.stderr)
    );
    let listed = lrzip(path, &["-i", "-vv", "x.lrz"], None);
    let text = messages(&listed);
    let bad = ["orrupt", "nvalid", "ailed", "nexpected"].iter().any(|word| text.contains(word));
    assert!(listed.status.success() && !bad, "{text}");
    assert!(text.contains(&hex(&file[file.len() - 16..])), "{text}");
}

/// Contents at the edges of the format, with a name and a window.
fn edges() -> Vec<(&'static str, Vec<u8>, u64)> {
    let block = mixed(70_000, 1);
    let twice = [&*block, &block].concat();
    vec![
        ("empty", Vec::new(), 1 << 30),
        ("one byte", vec![7], 1 << 30),
        ("31 bytes", mixed(31, 2), 1 << 30),
        ("63 bytes of one kind", vec![b'a'; 63], 1 << 30),
        ("a run", vec![0; 300_000], 1 << 30),
        ("noise", Random::new(3).noise(300_000), 1 << 30),
        ("text", Random::new(4).prose(300_000), 1 << 30),
        ("a match at the end", twice.clone(), 1 << 30),
        ("exactly a chunk", block.clone(), 70_000),
        ("exactly two chunks", twice, 70_000),
        ("a chunk and a byte", mixed(70_001, 5), 70_000),
        ("many chunks", mixed(1_000_000, 6), 99_999),
        ("chunks of all widths", mixed(70_000, 7), 255),
    ]
}

fn every_edge(back_end: BackEnd, level: u32) {
    if !need(&["lrzip"]) {
        return;
    }
    for (name, plain, window) in edges() {
        // Hundreds of tiny chunks give the same result with every back end.
        if window < 1000 && back_end != BackEnd::None {
            continue;
        }
        let (file, sums) = written(&plain, &options(back_end, level, window));
        assert_eq!(sums.chunks, (plain.len() as u64).div_ceil(window).max(1), "{name}");
        lrzip_reads(&file, &plain, None, &format!("{back_end:?} {level} {name}"));
    }
}

#[test]
fn lrzip_reads_stored_blocks() {
    every_edge(BackEnd::None, 7);
}

#[test]
fn lrzip_reads_lzo() {
    every_edge(BackEnd::Lzo, 7);
}

#[test]
fn lrzip_reads_gzip() {
    every_edge(BackEnd::Gzip, 9);
}

#[test]
fn lrzip_reads_bzip2() {
    every_edge(BackEnd::Bzip2, 1);
}

#[test]
fn lrzip_reads_lzma() {
    every_edge(BackEnd::Lzma, 7);
}

#[test]
fn lrzip_reads_zpaq() {
    every_edge(BackEnd::Zpaq, 1);
}

#[test]
fn every_level_is_read() {
    if !need(&["lrzip"]) {
        return;
    }
    let plain = mixed(50_000, 8);
    for back_end in BackEnd::ALL {
        for level in 1..=9 {
            let (file, _) = written(&plain, &options(back_end, level, 40_000));
            lrzip_reads(&file, &plain, None, &format!("{back_end:?} {level}"));
        }
    }
}

#[test]
fn several_blocks_are_read() {
    if !need(&["lrzip"]) {
        return;
    }
    // Level 1 has the smallest blocks.
    let plain = [Random::new(9).prose(5_000_000), Random::new(10).noise(14_000_000)].concat();
    for back_end in [BackEnd::Gzip, BackEnd::Bzip2, BackEnd::Lzma] {
        let (file, sums) = written(&plain, &options(back_end, 1, 1 << 30));
        assert!(sums.streams[1].blocks > 1 && sums.streams[1].plain == sums.literal_bytes, "{back_end:?} {sums:?}");
        lrzip_reads(&file, &plain, None, &format!("{back_end:?}"));
    }
}

/// Encrypts with predictable salts.
fn salted(options: WriteOptions) -> WriteOptions {
    let counter = Arc::new(AtomicU8::new(0));
    let random = move |into: &mut [u8]| {
        into.iter_mut().for_each(|byte| *byte = counter.fetch_add(37, Ordering::Relaxed));
        Ok(())
    };
    WriteOptions { password: Some(Password { bytes: b"pass word".to_vec(), random: Arc::new(random) }), ..options }
}

#[test]
fn lrzip_reads_encrypted_files() {
    if !need(&["lrzip"]) {
        return;
    }
    let plain = mixed(200_000, 11);
    let runs = vec![b'x'; 150_000];
    for (back_end, window, plain) in [
        (BackEnd::None, 1 << 30, &plain),
        (BackEnd::Lzma, 90_000, &plain),
        (BackEnd::Lzo, 100_000, &runs),
        (BackEnd::None, 1 << 30, &Vec::new()),
    ] {
        let (file, _) = written(plain, &salted(options(back_end, 7, window)));
        assert_eq!((file[6], file[22]), (16, 1));
        lrzip_reads(&file, plain, Some("pass word"), &format!("{back_end:?}"));
    }
}

fn stream(bytes: &[u8], options: &WriteOptions, resources: &Resources) -> [Vec<u8>; 2] {
    let mut file = Vec::new();
    let mut pipe = Pipe(Vec::new());
    let mut notices = Notices::default();
    compress(Source::Stream(&mut &*bytes), &mut file, options, resources, &mut notices).unwrap();
    compress(Source::Stream(&mut &*bytes), &mut pipe, options, resources, &mut Unobserved).unwrap();
    [file, pipe.0]
}

#[test]
fn bytes_depend_only_on_the_input_and_the_options() {
    let plain = mixed(1_500_000, 12);
    for (back_end, window) in
        [(BackEnd::None, 1 << 30), (BackEnd::Gzip, 499_999), (BackEnd::Bzip2, 1 << 30), (BackEnd::Lzma, 1_000_000)]
    {
        let options = options(back_end, 2, window);
        let (expected, _) = written(&plain, &options);
        for workers in [0, 1, 2, 7] {
            for memory in [None, Some(64 << 20), Some(1 << 40)] {
                let resources = resources(workers).memory_limit(memory);
                let mut out = Vec::new();
                let made = compress(at(&plain), &mut out, &options, &resources, &mut Notices::default());
                assert!(made.unwrap().workers <= workers && out == expected, "{back_end:?} {resources:?}");
                let [file, pipe] = stream(&plain, &options, &resources);
                assert!(file == expected, "{back_end:?} {resources:?} from a pipe");
                let several = (plain.len() as u64) > window;
                assert_eq!(pipe[6..14] == [0; 8], several);
                assert!(pipe[14..] == expected[14..] && (several || pipe == expected), "{back_end:?} to a pipe");
            }
        }
    }
}

#[test]
fn lrzip_reads_a_file_from_a_pipe_of_unknown_size() {
    if !need(&["lrzip"]) {
        return;
    }
    let plain = mixed(500_000, 13);
    let [_, pipe] = stream(&plain, &options(BackEnd::Lzma, 7, 200_000), &resources(2));
    lrzip_reads(&pipe, &plain, None, "a pipe");
}

#[test]
fn noise_is_stored_unless_the_probe_is_off() {
    let plain = [Random::new(14).noise(2_000_000), b"then a little text ".repeat(3)].concat();
    let probing = options(BackEnd::Bzip2, 9, 1 << 30);
    let (quick, sums) = written(&plain, &probing);
    assert_eq!(sums.streams[1].raw_blocks, sums.streams[1].blocks, "{sums:?}");
    let (tried, _) = written(&plain, &WriteOptions { probe: false, ..probing });
    assert_eq!(quick, tried, "trying is of no use here either");
}

#[test]
fn the_memory_that_an_error_names_is_enough() {
    let plain = mixed(400_000, 15);
    for back_end in [BackEnd::None, BackEnd::Lzma] {
        let options = options(back_end, 7, 1 << 30);
        let run = |memory, workers| {
            let mut out = Vec::new();
            let mut notices = Notices::default();
            let resources = resources(workers).memory_limit(memory);
            let made = compress(at(&plain), &mut out, &options, &resources, &mut notices);
            (made, notices.0)
        };
        let mut needed = 0;
        // Searching and compressing report their demands one after another.
        for _ in 0..3 {
            match run(needed, 7) {
                (Err(Error::Memory(MemoryFault { needed: more, allowed, .. })), _) => {
                    assert!(more > needed && allowed == needed);
                    needed = more;
                }
                (made, notices) => {
                    assert_eq!(made.unwrap().workers, 1);
                    assert!(notices.len() == 1 && notices[0].contains("workers: 1 instead of 7"), "{notices:?}");
                }
            }
        }
        assert!(matches!(run(needed - 1, 7).0, Err(Error::Memory { .. })));
        assert!(run(1 << 40, 7).1.is_empty());
    }
}

/// A file that another program changes or shortens.
struct Unsteady {
    bytes: Vec<u8>,
    declared: u64,
}

impl Input for Unsteady {
    fn size(&self) -> u64 {
        self.declared
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.bytes.read_at(at, into)
    }

    fn change(&self) -> io::Result<InputChange> {
        Ok(InputChange::Content)
    }
}

#[test]
fn reports_a_file_that_becomes_shorter() {
    let input = Arc::new(Unsteady { bytes: mixed(100_000, 16), declared: 120_000 });
    for memory in [None, Some(64 << 20)] {
        let resources = resources(2).memory_limit(memory);
        let options = options(BackEnd::None, 7, 1 << 30);
        let made = compress(Source::At(input.clone()), &mut Vec::new(), &options, &resources, &mut Unobserved);
        assert!(matches!(made, Err(Error::Changed)), "{made:?}");
    }
}

#[test]
fn stores_a_changing_file_up_to_its_size_at_the_start() {
    let bytes = mixed(100_000, 16);
    let options = options(BackEnd::None, 7, 1 << 30);
    let (expected, _) = written(&bytes[..90_000], &options);
    let input = Arc::new(Unsteady { bytes, declared: 90_000 });
    let run = |memory| {
        let mut out = Vec::new();
        let resources = resources(1).memory_limit(memory);
        compress(Source::At(input.clone()), &mut out, &options, &resources, &mut Unobserved).map(|made| (made, out))
    };
    let (in_memory, out) = run(None).unwrap();
    assert!(!in_memory.unsteady && out == expected);
    // The minimum memory is not enough to hold the file too.
    let mut least = 1;
    let (read_again, out) = loop {
        match run(Some(least)) {
            Err(Error::Memory(MemoryFault { needed, .. })) => least = needed,
            made => break made.unwrap(),
        }
    };
    assert!(read_again.unsteady && out == expected);
}

/// A full disk.
struct Full;

impl Sink for Full {
    fn append(&mut self, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

#[test]
fn reports_the_kind_of_each_failure() {
    let plain = mixed(100_000, 17);
    let options = options(BackEnd::Gzip, 7, 1 << 30);
    let made = compress(at(&plain), &mut Full, &options, &resources(2), &mut Unobserved);
    assert!(matches!(made, Err(Error::Output(_))), "{made:?}");
    let stopped = resources(2);
    stopped.cancel.cancel();
    let made = compress(at(&plain), &mut Vec::new(), &options, &stopped, &mut Unobserved);
    assert!(matches!(made, Err(Error::Work(WorkFault::Cancelled))), "{made:?}");
    let nowhere = Resources::new(2).memory_limit(40 << 20);
    let long = vec![1; 60 << 20];
    let made = compress(Source::Stream(&mut &*long), &mut Vec::new(), &options, &nowhere, &mut Unobserved);
    assert!(matches!(made, Err(Error::Memory { .. })), "{made:?}");
    for level in [0, 10] {
        let options = WriteOptions { level, ..WriteOptions::default() };
        let made = compress(at(&plain), &mut Vec::new(), &options, &resources(2), &mut Unobserved);
        assert!(matches!(made, Err(Error::Unsupported { .. })), "{made:?}");
    }
}
