//! Tests of compress and decompress in process: options that contradict each other.

use std::ffi::OsString;

use super::harness::{
    Ran, SharedBuffer, assert_misuse, assert_options_are, host, io, options_of, run, run_on, sandbox,
};
use crate::args::parser::{bare_parser_of, without_digits};
use crate::dispatch;

#[test]
fn compress_and_decompress_share_options() {
    let of_compress = [
        "recipient",
        "recipients-file",
        "passphrase",
        "pad",
        "decompress",
        "level",
        "fast",
        "ultra",
        "long",
        "codec",
        "record-size",
        "recovery",
        "cache",
        "cache-size",
        "no-cache",
    ];
    let all = options_of("compress");
    assert_options_are("decompress", all.iter().map(String::as_str).filter(|long| !of_compress.contains(long)));
}

const CONTRADICTIONS: [(&[&str], &str); 42] = [
    (&["compress", "--recipient", "age1x", "x"], "--recipient: not a valid recipient (expected age1..., ssh-"),
    (&["compress", "--recipient", "ssh-dss AAAA", "x"], "--recipient: not a valid recipient"),
    (
        &["compress", "--passphrase", "x"],
        "--passphrase: cannot ask for a passphrase: no terminal, or no answer; use --pass",
    ),
    (&["compress", "--passphrase", "--cache", "c", "x"], "--cache: cannot be used with encryption, because a cache"),
    (&["compress", "--identity", "k", "x"], "--identity: has no effect when files are compressed; use --recipient"),
    (&["compress", "-d", "--recipient", "k", "x.pln"], "--recipient: has no effect when files are decompressed"),
    (&["compress", "-l", "--recipient", "k", "x.pln"], "--recipient: has no effect with --list"),
    (&["compress", "-9", "-c", "lz4", "x"], "--level: cannot be used with --codec"),
    (&["compress", "-c", "lz5", "x"], "--codec: unknown codec 'lz5' (expected one of slack, none"),
    (&["compress", "-c", "slack+slack", "x"], "--codec: unknown codec 'slack'"),
    (&["compress", "-c", "xz:dictsize=70%", "x"], "--codec: xz: dictsize=70%"),
    (&["compress", "-c", "lz5:help"], "--codec: unknown codec 'lz5'"),
    (&["compress", "-23", "x"], "--level: 23 is out of range (expected 1 to 22)"),
    (&["compress", "-0", "x"], "--level: 0 is out of range"),
    (&["compress", "--record-size", "5000", "x"], "--record-size: records of 5000 bytes (expected a power of two"),
    (&["compress", "--record-size", "2K", "x"], "--record-size: 2K is out of range (expected 4K to 16M)"),
    (&["compress", "--stdout", "-o", "y", "x"], "--stdout: cannot be used with --output"),
    (&["compress", "-o", "y", "x", "z"], "--output: 2 files cannot be written to 'y'"),
    (&["compress", "-o", "y.zst", "x"], "--output: the name suggests a file compressed with zstd"),
    (
        &["compress", "--stdout", "x", "z"],
        "--stdout: 2 files were given, but .pln files cannot be concatenated; compress one",
    ),
    (&["compress", "-c", "x"], "--codec: unknown codec 'x' (expected one of slack, none"),
    (&["compress", "-c", "x"], "; -c is the codec; --stdout writes to standard output"),
    (
        &["compress", "-dc", "x"],
        "--codec: has no effect when files are decompressed (-c is the codec; --stdout writes to",
    ),
    (&["compress", "-c"], "--codec: a value is missing (--stdout writes to standard output)"),
    (&["decompress", "-c", "x.pln"], "unknown option '-c' (did you mean '--stdout'?"),
    (&["compress", "--fast", "-3", "x"], "--fast: cannot be used with --level"),
    (&["compress", "--fast=0", "x"], "--fast: 0 is out of range (expected 1 to 131072)"),
    (&["compress", "--long=27", "x"], "--long=27: each record is compressed on its own"),
    (&["compress", "--long", "x"], "use a larger --record-size (up to 16M), or 'packline lrzip'"),
    (&["compress", "-d", "--ultra", "x"], "--ultra: has no effect when files are decompressed"),
    (&["compress", "-l", "-9", "x"], "--level: has no effect with --list"),
    (&["decompress", "-l"], "--list: cannot read a stream, because the tables are at its end"),
    (&["decompress", "-lt", "x"], "cannot be used with"),
    (&["compress", "-", "-"], "standard input can be read only once"),
    (&["compress", "--rm", "--stdout", "x"], "--rm: works only if the inputs and the outputs are files"),
    (&["compress", "--rm", "-o", "y"], "--rm: works only if the inputs and the outputs are files"),
    (&["compress", "--json", "--stdout", "x"], "--json: the output goes to standard output"),
    (&["compress", "-q", "-v", "x"], "--quiet: cannot be used with --verbose"),
    (&["compress", "--keep-broken", "x"], "--keep-broken: has no effect"),
    (&["compress", "-d", "-3", "x.pln"], "--level: has no effect when files are decompressed"),
    (&["compress", "-t", "-f", "x.pln"], "--force: has no effect with --test"),
    (&["decompress", "-t", "--rm", "x.pln"], "--rm: has no effect with --test"),
];

#[test]
fn rejects_contradicting_options() {
    assert_misuse(&CONTRADICTIONS);
}

