//! The encoders that are compared: ours by [`Spec`], the libraries' as squashfs-tools call them. A Python program of a few lines calls liblzo2,
//! whose licence keeps it out of a program of ours.

use super::points::Point;
use crate::shell;
use liblzma::stream::{Action, Check, Filters, LzmaOptions, Status, Stream};
use packline_codec::{Outcome, Spec};
use std::path::Path;
use std::process::Command;

/// Compresses a block into a buffer of the encoder and returns the stored size.
pub type Compress = Box<dyn FnMut(&[u8], &mut Vec<u8>) -> Result<usize, String>>;

pub struct Candidate {
    pub codec: String,
    /// Whether the encoder is our default for the codec. Other candidates are the libraries that other packers call.
    pub ours: bool,
    pub level: String,
    pub compress: Compress,
}

/// All levels of codecs, ours and the libraries', and our other codecs that were requested.
pub fn candidates(codecs: &[String], also: &[Spec], size: usize) -> Result<Vec<Candidate>, String> {
    let mut all = Vec::new();
    for codec in codecs {
        match codec.as_str() {
            "gzip" => {
                levels(&mut all, true, "gzip:level=", 1..=12, size)?;
                levels(&mut all, false, "gzip:engine=zlib,level=", 1..=9, size)?;
            }
            "lzo" => levels(&mut all, true, "lzo:level=", 1..=9, size)?,
            // Ours is the library itself.
            "lz4" => {
                all.push(own(true, "fast", &Spec::parse("lz4").map_err(text)?, size)?);
                levels(&mut all, true, "lz4:hc,level=", 3..=12, size)?;
            }
            "zstd" => {
                levels(&mut all, true, "zstd:level=", 1..=22, size)?;
                all.extend((1..=22).map(zstd));
            }
            // The levels above 6 have larger dictionaries alone.
            "xz" => {
                levels(&mut all, true, "xz:level=", 0..=6, size)?;
                all.extend((0..=6).map(|level| xz(level, size)));
            }
            _ => return Err(format!("--codecs {codec}: no curve (expected gzip, lzo, lz4, zstd, xz)")),
        }
    }
    for spec in also {
        let shown = spec.to_string();
        all.push(own(true, shown.split_once(':').map_or("default", |(_, level)| level), spec, size)?);
    }
    Ok(all)
}

fn levels(
    all: &mut Vec<Candidate>,
    ours: bool,
    prefix: &str,
    levels: std::ops::RangeInclusive<u32>,
    size: usize,
) -> Result<(), String> {
    for level in levels {
        let spec = Spec::parse(&format!("{prefix}{level}")).map_err(text)?;
        all.push(own(ours, &level.to_string(), &spec, size)?);
    }
    Ok(())
}

fn own(ours: bool, level: &str, spec: &Spec, size: usize) -> Result<Candidate, String> {
    let mut encoder = spec.encoder(size).map_err(text)?;
    let compress = move |block: &[u8], product: &mut Vec<u8>| {
        product.resize(block.len(), 0);
        match encoder.compress(block, product).map_err(text)? {
            Outcome::Smaller(size) => Ok(size),
            Outcome::NotSmaller => Ok(block.len()),
        }
    };
    Ok(Candidate { codec: spec.name().to_owned(), ours, level: level.to_owned(), compress: Box::new(compress) })
}

/// libzstd with one context for all blocks.
fn zstd(level: i32) -> Candidate {
    let mut context = zstd_safe::CCtx::create();
    let compress = move |block: &[u8], product: &mut Vec<u8>| {
        product.resize(zstd_safe::compress_bound(block.len()), 0);
        let size = context.compress(product.as_mut_slice(), block, level);
        size.map(|size| size.min(block.len())).map_err(|code| zstd_safe::get_error_name(code).to_owned())
    };
    Candidate { codec: "zstd".into(), ours: false, level: level.to_string(), compress: Box::new(compress) }
}

/// liblzma with a dictionary of the block's size and an encoder for each block.
fn xz(level: u32, size: usize) -> Candidate {
    let compress = move |block: &[u8], product: &mut Vec<u8>| {
        let mut options = LzmaOptions::new_preset(level).map_err(text)?;
        options.dict_size(size as u32);
        let mut stream = Stream::new_stream_encoder(Filters::new().lzma2(&options), Check::Crc32).map_err(text)?;
        product.resize(block.len() + block.len() / 8 + 4096, 0);
        match stream.process(block, product, Action::Finish).map_err(text)? {
            Status::StreamEnd => Ok(block.len().min(stream.total_out() as usize)),
            status => Err(format!("liblzma ended with {status:?}")),
        }
    };
    Candidate { codec: "xz".into(), ours: false, level: level.to_string(), compress: Box::new(compress) }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Compresses the blocks of a file with each level; prints the level, seconds of processor time and bytes.
const LZO2_PROGRAM: &str = r"
import ctypes, sys, time
lib = ctypes.CDLL('liblzo2.so.2')
size, content = int(sys.argv[2]), open(sys.argv[1], 'rb').read()
blocks = [content[at:at + size] for at in range(0, len(content), size)]
product, memory = ctypes.create_string_buffer(size + size // 16 + 67), ctypes.create_string_buffer(1 << 19)
length = ctypes.c_size_t()
def compress(block, level):
    length.value = len(product)
    failed = lib.lzo1x_999_compress_level(
        block, ctypes.c_size_t(len(block)), product, ctypes.byref(length), memory, None, ctypes.c_size_t(0), None, level)
    assert not failed
    return min(length.value, len(block))
for level in range(1, 10):
    start = time.process_time()
    stored = sum(compress(block, level) for block in blocks)
    print(level, time.process_time() - start, stored)
";

/// Returns the points of levels 1 to 9 of liblzo2. If the library or Python is missing, prints a message and returns none.
pub fn lzo2_points(blocks: &[Vec<u8>], size: usize, file: &Path) -> Result<Vec<Point>, String> {
    std::fs::write(file, blocks.concat()).map_err(|cause| format!("{}: {cause}", file.display()))?;
    let ran = shell::output(Command::new("python3").args(["-c", LZO2_PROGRAM]).arg(file).arg(size.to_string()));
    std::fs::remove_file(file).map_err(|cause| format!("{}: {cause}", file.display()))?;
    let Ok(lines) = ran.inspect_err(|cause| shell::print_error(&format!("liblzo2 is left out: {cause}"))) else {
        return Ok(Vec::new());
    };
    let content = blocks.iter().map(Vec::len).sum();
    let point = |line: &str| {
        let [level, seconds, stored] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let level = level.to_owned();
        let seconds = seconds.parse().ok()?;
        let stored = stored.parse().ok()?;
        Some(Point { codec: "lzo".into(), ours: false, level, size, content, stored, seconds })
    };
    lines
        .lines()
        .map(|line| point(line).ok_or_else(|| format!("liblzo2: {line:?} (expected `LEVEL SECONDS BYTES`)")))
        .collect()
}
