//! Images from standard input or a pipe: every command that reads images works as with a file.

use packline_testkit::snapshot::{self, Except};
use packline_testkit::{Ran, Random, Sandbox};

/// Commands that print: IMAGE stands for the image.
const PRINTERS: [&str; 18] = [
    "list -l IMAGE",
    "cat IMAGE d/hello",
    "info IMAGE",
    "verify -q IMAGE",
    "unpack IMAGE - -q",
    "diff IMAGE other",
    "diff other IMAGE",
    "diff IMAGE source",
    "unsquashfs -lls IMAGE",
    "unsquashfs -s -UTC IMAGE",
    "unsquashfs -cat IMAGE d/hello",
    "unsquashfs -pf - IMAGE",
    "sqfscat IMAGE d/hello",
    "rdsquashfs -d IMAGE",
    "rdsquashfs -c d/hello IMAGE",
    "sqfs2tar IMAGE",
    "sqfsdiff -a IMAGE -b other",
    "sqfsdiff -a other -b IMAGE",
];

fn with_images() -> Sandbox {
    let sandbox = crate::sandbox();
    sandbox.write("source/random", Random::new(3).noise(1 << 20));
    sandbox.write("source/d/hello", "hello");
    sandbox.good(&["pack", "-q", "source", "image"]);
    sandbox.good(&["pack", "-q", "source", "other", "-x", "d"]);
    sandbox.write("behind", [&[b'-'; 4096][..], &sandbox.read("image")].concat());
    sandbox.create_dir("tmp");
    sandbox
}

/// Runs a script in which `$P` is packline, whose temporary files are in `tmp`.
fn shell(sandbox: &Sandbox, script: &str) -> Ran {
    let ran = sandbox.shell(&format!("export TMPDIR=\"$PWD/tmp\"; {script}"));
    assert!(sandbox.names_in("tmp").is_empty(), "{script}");
    ran
}

/// Scripts that give `file` to a command: through standard input, from a pipe or not, and through a named pipe or an open one.
fn ways(command: &str, file: &str) -> [String; 4] {
    let of = |name: &str| command.replace("IMAGE", name);
    [
        format!("cat {file} | $P {}", of("-")),
        format!("$P {} <{file}", of("-")),
        format!("rm -f fifo; mkfifo fifo; cat {file} >fifo & $P {}", of("fifo")),
        format!("rm -f fifo; mkfifo fifo; cat {file} >fifo & $P {} 9<fifo", of("/dev/fd/9")),
    ]
}

/// Output with the name of the image that a file has.
fn text(ran: &Ran) -> Vec<u8> {
    let named = ran.stdout.iter().all(u8::is_ascii);
    if !named {
        return ran.stdout.clone();
    }
    let names = ["standard input", "/dev/stdin", "/dev/fd/9", "fifo"];
    names.into_iter().fold(ran.text(), |text, name| text.replace(name, "image")).into_bytes()
}

#[test]
fn prints_same_from_pipe_and_file() {
    let sandbox = with_images();
    for command in PRINTERS {
        let expected = shell(&sandbox, &format!("$P {}", command.replace("IMAGE", "image")));
        let differs = command.contains("diff") && !command.contains("source");
        assert!(expected.status == i32::from(differs) && (!expected.stdout.is_empty() || !differs), "{expected:?}");
        for script in ways(command, "image") {
            let ran = shell(&sandbox, &script);
            assert_eq!(ran.status, expected.status, "{script}: {}", ran.stderr);
            assert!(text(&ran) == text(&expected), "{script}");
        }
    }
}

#[test]
fn unpacks_same_from_pipe_and_file() {
    let sandbox = with_images();
    for (command, file) in [
        ("unpack -q IMAGE out", "image"),
        ("unpack -q --offset 4K IMAGE out", "behind"),
        ("unsquashfs -q -n -d out IMAGE", "image"),
        ("unsquashfs -q -n -d out -o 4096 IMAGE", "behind"),
        ("rdsquashfs -q -u / -p out -C -T IMAGE", "image"),
    ] {
        shell(&sandbox, &format!("$P {}", command.replace("IMAGE", file)));
        let expected = sandbox.snapshot("out");
        assert_eq!(expected.len(), 4, "{command}");
        for script in ways(command, file) {
            sandbox.remove("out");
            let ran = shell(&sandbox, &script);
            assert_eq!(ran.status, 0, "{script}: {}", ran.stderr);
            let except = Except { root: true, ..Except::default() };
            snapshot::assert_same(&script, &expected, &sandbox.snapshot("out"), except);
        }
        sandbox.remove("out");
    }
}

#[test]
fn a_lrz_file_is_unpacked_from_a_pipe() {
    let sandbox = with_images();
    sandbox.good(&["pack", "-q", "source", "tree.lrz"]);
    for script in ways("unpack -q IMAGE out", "tree.lrz") {
        let ran = shell(&sandbox, &script);
        assert_eq!(ran.status, 0, "{script}: {}", ran.stderr);
        assert!(sandbox.read("out/random") == sandbox.read("source/random"), "{script}");
        sandbox.remove("out");
    }
}

#[test]
fn fails_if_stream_cannot_be_stored() {
    let sandbox = with_images();
    for command in
        ["unpack - out", "diff other -", "unsquashfs -d out -", "sqfscat - d/hello", "rdsquashfs -d -", "sqfs2tar -"]
    {
        let script = |script: &str, expected: &str| {
            let ran = shell(&sandbox, &format!("{script} $P {command}"));
            let right = ran.status != 0 && ran.stderr.contains(expected) && ran.stderr.contains("standard input: ");
            assert!(right && ran.stdout.is_empty(), "{script} {command}: {ran:?}");
        };
        script("cat image | TMPDIR=/nonexistent", "set TMPDIR to a directory");
        script("ulimit -f 64; cat image |", "set TMPDIR to a directory");
        // Another format is not stored.
        script("echo text | TMPDIR=/nonexistent", "unknown format");
        script("printf '' | TMPDIR=/nonexistent", "is empty");
        // It may be a tar.
        let reads_tars = command.starts_with("unpack") || command.starts_with("diff");
        if reads_tars {
            script("gzip -c image |", "expected a tar header");
        } else {
            script("gzip -c image | TMPDIR=/nonexistent", "a file compressed with gzip");
        }
        script("head -c 5000 image |", "cut off: 5000 of ");
        assert!(!sandbox.at("out").exists(), "{command}");
    }
    let packed = shell(&sandbox, "cat image | TMPDIR=/nonexistent $P pack - packed");
    assert!(packed.status == 1 && packed.stderr.contains("set TMPDIR to a directory"), "{packed:?}");
    let twice = shell(&sandbox, "cat image | $P diff - -");
    assert!(twice.status == 2 && twice.stderr.contains("standard input has been read already"), "{twice:?}");
}
