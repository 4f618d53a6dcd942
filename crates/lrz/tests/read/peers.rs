//! Reads files that lrzip writes.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use packline_testkit::{Random, tools};

use crate::support::{list, read, read_piped, resource_sets, verify};

/// Words, noise, runs, and repeats of them, for literals and matches of every kind.
fn plain(bytes: usize) -> Vec<u8> {
    let mut random = Random::new(5);
    let words: Vec<Vec<u8>> =
        (0..500).map(|_| (0..random.below(9) + 2).map(|_| b'a' + random.below(26) as u8).collect()).collect();
    let mut out = Vec::new();
    while out.len() < bytes {
        match random.below(1000) {
            0 => out.extend(std::iter::repeat_n(b'z', random.below(100_000) as usize)),
            1 => out.extend((0..random.below(3000)).map(|_| random.below(256) as u8)),
            2 if out.len() > 1000 => {
                let start = random.below(out.len() as u64 - 1000) as usize;
                let end = (start + random.below(200_000) as usize).min(out.len());
                out.extend_from_within(start..end);
            }
            _ => {
                out.extend_from_slice(&words[random.below(500) as usize]);
                out.push(b' ');
            }
        }
    }
    out.truncate(bytes);
    out
}

/// Compresses a file with lrzip.
fn packed(place: &Path, plain: &[u8], options: &[&str]) -> Vec<u8> {
    let from = place.join("plain");
    let to = place.join("packed.lrz");
    fs::write(&from, plain).unwrap();
    tools::run(Command::new("lrzip").args(["-q", "-f"]).args(options).arg("-o").arg(&to).arg(&from)).unwrap();
    fs::read(to).unwrap()
}

/// Compresses a pipe with lrzip.
fn piped(plain: &[u8], options: &[&str]) -> Vec<u8> {
    let mut command = Command::new("lrzip");
    command.arg("-q").args(options).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = plain.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    output.stdout
}

/// Reads a file in every way, and compares the result with the original.
fn check(packed: &[u8], plain: &[u8], what: &str) {
    for resources in resource_sets() {
        let outcome = read(packed, None, &resources);
        if resources.memory.is_some() && matches!(outcome, Err(packline_lrz::Error::Memory { .. })) {
            continue;
        }
        let (found, unpacked) = outcome.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(found == plain, "{what}: other bytes");
        assert!(unpacked.md5.is_some() && unpacked.md5 == unpacked.stored_md5, "{what}");
        assert!(read_piped(packed, None, &resources).unwrap() == plain, "{what}: other bytes through a pipe");
        assert_eq!(verify(packed, None, &resources).unwrap(), unpacked, "{what}");
    }
    assert!(list(packed, None).unwrap() <= plain.len() as u64, "{what}");
}

#[test]
fn reads_every_back_end_and_level() {
    if !tools::need(&["lrzip"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let plain = plain(3 << 20);
    for back_end in ["-n", "-l", "-g", "-b", "--lzma"] {
        for level in ["-L1", "-L5", "-L9"] {
            check(&packed(place.path(), &plain, &[back_end, level]), &plain, &format!("{back_end} {level}"));
        }
    }
    for level in ["-L1", "-L5", "-L9"] {
        check(&packed(place.path(), &plain[..100_000], &["-z", level]), &plain[..100_000], &format!("zpaq {level}"));
    }
}

#[test]
fn reads_sizes_at_the_edges() {
    if !tools::need(&["lrzip"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let plain = plain(70_000);
    for size in [0, 1, 31, 63, 64, 255, 256, 4095, 4096, 65_535, 65_536] {
        for back_end in ["-n", "-g", "--lzma"] {
            check(&packed(place.path(), &plain[..size], &[back_end]), &plain[..size], &format!("{back_end} {size}"));
        }
    }
    check(&packed(place.path(), &[7; 3_000_000], &["-n"]), &[7; 3_000_000], "one byte, over and over");
}

/// lrzip cannot read some of these files itself: if the opcodes are too few to compress, the magic has no dictionary.
#[test]
fn reads_files_that_came_through_a_pipe() {
    if !tools::need(&["lrzip"]) {
        return;
    }
    let plain = plain(1 << 20);
    for size in [10, 12_813, 100_000, 1 << 20] {
        for back_end in ["-n", "-l", "--lzma"] {
            check(&piped(&plain[..size], &[back_end]), &plain[..size], &format!("piped {back_end} {size}"));
        }
    }
}

#[test]
fn reads_encrypted_files_only_with_their_password() {
    if !tools::need(&["lrzip"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let plain = plain(300_001);
    for (back_end, resources) in ["-n", "--lzma"].into_iter().zip(resource_sets()) {
        let packed = packed(place.path(), &plain, &[back_end, "--encrypt=a password"]);
        assert!(read(&packed, Some(b"a password"), &resources).unwrap().0 == plain, "{back_end}");
        let refused = |password| read(&packed, password, &resources).map(|_| ()).unwrap_err().to_string();
        assert!(refused(None).contains("expected a password"), "{back_end}");
        if back_end == "-n" {
            assert!(refused(Some(b"another")).contains("wrong"), "{back_end}");
        }
    }
}

#[test]
fn reads_many_chunks_and_blocks() {
    if !tools::need(&["lrzip"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    // A window is a multiple of 100 MB, and a chunk has at least that size.
    let once = plain(20 << 20);
    let plain = once.repeat(6);
    let packed = packed(place.path(), &plain, &["-l", "-w1", "-p4"]);
    let resources = &resource_sets()[0];
    let (found, unpacked) = read(&packed, None, resources).unwrap();
    assert!(found == plain && unpacked.chunks == 2, "{}", unpacked.chunks);
    let tight = resources.clone().memory_limit(40 << 20);
    assert!(read(&packed, None, &tight).unwrap().0 == plain);
    assert!(read_piped(&packed, None, &tight).unwrap() == plain);
}
