//! Packs in this process: one at a time, or several at once on one pool.
#![allow(clippy::disallowed_methods, reason = "a measurement without its threads is none")]

use super::answer::{Cost, timed};
use super::synthetic::Tree;
use super::way::Way;
use packline::codec::Spec;
use packline::image::Options;
use packline::line::{Config, Pool};
use packline::tree::DirectoryOptions;
use packline::{PackRequest, Resources, SourceSpec, Unobserved};
use std::path::{Path, PathBuf};

/// What is packed.
#[derive(Debug, Clone)]
pub enum Content {
    /// Files that are nowhere but in memory.
    Synthetic(Tree),
    /// A directory.
    Directory(PathBuf),
}

/// What is packed, how, and by how many.
#[derive(Debug, Clone)]
pub struct Packing {
    /// What is packed, by each packer.
    pub content: Content,
    /// Codec with its options.
    pub codec: &'static str,
    /// Bytes of a block.
    pub block: u32,
    /// Worker threads, of all packers together.
    pub workers: usize,
    /// Bytes on the line at once; `None` for the default.
    pub window: Option<u64>,
    /// How many pack at once; more than one share a pool.
    pub packers: usize,
}

impl Packing {
    /// Packs once.
    pub fn run(&self, way: &Way, place: &Path) -> Result<Cost, String> {
        let images: Vec<PathBuf> =
            (0..self.packers).map(|packer| place.join(format!("schedule-{packer}.sqfs"))).collect();
        let cost = timed(|| self.pack_all(way, &images), |()| sum(&images))?;
        images.iter().try_for_each(|image| std::fs::remove_file(image).map_err(|cause| named(image, &cause)))?;
        Ok(cost)
    }

    fn pack_all(&self, way: &Way, images: &[PathBuf]) -> Result<(), String> {
        if let [image] = images {
            return self.pack(way.config(), image);
        }
        let pool = Pool::new(self.workers, &way.scheduling(), None).map_err(|cause| cause.to_string())?;
        let line = Config { pool: Some(pool), ..way.config() };
        std::thread::scope(|scope| {
            let mut packers = Vec::new();
            for image in images {
                let line = line.clone();
                packers.push(scope.spawn(move || self.pack(line, image)));
            }
            packers.into_iter().try_for_each(|packer| match packer.join() {
                Ok(outcome) => outcome,
                Err(_) => Err("a packer panicked".to_owned()),
            })
        })
    }

    fn pack(&self, line: Config, image: &Path) -> Result<(), String> {
        let codec = Spec::parse(self.codec).map_err(|cause| cause.to_string())?;
        let options = Options { block_size: self.block, ..Options::new(codec) };
        let mut request = PackRequest::new(self.content.source(), image.to_owned(), options);
        request.force = true;
        request.resources = Resources { workers: self.workers, window: self.window, line, ..Resources::default() };
        packline::pack(request, &mut Unobserved).map(drop).map_err(|cause| cause.to_string())
    }
}

impl Content {
    fn source(&self) -> SourceSpec {
        match self {
            Content::Synthetic(tree) => SourceSpec::Entries { name: "synthetic".to_owned(), source: tree.source() },
            Content::Directory(path) => {
                SourceSpec::Directory { path: path.clone(), options: DirectoryOptions::default() }
            }
        }
    }
}

/// The sum of files, one after the other.
fn sum(images: &[PathBuf]) -> Result<blake3::Hash, String> {
    let mut hasher = blake3::Hasher::new();
    for image in images {
        let file = std::fs::File::open(image).map_err(|cause| named(image, &cause))?;
        hasher.update_reader(file).map_err(|cause| named(image, &cause))?;
    }
    Ok(hasher.finalize())
}

fn named(path: &Path, cause: &std::io::Error) -> String {
    format!("{}: {cause}", path.display())
}
