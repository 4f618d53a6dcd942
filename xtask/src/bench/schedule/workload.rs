//! The workloads.

use super::cost::Cost;
use super::packing::{Content, Packing};
use super::spin::SpinPipeline;
use super::synthetic::Tree;
use super::variant::Variant;
use crate::environment;
use clap::Args;
use packline_microbench::Idle;
use std::path::{Path, PathBuf};

const BLOCK: u32 = 128 << 10;
const MEBIBYTE: u64 = 1 << 20;

#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// Number of cores; workers are counted in multiples of it
    #[arg(long, value_name = "N", default_value_t = environment::processors())]
    pub jobs: usize,
    /// Number of empty files
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub files: u64,
    /// Size of generated content, percent of the default
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub percent: u64,
    /// A directory of mixed files
    #[arg(long, value_name = "DIR")]
    pub input: Option<PathBuf>,
    /// A directory of source code [default: the --input]
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub enum Task {
    Pack(Packing),
    Pipeline(SpinPipeline),
}

/// A name, and a function that makes the content.
pub type Workload = (&'static str, fn(&Settings) -> Result<Task, String>);

pub const WORKLOADS: [Workload; 19] = [
    ("duplicates", |set| Ok(set.synthetic(Tree::duplicates(set.scaled(80_000)), "zstd:level=3", BLOCK, 1))),
    ("few-xz-1M", |set| {
        Ok(set.synthetic(Tree::prose(1, (set.jobs as u64 + 1) * set.scaled(MEBIBYTE)), "xz", 1 << 20, 4))
    }),
    ("lz4-4K-4x", |set| Ok(set.synthetic(set.prose(96), "lz4", 4096, 4))),
    ("lz4-4K-four-packers", |set| Ok(set.four(set.synthetic(set.prose(24), "lz4", 4096, 4)))),
    ("source-tree", |set| set.directory(set.source.as_ref().or(set.input.as_ref()), 1)),
    ("xz-2x", |set| Ok(set.synthetic(set.prose(4), "xz", BLOCK, 2))),
    ("xz-4x", |set| Ok(set.synthetic(set.prose(4), "xz", BLOCK, 4))),
    ("zstd-1M", |set| Ok(set.synthetic(set.prose(64), "zstd:level=3", 1 << 20, 1))),
    ("mix-1", |set| set.directory(set.input.as_ref(), 0)),
    ("mix", |set| set.directory(set.input.as_ref(), 1)),
    ("mix-4x", |set| set.directory(set.input.as_ref(), 4)),
    ("all-sparse", |set| Ok(set.synthetic(Tree::sparse(set.scaled(8192 * MEBIBYTE)), "zstd:level=3", BLOCK, 1))),
    ("incompressible", |set| Ok(set.synthetic(Tree::noise(32, set.scaled(8 * MEBIBYTE)), "zstd:level=3", BLOCK, 1))),
    ("giant-file", |set| Ok(set.synthetic(Tree::prose(1, set.scaled(64 * MEBIBYTE)), "zstd:level=3", BLOCK, 1))),
    ("empty-files", |set| Ok(set.synthetic(Tree::empty(set.files), "zstd:level=3", BLOCK, 1))),
    ("slow-head", |set| Ok(Task::Pipeline(set.pipeline(|idle| Idle { head: set.scaled(80_000_000), ..idle })))),
    ("slow-sink", |set| Ok(Task::Pipeline(set.pipeline(|idle| Idle { sink: 60_000, ..idle })))),
    ("smallest-budget", |set| Ok(set.smallest_window(set.synthetic(set.prose(48), "zstd:level=3", BLOCK, 1)))),
    ("none-4x", |set| Ok(set.synthetic(set.prose(256), "none", BLOCK, 4))),
];

pub fn parse(name: &str) -> Result<Workload, String> {
    let known = WORKLOADS.into_iter().find(|(known, _)| *known == name);
    known.ok_or_else(|| format!("expected one of {}", WORKLOADS.map(|(name, _)| name).join(", ")))
}

impl Task {
    pub fn run(&self, variant: &Variant, directory: &Path) -> Result<Cost, String> {
        match self {
            Task::Pack(packing) => packing.run(variant, directory),
            Task::Pipeline(pipeline) => pipeline.run(variant),
        }
    }
}

impl Settings {
    /// A number of bytes or items, scaled; at least 1.
    fn scaled(&self, number: u64) -> u64 {
        (number * self.percent / 100).max(1)
    }

    /// Files of 1 MiB.
    fn prose(&self, count: u64) -> Tree {
        Tree::prose(count, self.scaled(MEBIBYTE))
    }

    fn synthetic(&self, tree: Tree, codec: &'static str, block: u32, times: usize) -> Task {
        self.packing(Content::Synthetic(tree), codec, block, times)
    }

    /// `times` workers a core; 1 worker if that is 0.
    fn packing(&self, content: Content, codec: &'static str, block: u32, times: usize) -> Task {
        let workers = (times * self.jobs).max(1);
        Task::Pack(Packing { content, codec, block, workers, window: None, packers: 1 })
    }

    fn directory(&self, path: Option<&PathBuf>, times: usize) -> Result<Task, String> {
        let path = path
            .cloned()
            .ok_or("needs --input DIR, a directory of real data; or choose other workloads with --only")?;
        Ok(self.packing(Content::Directory(path), "zstd:level=3", BLOCK, times))
    }

    fn pipeline(&self, changed: impl FnOnce(Idle) -> Idle) -> SpinPipeline {
        let idle = Idle { hash: 5_000, compress: 25_000, head: 25_000, ..Idle::default() };
        SpinPipeline { items: self.scaled(6_000), idle: changed(idle), workers: self.jobs }
    }

    fn four(&self, task: Task) -> Task {
        match task {
            Task::Pack(packing) => Task::Pack(Packing { packers: 4, ..packing }),
            other => other,
        }
    }

    /// One slab in flight.
    fn smallest_window(&self, task: Task) -> Task {
        match task {
            Task::Pack(packing) => Task::Pack(Packing { window: Some(1), ..packing }),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(input: Option<&str>) -> Settings {
        Settings { jobs: 3, files: 10, percent: 100, input: input.map(PathBuf::from), source: None }
    }

    #[test]
    fn workloads_are_chosen_by_name() {
        assert_eq!(["xz-2x", "giant-file"].map(|name| parse(name).unwrap().0), ["xz-2x", "giant-file"]);
        assert!(parse("tar").unwrap_err().contains("incompressible"));
    }

    #[test]
    fn workers_are_multiples_of_the_cores() {
        let workers = |name: &str| match parse(name).unwrap().1(&settings(Some("."))).unwrap() {
            Task::Pack(packing) => packing.workers,
            Task::Pipeline(pipeline) => pipeline.workers,
        };
        assert_eq!(["mix-1", "mix", "mix-4x", "slow-sink", "source-tree"].map(workers), [1, 3, 12, 3, 3]);
    }

    #[test]
    fn real_data_must_be_given() {
        assert!(parse("mix").unwrap().1(&settings(None)).unwrap_err().contains("--input"));
    }
}
