//! Streams tars of many entries: each is a worst case for time or memory of a packer.

use crate::model::{Content, Node, NodeKind};
use crate::random::Random;
use crate::tar::TarWriter;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a generated tar to a new file.
pub fn write_tar(path: &Path, generate: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut sink = BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    generate(&mut sink)?;
    sink.flush()
}

/// `count` files of 64 bytes, all different, 1,000 a directory.
pub fn unique_small_files(sink: &mut dyn Write, count: u64) -> io::Result<()> {
    let mut tar = TarWriter::new(sink);
    for index in 0..count {
        let directory = format!("d{:04}", index / 1000);
        if index % 1000 == 0 {
            tar.node(&Node::dir(directory.clone()))?;
        }
        tar.node(&Node::file(format!("{directory}/f{index}"), Random::new(index).noise(64)))?;
    }
    tar.finish().map(drop)
}

/// One directory of `count` empty files in random order.
pub fn flat_directory(sink: &mut dyn Write, count: u64) -> io::Result<()> {
    let mut names: Vec<u64> = (0..count).collect();
    Random::new(count).shuffle(&mut names);
    let mut tar = TarWriter::new(sink);
    tar.node(&Node::dir("flat"))?;
    for name in names {
        tar.node(&Node::file(format!("flat/file-{name:08}"), Vec::new()))?;
    }
    tar.finish().map(drop)
}

/// `count` files in one set of directories and a hard link to each in another, 1,000 a directory.
pub fn hard_link_pairs(sink: &mut dyn Write, count: u64) -> io::Result<()> {
    let mut tar = TarWriter::new(sink);
    for side in ["files", "links"] {
        tar.node(&Node::dir(side))?;
        for index in 0..count {
            let place = |side: &str| format!("{side}/d{:04}/f{index}", index / 1000);
            if index % 1000 == 0 {
                tar.node(&Node::dir(format!("{side}/d{:04}", index / 1000)))?;
            }
            let node = match side {
                "files" => Node::file(place(side), index.to_string().into_bytes()),
                _ => Node::new(place(side), NodeKind::HardLink(place("files").into_bytes())),
            };
            tar.node(&node)?;
        }
    }
    tar.finish().map(drop)
}

/// `copies` times the same `count` files of 20 to 60 KiB each, copy after copy.
pub fn duplicated(sink: &mut dyn Write, count: u64, copies: u64) -> io::Result<()> {
    let mut tar = TarWriter::new(sink);
    for copy in 0..copies {
        tar.node(&Node::dir(format!("copy{copy}")))?;
        for index in 0..count {
            let mut random = Random::new(index);
            let length = 20_480 + random.below(40_960) as usize;
            tar.node(&Node::file(format!("copy{copy}/f{index}"), random.prose(length)))?;
        }
    }
    tar.finish().map(drop)
}

/// `count` files of up to 400 bytes, every third a copy of an earlier one, 500 a directory.
pub fn many_files(sink: &mut dyn Write, count: u64) -> io::Result<()> {
    let mut tar = TarWriter::new(sink);
    for index in 0..count {
        let directory = format!("d{:05}", index / 500);
        if index % 500 == 0 {
            tar.node(&Node::dir(directory.clone()))?;
        }
        let mut random = Random::new(if index % 3 == 2 { index / 2 } else { index });
        let length = random.below(400) as usize;
        tar.node(&Node::file(format!("{directory}/f{index}"), random.noise(length)))?;
    }
    tar.finish().map(drop)
}

/// One file of `size` bytes that is a hole except for a few bytes at each end.
pub fn one_sparse_file(sink: &mut dyn Write, size: u64) -> io::Result<()> {
    let pieces = vec![(0, b"begin".to_vec()), (size - 3, b"end".to_vec())];
    let mut tar = TarWriter::new(sink);
    tar.node(&Node::new("sparse", NodeKind::File(Content::sparse(size, pieces))))?;
    tar.finish().map(drop)
}

/// About `megabytes` MB of typical root file system content: text, noise, machine code, small files, large files, copies, holes.
pub fn mixed_bulk(sink: &mut dyn Write, megabytes: u64) -> io::Result<()> {
    let mut tar = TarWriter::new(sink);
    let mut random = Random::new(megabytes);
    let mut written = 0;
    let mut index = 0;
    while written < megabytes << 20 {
        if index % 100 == 0 {
            tar.node(&Node::dir(format!("d{}", index / 100)))?;
        }
        let bytes = bulk_content(&mut random);
        written += bytes.len() as u64;
        tar.node(&Node::file(format!("d{}/f{index}", index / 100), bytes))?;
        index += 1;
    }
    tar.finish().map(drop)
}

/// Sizes are distributed over powers of two up to 2 MiB; one file in five is one of 16 repeated ones.
fn bulk_content(random: &mut Random) -> Vec<u8> {
    let mut own = Random::new(if random.below(5) == 0 { random.below(16) } else { random.bits() });
    let scale = own.below(22);
    let length = own.below(1 << scale) as usize;
    match own.below(6) {
        0 => own.noise(length),
        1 => [own.prose(length / 2), vec![0; length / 2]].concat(),
        2 => own.noise(64).repeat(length / 64 + 1),
        _ => own.prose(length),
    }
}
