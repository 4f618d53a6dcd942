//! Seeds that are images or compressed files of the test kit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use packline_testkit::{hostile, hostile_erofs, hostile_lrz, hostile_pln};

use super::programs::filtered;
use super::{Seed, Seeds};

/// Largest specimen of a zoo that is a seed, in bytes: small seeds make fuzzing faster.
const LONGEST: usize = 20 << 10;

/// Sound images of each codec, and small ones of the zoo.
pub fn image() -> Vec<Seed> {
    let codecs = ["none", "gzip", "lzma", "lzo", "xz", "lz4", "zstd"];
    let good = codecs.into_iter().map(|codec| Seed::new(codec, hostile::good_with(codec)));
    let zoo = hostile::all().into_iter().map(|specimen| Seed::new(specimen.name, specimen.bytes()));
    good.chain(zoo.filter(is_small)).collect()
}

/// The superblocks of the zoo, and a sound one.
pub fn superblock() -> Vec<Seed> {
    let zoo = hostile::all().into_iter().filter(|specimen| specimen.name.starts_with("bad-"));
    let zoo = zoo.map(|specimen| (specimen.name, specimen.bytes())).filter(|(_, bytes)| bytes.starts_with(b"hsqs"));
    let cut = zoo.map(|(name, bytes)| Seed::new(name, &bytes[..bytes.len().min(112)]));
    cut.chain(super::part(hostile::Part::Superblock)).collect()
}

fn is_small(seed: &Seed) -> bool {
    seed.bytes.len() <= LONGEST
}

/// Images of versions before SquashFS 4.0, and of the other byte order.
pub fn squashfs_old() -> Seeds {
    files("crates/squashfs/tests/old", "sqfs")
}

/// Images of mkfs.erofs, and small ones of the zoo.
pub fn erofs() -> Seeds {
    let mut seeds = files("crates/erofs/tests/images", "erofs")?;
    seeds.extend(files("crates/erofs/tests/images/compressed", "erofs")?);
    let zoo = hostile_erofs::all().into_iter().map(|specimen| Seed::new(specimen.name, specimen.bytes()));
    seeds.extend(zoo.filter(is_small));
    Ok(seeds)
}

/// The files of a directory of the repository that have an extension, sorted by name.
fn files(directory: &str, extension: &str) -> Seeds {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(directory);
    let paths: io::Result<Vec<PathBuf>> = fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.sort();
    let chosen = paths.iter().filter(|path| path.extension().is_some_and(|found| found == extension));
    chosen.map(|path| Ok(Seed::new(path.file_name().unwrap_or_default().to_string_lossy(), fs::read(path)?))).collect()
}

/// The small ones of the zoo of .lrz files, and small files of each back end where lrzip is installed.
pub fn lrz() -> Seeds {
    let zoo = hostile_lrz::all().into_iter().map(|specimen| Seed::new(specimen.name, specimen.bytes()));
    let mut seeds: Vec<Seed> = zoo.filter(is_small).collect();
    let plain = b"some words, and some words again, and then others; ".repeat(40);
    for back_end in ["-n", "-l", "-g", "-b", "--lzma", "-z"] {
        if let Some(output) = filtered("lrzip", &["-q", back_end], &plain)? {
            seeds.push(Seed::new(format!("lrzip{back_end}"), output));
        }
    }
    Ok(seeds)
}

/// The zoo of .pln files.
pub fn pln() -> Vec<Seed> {
    hostile_pln::all().into_iter().map(|specimen| Seed::new(specimen.name, specimen.bytes())).collect()
}
