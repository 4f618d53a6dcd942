//! Complete streams, decompressed by common programs.

use std::io::Write;
use std::process::{Command, Stdio};

use packline_codec::{StreamFormat, StreamSpec};
use packline_testkit::tools;

/// Prose and noise, enough for several chunks.
fn content(length: usize) -> Vec<u8> {
    let mut state = 9u64;
    let mut bytes = Vec::with_capacity(length + 100);
    while bytes.len() < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match state >> 62 {
            0 => bytes.extend_from_slice(&state.to_le_bytes()),
            _ => bytes.extend_from_slice(format!("{} and so on, ", state >> 52).as_bytes()),
        }
    }
    bytes.truncate(length);
    bytes
}

fn stream(spec: StreamSpec, content: &[u8]) -> Vec<u8> {
    let mut bytes = spec.start();
    let mut end = spec.end();
    let mut encoder = spec.encoder().unwrap();
    for chunk in content.chunks(spec.chunk()) {
        let member = encoder.encode(chunk).unwrap();
        end.note(&member);
        bytes.extend_from_slice(&member.bytes);
    }
    bytes.extend_from_slice(&end.bytes());
    bytes
}

/// The output of a program that reads a stream from standard input; `None` if the program is missing and the test is skipped.
fn decompress(program: &str, arguments: &[&str], stream: Vec<u8>) -> Option<Vec<u8>> {
    if !tools::need(&[program]) {
        return None;
    }
    let mut command = Command::new(program);
    let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(&stream));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}");
    writer.join().unwrap().unwrap();
    Some(output.stdout)
}

fn check(spec: StreamSpec, length: usize, readers: &[&[&str]]) {
    let content = content(length);
    let stream = stream(spec, &content);
    assert!(length < 1000 || stream.len() < length * 9 / 10, "{spec}: {} of {length}", stream.len());
    for reader in readers {
        if let Some(found) = decompress(spec.format().name(), reader, stream.clone()) {
            assert!(found == content, "{spec} {length}: other bytes from {reader:?}");
        }
    }
}

#[test]
fn gzip_reads_gzip() {
    let spec = StreamSpec::new(StreamFormat::Gzip);
    for length in [1, 1 << 20, (3 << 20) + 17] {
        check(spec, length, &[&["-dc"]]);
    }
}

#[test]
fn bzip2_reads_bzip2() {
    let spec = StreamSpec::new(StreamFormat::Bzip2);
    for length in [1, spec.chunk(), spec.chunk() * 2 + 5] {
        check(spec, length, &[&["-dc"]]);
    }
}

#[test]
fn zstd_reads_zstd() {
    let spec = StreamSpec::new(StreamFormat::Zstd);
    for length in [1, spec.chunk(), spec.chunk() * 2 + 5] {
        check(spec, length, &[&["-dc"]]);
    }
}

#[test]
fn xz_reads_xz() {
    let spec = StreamSpec::parse("xz:level=0").unwrap();
    for length in [0, 1, spec.chunk(), spec.chunk() * 2 + 5] {
        check(spec, length, &[&["-dc"], &["-dc", "-T2"]]);
    }
}

#[test]
fn xz_at_its_default_level() {
    check(StreamSpec::new(StreamFormat::Xz), 1 << 20, &[&["-dc"]]);
}
