//! Seeds that installed programs make: tars, cpio and zip archives, and compressed streams. Without a program there are fewer of them.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use packline_codec::{Encoder, Outcome, Spec, ZpaqEncoder};

use super::{Seed, Seeds};

/// Longest tar in bytes.
const LONGEST_TAR: usize = 16 << 10;

/// Tars of each format, and a header of each type.
pub fn tar_reader() -> Seeds {
    let tree = tempfile::tempdir()?;
    plant(tree.path())?;
    let mut seeds = headers();
    for format in ["v7", "oldgnu", "gnu", "ustar", "posix"] {
        seeds.extend(tar(tree.path(), format, &["--format", format]));
        seeds.extend(tar(tree.path(), &format!("{format}-sparse"), &["--format", format, "--sparse"]));
    }
    for version in ["0.0", "0.1", "1.0"] {
        let option = format!("--sparse-version={version}");
        seeds.extend(tar(tree.path(), version, &["--format=posix", "--sparse", "--xattrs", &option]));
    }
    Ok(seeds)
}

/// cpio archives of each form, one after another, and before a compressed one.
pub fn cpio() -> Seeds {
    let entry = |name: &str, mode: u32, links: u32, content: &[u8]| {
        let length = content.len();
        let numbers = [7, mode, 0, 0, links, 1_000_000_000, length as u32, 8, 1, 0, 0, name.len() as u32 + 1, 0];
        let numbers: String = numbers.iter().map(|number| format!("{number:08x}")).collect();
        let mut bytes = format!("070701{numbers}{name}\0").into_bytes();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let end = entry("TRAILER!!!", 0, 1, b"");
    let linked = [entry("a", 0o100_644, 2, b""), entry("b/../c", 0o100_644, 2, b"content"), end.clone()].concat();
    let kinds = [entry(".", 0o040_755, 2, b""), entry("link", 0o120_777, 1, b"to"), entry("device", 0o020_600, 1, b"")];
    let both = [&linked[..], &[0; 512], &kinds.concat(), &end].concat();
    let mut seeds = vec![Seed::new("linked", linked.clone()), Seed::new("both", both)];
    for (name, program, options) in [("gzip", "gzip", &["-nc"][..]), ("zstd", "zstd", &["-c", "--no-progress"])] {
        let compressed = filtered(program, options, &linked)?;
        seeds.extend(compressed.map(|part| Seed::new(name, [&end[..], &[0; 64], &part].concat())));
    }
    let top = tempfile::tempdir()?;
    let tree = top.path().join("tree");
    plant_dated(&tree)?;
    for form in ["newc", "crc", "odc"] {
        let list = "cd \"$1\" && printf '%s\\n' . ./directory ./directory/file ./hard ./link | cpio -oH \"$2\" --quiet --reproducible";
        let made = Command::new("sh").args(["-c", list, "sh"]).arg(&tree).arg(form).stderr(Stdio::null()).output()?;
        seeds.extend((!made.stdout.is_empty()).then(|| Seed::new(form, made.stdout)));
    }
    Ok(seeds)
}

/// Zip archives with each method of the installed program, and of a stream.
pub fn zip() -> Seeds {
    let top = tempfile::tempdir()?;
    let tree = top.path().join("tree");
    plant_dated(&tree)?;
    let mut seeds = Vec::new();
    for (name, options) in
        [("stored", &["-0"][..]), ("deflate", &["-9"]), ("bzip2", &["-Z", "bzip2"]), ("short", &["-X"])]
    {
        let file = top.path().join(name);
        let ran = Command::new("zip").current_dir(&tree).args(["-qry"]).args(options).arg(&file).arg(".").status();
        if ran.is_ok_and(|status| status.success()) {
            seeds.push(Seed::new(name, fs::read(file.with_extension("zip"))?));
        }
    }
    seeds.extend(filtered("zip", &["-q", "-"], b"from a stream")?.map(|archive| Seed::new("stream", archive)));
    seeds.push(Seed::new("empty", [&b"PK\x05\x06"[..], &[0; 18]].concat()));
    Ok(seeds)
}

/// A new directory with files of one time.
fn plant_dated(tree: &Path) -> io::Result<()> {
    fs::create_dir(tree)?;
    plant(tree)?;
    let touch = ["-exec", "touch", "-h", "-d", "@1000000000", "{}", "+"];
    let touched = Command::new("find").arg(tree).args(touch).status()?;
    if touched.success() { Ok(()) } else { Err(io::Error::other("find and touch cannot set times")) }
}

fn plant(tree: &Path) -> io::Result<()> {
    fs::create_dir_all(tree.join("directory"))?;
    fs::write(tree.join("directory/file"), "content\n".repeat(100))?;
    fs::write(tree.join("n".repeat(120)), "long")?;
    let mut sparse = fs::File::create(tree.join("sparse"))?;
    sparse.write_all(&[1; 4096])?;
    sparse.set_len(40_000)?;
    std::os::unix::fs::symlink("t".repeat(130), tree.join("link"))?;
    fs::hard_link(tree.join("directory/file"), tree.join("hard"))
}

/// A small tar, as it is and with the checksum fields that the fuzz target corrects. Nothing in it depends on the time or on the user.
fn tar(tree: &Path, name: &str, options: &[&str]) -> Vec<Seed> {
    let mut command = Command::new("tar");
    command.args(["-c", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=755"]);
    if options.iter().any(|option| option.ends_with("posix")) {
        command.arg("--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime");
    }
    let output = command.args(options).arg("-C").arg(tree).arg(".").stderr(Stdio::null()).output();
    let Ok(output) = output else { return Vec::new() };
    let mut archive = output.stdout;
    archive.truncate(archive.len().min(LONGEST_TAR));
    let mut fixed = archive.clone();
    for block in fixed.chunks_exact_mut(512).filter(|block| block.get(154..156) == Some(b"\0 ")) {
        block[148..156].copy_from_slice(b"fixed!! ");
    }
    vec![Seed::new(format!("{name}.tar"), archive), Seed::new(format!("{name}-fixed.tar"), fixed)]
}

/// One header of each type with plausible fields.
fn headers() -> Vec<Seed> {
    let header = |kind: &u8| {
        let mut block = [0; 1536];
        block[..4].copy_from_slice(b"name");
        block[100..107].copy_from_slice(b"0000644");
        block[124..135].copy_from_slice(b"00000000020");
        block[148..156].copy_from_slice(b"fixed!! ");
        block[156] = *kind;
        block[157..161].copy_from_slice(b"link");
        block[257..265].copy_from_slice(b"ustar\x0000");
        block[512..528].copy_from_slice(b"15 path=abcdef\n\n");
        Seed::new(format!("type-{kind}.tar"), block)
    };
    b"\x001234567DKLMNSVXgx".iter().map(header).collect()
}

/// Streams of installed programs, once and twice, and blocks of our codecs.
pub fn decompress() -> Seeds {
    let plain = b"some words, and some words again; ".repeat(60);
    let mut seeds = blocks(&plain)?;
    seeds.extend(zpaq(&plain)?);
    for (name, program, options) in [
        ("gzip", "gzip", &["-c"][..]),
        ("bzip2", "bzip2", &["-c"]),
        ("xz", "xz", &["-c", "-T2", "--block-size=700"]),
        ("lzma", "lzma", &["-c"]),
        ("zstd", "zstd", &["-c", "--no-progress"]),
        ("pzstd", "pzstd", &["-c", "-p", "2"]),
        ("lz4", "lz4", &["-c"]),
        ("lz4-linked", "lz4", &["-c", "-BD", "-B4", "-BX"]),
        ("lz4-legacy", "lz4", &["-c", "-l"]),
    ] {
        let Some(output) = filtered(program, options, &plain)? else { continue };
        let twice = output.repeat(2);
        seeds.extend([Seed::new(name, output), Seed::new(format!("{name}-twice"), twice)]);
    }
    Ok(seeds)
}

/// A block of each codec, after its name.
fn blocks(plain: &[u8]) -> Seeds {
    let content = [plain, &[0; 700], b"and an end"].concat();
    let block = |name: &str| {
        let mut block = vec![0; content.len()];
        let spec = Spec::parse(name).map_err(io::Error::other)?;
        let made = spec.encoder(content.len()).and_then(|mut encoder| encoder.compress(&content, &mut block));
        let block = match made.map_err(io::Error::other)? {
            Outcome::Smaller(size) => &block[..size],
            Outcome::NotSmaller => &content,
        };
        Ok(Seed::new(format!("block-{name}"), [format!("block {name}\n").as_bytes(), block].concat()))
    };
    Spec::names().iter().map(|name| block(name)).collect()
}

/// A block of a known model, one with all components, one with a program after its data.
fn zpaq(plain: &[u8]) -> Seeds {
    let mut block = vec![0; plain.len()];
    let made = ZpaqEncoder::new(1).and_then(|mut encoder| encoder.compress(plain, &mut block));
    let Outcome::Smaller(size) = made.map_err(io::Error::other)? else {
        return Err(io::Error::other("zpaq does not compress repeated words"));
    };
    block.truncate(size);
    // Without the tag that marks a block within other data: the fuzz target recognises streams by the bytes after it.
    let nine = &include_bytes!("../../../../crates/codec/tests/data/nine.zpaq")[13..];
    let sorted = &include_bytes!("../../../../crates/codec/tests/data/sorted.zpaq")[13..];
    Ok(vec![Seed::new("zpaq-min", block), Seed::new("zpaq-nine", nine), Seed::new("zpaq-sorted", sorted)])
}

/// The output of an installed program that reads standard input; `None` if it is not installed.
pub fn filtered(program: &str, options: &[&str], input: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let child = Command::new(program).args(options).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else { return Ok(None) };
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input)?;
    }
    Ok(Some(child.wait_with_output()?.stdout))
}
