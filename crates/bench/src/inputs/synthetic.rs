//! Generated trees, which are always the same. They show how a codec behaves at its limits.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use packline_archives::tar::{TarWriter, end_of_archive, padding};
use packline_tree::{Entry, Kind, Meta};

/// Bytes of a large file.
const FILE: u64 = (1 << 20) + 12_345;
/// The number of small files after each large file.
const SMALL_FILES: u64 = 8;
/// The size of the largest small file in bytes.
const SMALL_MOST: u64 = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filling {
    Zeros,
    /// Bytes that do not compress.
    Random,
    /// Words of a small vocabulary.
    Text,
    /// Each of the other fillings in turn.
    Mixed,
}

impl Filling {
    /// Parses `zeros`, `random`, `text` or `mixed`.
    pub fn parse(name: &str) -> Option<Filling> {
        match name {
            "zeros" => Some(Filling::Zeros),
            "random" => Some(Filling::Random),
            "text" => Some(Filling::Text),
            "mixed" => Some(Filling::Mixed),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synthetic {
    /// The name in the report.
    pub name: String,
    pub filling: Filling,
    /// The bytes of content.
    pub bytes: u64,
}

impl Synthetic {
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        self.write_to(&mut BufWriter::new(File::create_new(path)?))
    }

    /// Writes large files with small files between them, until there are `bytes` bytes.
    fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut tar = TarWriter::new("");
        let mut left = self.bytes;
        let mut number = 0;
        let mut written = 0;
        while left > 0 {
            let small = number % (SMALL_FILES + 1) != 0;
            let size = if small { 1 + number * 7919 % SMALL_MOST } else { FILE }.min(left);
            written += put_file(out, &mut tar, number, size, self.filling)?;
            left -= size;
            number += 1;
        }
        out.write_all(&vec![0; end_of_archive(written)])?;
        out.flush()
    }
}

/// Writes one file with its header. Returns the bytes of both in the archive.
fn put_file(out: &mut impl Write, tar: &mut TarWriter, number: u64, size: u64, filling: Filling) -> io::Result<u64> {
    let meta = Meta::new(0o644, 0, 0, 0);
    let path = format!("file-{number:07}").into_bytes();
    let entry = Entry { path, kind: Kind::File { size }, meta, xattrs: Vec::new() };
    let mut header = Vec::new();
    tar.entry(&mut header, &entry).map_err(io::Error::other)?;
    out.write_all(&header)?;
    fill(out, number, size, filling)?;
    out.write_all(&vec![0; padding(size)])?;
    Ok(header.len() as u64 + size + padding(size) as u64)
}

fn fill(out: &mut impl Write, number: u64, size: u64, filling: Filling) -> io::Result<()> {
    match (filling, number % 3) {
        (Filling::Zeros, _) | (Filling::Mixed, 0) => io::copy(&mut io::repeat(0).take(size), out).map(drop),
        (Filling::Random, _) | (Filling::Mixed, 1) => io::copy(&mut noise(number).take(size), out).map(drop),
        (Filling::Text, _) | (Filling::Mixed, _) => put_text(out, number, size),
    }
}

/// Returns endless bytes that do not compress. The bytes differ for each number.
fn noise(number: u64) -> impl Read {
    blake3::Hasher::new().update(b"synthetic").update(&number.to_le_bytes()).finalize_xof()
}

/// Writes lines with words of a small vocabulary. The first words are more frequent.
fn put_text(out: &mut impl Write, number: u64, size: u64) -> io::Result<()> {
    const SYLLABLES: [&str; 16] =
        ["ka", "lo", "mi", "sen", "tur", "al", "be", "dor", "ish", "ven", "ra", "que", "fin", "ost", "u", "ny"];
    let mut noise = noise(number);
    let mut left = size as usize;
    let mut draws = [0; 256];
    let mut line = Vec::new();
    while left > 0 {
        noise.read_exact(&mut draws)?;
        line.clear();
        for pair in draws.chunks_exact(2) {
            let word = usize::from(pair[0].min(pair[1]));
            line.extend_from_slice(SYLLABLES[word % 16].as_bytes());
            line.extend_from_slice(SYLLABLES[word / 16].as_bytes());
            line.push(if pair[0] % 12 == 0 { b'\n' } else { b' ' });
        }
        line.truncate(left);
        out.write_all(&line)?;
        left -= line.len();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use packline_archives::tar::{TarOptions, TarSource};
    use packline_tree::Source;

    use super::*;

    fn synthetic(name: &str) -> Synthetic {
        let (filling, size) = name.split_once(':').unwrap();
        Synthetic {
            name: String::new(),
            filling: Filling::parse(filling).unwrap(),
            bytes: size.parse::<u64>().unwrap() << 10,
        }
    }

    fn made(name: &str) -> Vec<u8> {
        let mut tar = Vec::new();
        synthetic(name).write_to(&mut tar).unwrap();
        tar
    }

    #[test]
    fn writes_tars_of_the_requested_size() {
        for name in ["zeros", "random", "text", "mixed"] {
            let tar = made(&format!("{name}:3072"));
            assert_eq!(tar, made(&format!("{name}:3072")));
            let mut source = TarSource::new(tar.as_slice(), TarOptions::default());
            let mut content = 0;
            let mut files = 0;
            while let Some(entry) = source.next_entry().unwrap() {
                let Kind::File { size } = entry.kind else { panic!() };
                content += size;
                files += 1;
            }
            assert!(content == 3 << 20 && files > 10, "{name}: {content} bytes, {files} files");
        }
    }

    #[test]
    fn text_compresses_and_noise_does_not() {
        let share = |name: &str| {
            let tar = made(&format!("{name}:200"));
            let mut buffer = vec![0; 128 << 10];
            let mut encoder = packline_codec::Spec::parse("zstd").unwrap().encoder(128 << 10).unwrap();
            match encoder.compress(&tar[512..512 + (128 << 10)], &mut buffer).unwrap() {
                packline_codec::Outcome::Smaller(bytes) => bytes,
                packline_codec::Outcome::NotSmaller => 128 << 10,
            }
        };
        assert_eq!(share("random"), 128 << 10);
        let text = share("text");
        assert!(text > 20 << 10 && text < 80 << 10, "{text}");
        assert!(share("zeros") < 100);
    }
}
