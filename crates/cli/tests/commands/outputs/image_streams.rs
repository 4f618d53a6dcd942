//! Images for standard output or a pipe: the complete bytes of the file, or nothing.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use packline_testkit::{Ran, Random, Sandbox};

/// The commands that write images: OUT stands for the image.
const WRITERS: [&str; 11] = [
    "pack source OUT -f -v --verify",
    "pack source OUT -f --format erofs --verify",
    "pack - OUT -f --format erofs --offset 4K <source.tar",
    "pack - OUT -f --offset 4K <source.tar",
    "pack --json source.tar OUT -f",
    "tar2sqfs --verify -f OUT <source.tar",
    "gensquashfs -f -D source OUT",
    "mksquashfs source OUT -noappend -info -no-progress",
    "mksquashfs - OUT -tar -noappend -percentage -nopad <source.tar",
    "sqfstar -force OUT 'r*' <source.tar",
    "sqfstar -verify -force -info OUT <source.tar",
];

fn with_source() -> Sandbox {
    let sandbox = crate::sandbox();
    sandbox.write("source/random", Random::new(7).noise(300_000));
    sandbox.write("source/d/same", "content\n".repeat(40_000));
    sandbox.write("source/d/twice", "content\n".repeat(40_000));
    sandbox.shell("tar -cf source.tar source");
    sandbox.create_dir("tmp");
    sandbox
}

/// Runs a script in which `$P` is packline, whose temporary files are in `tmp`.
fn shell(sandbox: &Sandbox, script: &str) -> Ran {
    let ran = sandbox.shell(&format!("export SOURCE_DATE_EPOCH=1 TMPDIR=\"$PWD/tmp\"; {script}"));
    assert!(sandbox.names_in("tmp").is_empty(), "{script}");
    ran
}

/// The image that a writer puts into a file.
fn in_file(sandbox: &Sandbox, writer: &str) -> Vec<u8> {
    let ran = shell(sandbox, &format!("$P {}", writer.replace("OUT", "file")));
    assert_eq!(ran.status, 0, "{writer}: {ran:?}");
    sandbox.read("file")
}

#[test]
fn a_pipe_gets_the_bytes_of_a_file() {
    let sandbox = with_source();
    for writer in WRITERS {
        let expected = in_file(&sandbox, writer);
        let plain = writer.replace("--json", "");
        for name in ["-", "/dev/stdout", "/dev/fd/1"] {
            let ran = shell(&sandbox, &format!("$P {}", plain.replace("OUT", name)));
            assert!(ran.status == 0 && ran.stdout == expected, "{writer} to {name}: {}", ran.stderr);
        }
        for name in ["fifo", "/dev/fd/9"] {
            let command = writer.replace("OUT", name);
            let before = "rm -f fifo; mkfifo fifo; cat fifo >piped & exec 9>fifo";
            let ran = shell(&sandbox, &format!("{before}; $P {command} >messages && exec 9>&- && wait && cat piped"));
            assert!(ran.status == 0 && ran.stdout == expected, "{writer} to {name}: {}", ran.stderr);
        }
    }
    assert!(!sandbox.at("-").exists());
}

#[test]
fn stream_option_writes_complete_image() {
    let sandbox = with_source();
    let expected = in_file(&sandbox, "mksquashfs source OUT -noappend -quiet");
    let ran = shell(&sandbox, "$P mksquashfs source - -stream");
    assert_eq!((ran.stderr.as_str(), ran.status), ("", 0));
    assert!(ran.stdout == expected, "mksquashfs");
    let expected = in_file(&sandbox, "sqfstar -force -quiet OUT source/d/same <source.tar");
    for words in ["-stream", "-stream -"] {
        let words = format!("{words} {}", if words.ends_with('-') { "source/d/same" } else { "" });
        let ran = shell(&sandbox, &format!("$P sqfstar {words} <source.tar"));
        assert_eq!((ran.stderr.as_str(), ran.status), ("", 0));
        assert_eq!(ran.stdout == expected, words.ends_with("same"), "sqfstar {words}");
    }
    let refused = shell(&sandbox, "$P mksquashfs source image -stream");
    assert!(refused.status == 1 && refused.stderr.contains("-stream: image is not written"), "{refused:?}");
    assert!(refused.stdout.is_empty() && !sandbox.at("image").exists());
}

