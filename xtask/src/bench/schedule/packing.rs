//! Packing in this process: one packer, or several on one pool.
#![allow(clippy::disallowed_methods, reason = "a panic where no thread starts is acceptable here")]

use super::cost::{Cost, timed};
use super::synthetic::Tree;
use super::variant::Variant;
use crate::shell;
use packline::requests::{PackOptions, PackRequest};
use packline::{Output, Resources, Source, Unobserved};
use packline_codec::Spec;
use packline_engine::{Config, Pool};
use packline_squashfs::Options;
use packline_tree::DirectoryOptions;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub enum Content {
    /// Files that exist only in memory.
    Synthetic(Tree),
    Directory(PathBuf),
}

#[derive(Debug, Clone)]
pub struct Packing {
    pub content: Content,
    pub codec: &'static str,
    /// Block size, bytes.
    pub block: u32,
    /// Worker threads of all packers together.
    pub workers: usize,
    /// Bytes in flight; `None` for the default.
    pub window: Option<u64>,
    /// Packers at the same time; several share a pool.
    pub packers: usize,
}

impl Packing {
    pub fn run(&self, variant: &Variant, directory: &Path) -> Result<Cost, String> {
        let images: Vec<PathBuf> =
            (0..self.packers).map(|packer| directory.join(format!("schedule-{packer}.sqfs"))).collect();
        let cost = timed(|| self.pack_all(variant, &images), |()| shell::hash(&images))?;
        images.iter().try_for_each(|image| {
            std::fs::remove_file(image).map_err(|cause| format!("{}: {cause}", image.display()))
        })?;
        Ok(cost)
    }

    fn pack_all(&self, variant: &Variant, images: &[PathBuf]) -> Result<(), String> {
        if let [image] = images {
            return self.pack(variant.config(), image);
        }
        let pool = Pool::new(self.workers, &variant.scheduling(), None).map_err(|cause| cause.to_string())?;
        let config = Config { pool: Some(pool), ..variant.config() };
        std::thread::scope(|scope| {
            let mut packers = Vec::new();
            for image in images {
                let config = config.clone();
                packers.push(scope.spawn(move || self.pack(config, image)));
            }
            packers.into_iter().try_for_each(|packer| match packer.join() {
                Ok(outcome) => outcome,
                Err(_) => Err("a packer panicked".to_owned()),
            })
        })
    }

    fn pack(&self, config: Config, image: &Path) -> Result<(), String> {
        let codec = Spec::parse(self.codec).map_err(|cause| cause.to_string())?;
        let options = Options { block_size: self.block, ..Options::new(codec) };
        let target = Output::File { path: image.to_owned(), force: true };
        let mut request = PackRequest::new(self.content.source(), target, PackOptions::SquashFs(options));
        request.resources = Resources::new(self.workers);
        (request.resources.window, request.resources.engine) = (self.window, config);
        packline::requests::pack(request, &mut Unobserved).map(drop).map_err(|cause| cause.to_string())
    }
}

impl Content {
    fn source(&self) -> Source {
        match self {
            Content::Synthetic(tree) => Source::Entries { name: "synthetic".to_owned(), source: tree.source() },
            Content::Directory(path) => Source::Directory { path: path.clone(), options: DirectoryOptions::default() },
        }
    }
}