#[test]
fn dash_and_number_set_level() {
    let parser = bare_parser_of(dispatch::table::find("compress".as_ref()).unwrap());
    let words = |words: &[&str]| {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        without_digits(Some("level"), &parser, &words)
            .iter()
            .map(|word| word.to_str().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(words(&["-19", "-T2", "x"]), ["--level=19", "-T2", "x"]);
    assert_eq!(words(&["-", "--long=3", "--", "-3"]), ["-", "--long=3", "--", "-3"]);
    // A level may be among other letters, but not in the value of an option.
    assert_eq!(words(&["-kf9", "-9kf", "-q19r"]), ["--level=9", "-kf", "--level=9", "-kf", "--level=19", "-qr"]);
    assert_eq!(
        words(&["-9T2", "-fo3", "-9o", "x", "-C7"]),
        ["--level=9", "-T2", "-fo3", "--level=9", "-o", "x", "-C7"]
    );
    assert!(run(&["compress", "-h"]).out.contains("-1 to -22"));
    // In a command without levels it is an unknown option.
    assert_eq!(run(&["decompress", "-3", "x.pln"]).status, 2);
}

#[test]
fn codec_help_needs_nothing_else() {
    for (name, words) in [("slack", "not stored"), ("slack+lz4hc", "level=1..12"), ("huff0", "Huff0")] {
        let ran = run(&["compress", "-c", &format!("{name}:help")]);
        assert!(ran.status == 0 && ran.out.contains(words), "{ran:?}");
    }
}

/// Runs a command with terminals as standard input and output.
fn at_a_terminal(words: &[&str], stdin: &[u8], input: bool) -> Ran {
    let out = SharedBuffer::default();
    let err = SharedBuffer::default();
    let mut io = io(stdin.to_vec(), Box::new(out.clone()), Box::new(err.clone()), host());
    io.in_terminal = input;
    io.out_terminal = true;
    let words: Vec<OsString> = std::iter::once(&"packline").chain(words).map(Into::into).collect();
    let status = dispatch::run(&words, &mut io);
    Ran { status, out: out.bytes().len().to_string(), err: err.text() }
}

#[test]
fn a_terminal_gets_no_compressed_data_and_gives_none() {
    let sandbox = sandbox();
    let plain = sandbox.arg("x");
    let packed = sandbox.arg("x.pln");
    sandbox.write("x", "content");
    assert_eq!(run(&["compress", &plain]).status, 0);
    for words in [&["compress", "--stdout", &plain][..], &["compress", "-"], &["decompress", "-o", "-", &packed]] {
        let ran = at_a_terminal(words, b"content", false);
        assert!(ran.status == 2 && ran.out == "0" && ran.err.contains("is a terminal"), "{words:?}: {ran:?}");
    }
    assert_ne!(at_a_terminal(&["compress", "-f", "--stdout", &plain], b"", false).out, "0");
    assert_eq!(at_a_terminal(&["decompress", "--stdout", &packed], b"", false).out, "7");
    let ran = at_a_terminal(&["decompress", "-o", &sandbox.arg("y")], b"", true);
    assert!(ran.status == 2 && ran.err.contains("standard input is a terminal"), "{ran:?}");
}

#[test]
fn rejects_image_as_pln_file_and_the_reverse() {
    let sandbox = sandbox();
    let packed = sandbox.arg("x.pln");
    let image = sandbox.arg("x.sqfs");
    assert_eq!(run_on(&["compress", "-o", &packed], b"content", host()).status, 0);
    assert_eq!(run_on(&["pack", "-q", "-", &image], &super::harness::sample_tar(), host()).status, 0);
    for words in [&["list", &packed][..], &["cat", &packed, "a"], &["unpack", &packed, "d"]] {
        let ran = run(words);
        let expected =
            "x.pln: a .pln file whose content is neither an image nor a tar (expected a SquashFS or EROFS image, a tar";
        assert!(ran.status == 1 && ran.err.contains(expected), "{words:?}: {ran:?}");
    }
    let ran = run(&["rdsquashfs", "-l", "/", &packed]);
    assert!(ran.status != 0 && ran.err.contains("x.pln: is a .pln file (expected"), "{ran:?}");
    let cases: [(&[&str], &str); 9] = [
        (&["pack", "-", "y.pln"], "the name does not say what the .pln file holds"),
        (&["pack", "--format", "pln", "-", "y"], "packline compress writes .pln files"),
        (&["cat", "--range", "0..5", &image, "a/big", "a/small"], "--range: works only with one PATH"),
        (&["cat", "--range", "0..5", &packed, "a"], "whose content is neither an image nor a tar"),
        (&["cat", "--offset", "0", &packed], "--offset: has no effect"),
        (&["list", "--identity", "key", &image], "--identity: has no effect on a SquashFS image"),
        (&["info", "--quick", &packed], "--quick: has no effect"),
        (&["verify", "--notes", &packed], "--notes: has no effect"),
        (&["cat", "--range", "5..4", &packed], "--range: '5..4' is not a range (expected START..END"),
    ];
    for (words, message) in cases {
        let ran = run(words);
        assert!(ran.status != 0 && ran.err.contains(message), "{words:?}: {ran:?}");
    }
    assert_eq!(run(&["cat", "--range", "3..", &packed]).out, "tent");
}