#[test]
fn a_failure_leaves_nothing_in_the_pipe() {
    let sandbox = with_source();
    let script = |script: &str, expected: &str| {
        let ran = shell(&sandbox, script);
        assert!(ran.status == 1 && ran.stdout.is_empty() && ran.stderr.contains(expected), "{script}: {ran:?}");
    };
    script("$P pack none -", "none: cannot open");
    script("head -c 200000 source.tar | $P pack - -", "bytes are missing at byte 200000");
    script("head -c 200000 source.tar | $P tar2sqfs -s -", "bytes are missing at byte 200000");
    script("TMPDIR=/nonexistent; $P pack source -", "set TMPDIR to a directory");
    // No file may be larger than 64 KiB.
    for writer in WRITERS.map(|writer| writer.replace("--json", "")) {
        let writer = writer.replace("OUT", "-");
        script(&format!("ulimit -f 128; $P {writer} 2>messages; s=$?; cat messages >&2; exit $s"), "set TMPDIR to a");
    }
    script("$P pack source - >&-", "standard output is closed");
    script("$P pack source.tar - <>source.tar 1>&0", "standard output: is the input itself");
    assert!(sandbox.read("source.tar").len() > 300_000);
}

#[test]
fn a_reader_that_closes_early_is_an_error() {
    let sandbox = with_source();
    for words in [
        &["pack", "-q", "source", "-"][..],
        &["gensquashfs", "-q", "-D", "source", "-"],
        &["mksquashfs", "source", "-", "-stream"],
    ] {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(ours);
        let ran = Ran::of(sandbox.command(words).stdout(OwnedFd::from(theirs)));
        assert!(
            ran.status == 1 && ran.stderr.contains("standard output: cannot write: the reader closed the stream"),
            "{ran:?}"
        );
    }
}

#[test]
fn the_file_that_is_written_is_not_packed() {
    let sandbox = with_source();
    let expected = in_file(&sandbox, "pack source OUT -f");
    assert_eq!(shell(&sandbox, "$P pack source - -q >source/image").status, 0);
    assert!(sandbox.read("source/image") == expected, "standard output");
    sandbox.remove("source/image");
    let ran = shell(
        &sandbox,
        "mkfifo source/fifo; cat source/fifo >piped & $P pack -q source source/fifo && wait && cat piped",
    );
    assert!(ran.status == 0 && ran.stdout == expected, "a pipe: {}", ran.stderr);
}

#[test]
fn a_dry_run_opens_no_pipe() {
    let sandbox = with_source();
    let ran = shell(&sandbox, "mkfifo fifo; $P pack --dry-run source fifo && $P pack --dry-run --json source -");
    assert!(ran.status == 0 && ran.text().contains("\"files\":3"), "{ran:?}");
    let refused = shell(&sandbox, "$P pack --json source -");
    assert!(refused.status == 2 && refused.stdout.is_empty(), "{refused:?}");
}

/// Returns the form that squashfs-tools write with `-stream`: a mark instead of the superblock, and the superblock at the end.
pub(crate) fn streamed(image: &[u8]) -> Vec<u8> {
    let mark = [&b"HSQS"[..], &[0; 92]].concat();
    [&mark, &image[96..], &image[..96]].concat()
}

#[test]
fn fix_moves_a_superblock_to_the_start() {
    let sandbox = with_source();
    let programs =
        ["mksquashfs source OUT -noappend", "sqfstar -force OUT <source.tar", "mksquashfs source OUT -noappend -nopad"];
    for program in programs {
        let image = in_file(&sandbox, program);
        sandbox.write("streamed", streamed(&image));
        let name = program.split(' ').next().unwrap();
        for round in ["streamed", "whole"] {
            let ran = shell(&sandbox, &format!("$P {name} -fix streamed"));
            assert_eq!((ran.text().as_str(), ran.stderr.as_str(), ran.status), ("", "", 0), "{program}: {round}");
            assert!(sandbox.read("streamed") == image, "{program}: {round}");
        }
    }
}

#[test]
fn fix_keeps_unrepairable_image() {
    let sandbox = with_source();
    let image = in_file(&sandbox, "mksquashfs source OUT -noappend");
    let good = streamed(&image);
    let cut = &good[..good.len() - 1];
    let longer = [&good[..good.len() - 96], &[0; 4096], &good[good.len() - 96..]].concat();
    let cases: [(&[u8], &str); 6] = [
        (b"HSQS", "is not a file of 96 bytes at least"),
        (&good[..200], "not a SquashFS image"),
        (cut, "not a SquashFS image"),
        (&longer, "has a superblock at byte"),
        (&image[..image.len() / 2], "bytes of its image"),
        (&[b'x'; 500], "has no superblock at byte 0"),
    ];
    for (bytes, expected) in cases {
        sandbox.write("broken", bytes);
        let ran = shell(&sandbox, "$P mksquashfs -fix broken");
        assert!(
            ran.status == 1 && ran.stderr.contains("broken: ") && ran.stderr.contains(expected),
            "{expected}: {ran:?}"
        );
        assert!(sandbox.read("broken") == bytes, "{expected}");
    }
    assert_eq!(shell(&sandbox, "$P sqfstar -fix source").status, 1);
}
