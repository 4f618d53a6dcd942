//! .pln files from end to end: files and streams, intact and damaged.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use packline_codec::Coding;
use packline_pln::RecordSize;

use super::*;
use packline_runtime::Unobserved;

/// Collects the bytes that are written to a stream.
#[derive(Clone, Default)]
struct Caught(Arc<Mutex<Vec<u8>>>);

impl Write for Caught {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Caught {
    fn target(&self) -> Output {
        Output::Stream(PathBuf::from("standard output"), Box::new(self.clone()))
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

fn file(path: &Path) -> Output {
    Output::File { path: path.to_path_buf(), force: false }
}

fn resources() -> Resources {
    Resources::new(2)
}

fn compress(source: Input, target: Output) -> Result<Written, Error> {
    let codings = vec![Coding::parse("slack+lz4").unwrap()];
    let options = WriteOptions { record_size: RecordSize::MIN, codings };
    let mut request = CompressRequest::new(source, target, options);
    request.resources = resources();
    pln_compress(request, &mut Unobserved)
}

fn unpack(source: Input, span: Span, target: Output, keep_broken: bool) -> Result<Unpacked, Error> {
    let mut request = PlnUnpackRequest::new(source, target);
    request.span = span;
    request.keep_broken = keep_broken;
    request.resources = resources();
    pln_unpack(request, &mut Unobserved)
}

fn stream(bytes: &[u8]) -> Input {
    Input::Stream("standard input".to_owned(), Box::new(io::Cursor::new(bytes.to_vec())))
}

fn content() -> Vec<u8> {
    let line = |number: u32| format!("line {number} of some\n");
    (0..3000).map(line).collect::<String>().into_bytes()
}

/// A directory with a file, and the same file compressed.
fn place() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let plain = place.path().join("plain");
    let packed = place.path().join("plain.pln");
    fs::write(&plain, content()).unwrap();
    fs::set_permissions(&plain, Permissions::from_mode(0o640)).unwrap();
    compress(Input::File(plain.clone()), file(&packed)).unwrap();
    (place, plain, packed)
}

#[test]
fn files_and_streams_give_the_same_output() {
    let (place, plain, packed) = place();
    let caught = Caught::default();
    compress(stream(&content()), caught.target()).unwrap();
    assert!(caught.bytes() == fs::read(&packed).unwrap());
    let again = place.path().join("again");
    let caught = Caught::default();
    let whole = unpack(Input::File(packed.clone()), Span::ALL, file(&again), false).unwrap();
    assert!(fs::read(&again).unwrap() == content());
    assert_eq!(unpack(stream(&fs::read(&packed).unwrap()), Span::ALL, caught.target(), false).unwrap(), whole);
    assert!(caught.bytes() == content());
    for path in [&packed, &again] {
        let about = fs::metadata(path).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o640);
        assert_eq!(about.modified().unwrap(), fs::metadata(&plain).unwrap().modified().unwrap());
    }
}

#[test]
fn decompresses_exactly_the_requested_span() {
    let (_place, _, packed) = place();
    let caught = Caught::default();
    let span = Span { start: 5000, length: Some(3000) };
    unpack(Input::File(packed.clone()), span, caught.target(), false).unwrap();
    assert!(caught.bytes() == content()[5000..8000]);
    let beyond = Span { start: 1 << 40, length: None };
    let text = unpack(Input::File(packed.clone()), beyond, caught.target(), false).unwrap_err();
    assert!(text.to_string().starts_with(&format!("{}: bytes 1099511627776 to", packed.display())), "{text}");
}

#[test]
fn lists_and_checks_files() {
    let (place, _, packed) = place();
    let info = pln_info(Input::File(packed.clone()), None, &resources()).unwrap().info.unwrap();
    assert_eq!((info.logical, info.physical), (content().len() as u64, fs::metadata(&packed).unwrap().len()));
    let mut found = 0;
    let verified =
        pln_verify(Input::File(packed.clone()), None, &resources(), &mut |_| found += 1, &mut Unobserved).unwrap();
    assert_eq!((found, verified.findings, verified.blake3), (0, 0, Some(info.blake3)));
    let mut bytes = fs::read(&packed).unwrap();
    bytes[100] ^= 1;
    for source in [stream(&bytes), Input::File(packed.clone())] {
        fs::write(&packed, &bytes).unwrap();
        let mut text = String::new();
        pln_verify(source, None, &resources(), &mut |error| text += &error.to_string(), &mut Unobserved).unwrap();
        assert!(text.starts_with("record 0, at byte 32: "), "{text}");
    }
    let mut resources = resources();
    resources.scratch = Some(place.path().to_path_buf());
    assert_eq!(pln_info(stream(&bytes), None, &resources).unwrap().info.unwrap().blake3, info.blake3);
}

#[test]
fn keeps_data_before_damage_in_streams_and_on_request_in_files() {
    let (place, _, packed) = place();
    let half = fs::metadata(&packed).unwrap().len() / 2;
    File::options().write(true).open(&packed).unwrap().set_len(half).unwrap();
    let out = place.path().join("out");
    let caught = Caught::default();
    let text = unpack(Input::File(packed.clone()), Span::ALL, caught.target(), false).unwrap_err().to_string();
    assert!(text.starts_with(&format!("{}: cut off at byte {half}, in record", packed.display())), "{text}");
    assert!(caught.bytes().len() > 4096 && content().starts_with(&caught.bytes()));
    assert!(unpack(Input::File(packed.clone()), Span::ALL, file(&out), false).is_err());
    assert!(!out.exists());
    assert!(unpack(Input::File(packed), Span::ALL, file(&out), true).is_err());
    assert!(fs::read(&out).unwrap() == caught.bytes());
}

#[test]
fn unstored_zeros_become_holes() {
    let place = tempfile::tempdir().unwrap();
    for parts in [[0, 1 << 20, 100], [10_000, 1 << 20, 0], [0, 1 << 20, 0], [5000, 200_000, 5000]] {
        let [before, zeros, behind] = parts;
        let text = content();
        let bytes = [&text[..before], &vec![0; zeros], &text[..behind]].concat();
        let packed = Caught::default();
        let out = place.path().join("out");
        compress(stream(&bytes), packed.target()).unwrap();
        for (source, target) in [
            (stream(&packed.bytes()), Output::File { path: out.clone(), force: true }),
            (stream(&packed.bytes()), Caught::default().target()),
        ] {
            assert_eq!(unpack(source, Span::ALL, target, false).unwrap().bytes, bytes.len() as u64);
        }
        assert!(fs::read(&out).unwrap() == bytes, "{parts:?}");
        let taken = fs::metadata(&out).unwrap().blocks() * 512;
        assert!(taken < (before + behind) as u64 + (32 << 10), "{parts:?}: {taken}");
    }
}

#[test]
fn keeps_existing_files_and_leaves_nothing_after_errors() {
    let (place, plain, packed) = place();
    let text = compress(Input::File(plain.clone()), file(&packed)).unwrap_err().to_string();
    assert!(text.contains("plain.pln"), "{text}");
    let gone = place.path().join("gone");
    let text = compress(Input::File(gone.clone()), file(&place.path().join("gone.pln"))).unwrap_err().to_string();
    assert!(text.starts_with(&format!("{}: cannot open", gone.display())), "{text}");
    assert!(compress(Input::File(place.path().to_path_buf()), Caught::default().target()).is_err());
    let out = place.path().join("out");
    let text = unpack(Input::File(plain), Span::ALL, file(&out), false).unwrap_err().to_string();
    assert!(text.contains("is not a .pln file: it begins with"), "{text}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
}

#[test]
fn reads_kernel_files_that_report_size_0() {
    let caught = Caught::default();
    let back = Caught::default();
    let written = compress(Input::File(PathBuf::from("/proc/self/status")), caught.target()).unwrap();
    assert!(written.logical > 100);
    unpack(stream(&caught.bytes()), Span::ALL, back.target(), false).unwrap();
    assert!(back.bytes().starts_with(b"Name:"));
}

#[test]
fn memory_errors_name_the_work() {
    let (_place, plain, _) = place();
    let target = Caught::default().target();
    let mut request = CompressRequest::new(Input::File(plain), target, WriteOptions::usual().unwrap());
    request.resources = resources().memory_limit(1 << 20);
    let text = pln_compress(request, &mut Unobserved).unwrap_err().to_string();
    assert!(text.contains("compressing records with 1 worker, in ") && text.contains(" or more is needed"), "{text}");
}
