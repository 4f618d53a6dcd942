//! The set: what is packed and by whom.

use super::answer::Cost;
use super::fake::Fake;
use super::packing::{Content, Packing};
use super::synthetic::Tree;
use super::way::Way;
use crate::arguments::Arguments;
use crate::environment;
use packline_bench::Idle;
use std::path::{Path, PathBuf};

/// The default block size.
const BLOCK: u32 = 128 << 10;
const MEBIBYTE: u64 = 1 << 20;

/// What the workloads are made with.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Cores; workers are counted in multiples of them.
    pub jobs: usize,
    /// How many empty files.
    pub files: u64,
    /// The size of what is made up, in percent of the usual.
    pub percent: u64,
    /// A directory of mixed files.
    pub input: Option<PathBuf>,
    /// A directory of sources.
    pub source: Option<PathBuf>,
}

/// A workload that is ready to run.
#[derive(Debug, Clone)]
pub enum Task {
    /// Packs.
    Pack(Packing),
    /// A line with made-up work.
    Line(Fake),
}

/// Makes a workload's content.
pub type Make = fn(&Setting) -> Result<Task, String>;

/// All of them, by name.
pub const WORKLOADS: [(&str, Make); 19] = [
    ("duplicates", |set| Ok(set.made_up(Tree::duplicates(set.scaled(80_000)), "zstd:level=3", BLOCK, 1))),
    ("few-xz-1M", |set| {
        Ok(set.made_up(Tree::prose(1, (set.jobs as u64 + 1) * set.scaled(MEBIBYTE)), "xz", 1 << 20, 4))
    }),
    ("lz4-4K-4x", |set| Ok(set.made_up(set.prose(96), "lz4", 4096, 4))),
    ("lz4-4K-four-packers", |set| Ok(set.four(set.made_up(set.prose(24), "lz4", 4096, 4)))),
    ("source-tree", |set| set.directory(&set.source, 1)),
    ("xz-2x", |set| Ok(set.made_up(set.prose(4), "xz", BLOCK, 2))),
    ("xz-4x", |set| Ok(set.made_up(set.prose(4), "xz", BLOCK, 4))),
    ("zstd-1M", |set| Ok(set.made_up(set.prose(64), "zstd:level=3", 1 << 20, 1))),
    ("mix-1", |set| set.directory(&set.input, 0)),
    ("mix", |set| set.directory(&set.input, 1)),
    ("mix-4x", |set| set.directory(&set.input, 4)),
    ("all-sparse", |set| Ok(set.made_up(Tree::sparse(set.scaled(8192 * MEBIBYTE)), "zstd:level=3", BLOCK, 1))),
    ("incompressible", |set| Ok(set.made_up(Tree::noise(32, set.scaled(8 * MEBIBYTE)), "zstd:level=3", BLOCK, 1))),
    ("giant-file", |set| Ok(set.made_up(Tree::prose(1, set.scaled(64 * MEBIBYTE)), "zstd:level=3", BLOCK, 1))),
    ("empty-files", |set| Ok(set.made_up(Tree::empty(set.files), "zstd:level=3", BLOCK, 1))),
    ("slow-head", |set| Ok(Task::Line(set.fake(|idle| Idle { head: set.scaled(80_000_000), ..idle })))),
    ("slow-sink", |set| Ok(Task::Line(set.fake(|idle| Idle { sink: 60_000, ..idle })))),
    ("smallest-budget", |set| Ok(set.tight(set.made_up(set.prose(48), "zstd:level=3", BLOCK, 1)))),
    ("none-4x", |set| Ok(set.made_up(set.prose(256), "none", BLOCK, 4))),
];

/// Those of these names; all if there are none.
pub fn chosen(names: &[String]) -> Result<Vec<(&'static str, Make)>, String> {
    let known = || WORKLOADS.map(|(name, _)| name);
    match names.iter().find(|name| !known().contains(&name.as_str())) {
        Some(name) => Err(format!("--only: unknown {name} (expected some of {:?})", known())),
        None => Ok(WORKLOADS
            .into_iter()
            .filter(|(name, _)| names.is_empty() || names.iter().any(|it| it == name))
            .collect()),
    }
}

impl Task {
    /// Runs it once.
    pub fn run(&self, way: &Way, place: &Path) -> Result<Cost, String> {
        match self {
            Task::Pack(packing) => packing.run(way, place),
            Task::Line(fake) => fake.run(way),
        }
    }
}

impl Setting {
    /// As the options say.
    pub fn new(arguments: &Arguments) -> Result<Setting, String> {
        let input = arguments.path("input");
        Ok(Setting {
            jobs: arguments.number("jobs", environment::processors())?.max(1),
            files: arguments.number("files", 100_000)?,
            percent: arguments.number("percent", 100)?,
            source: arguments.path("source").or_else(|| input.clone()),
            input,
        })
    }

    /// A number of bytes or items, as large as wanted; at least 1.
    fn scaled(&self, number: u64) -> u64 {
        (number * self.percent / 100).max(1)
    }

    /// Files of 1 MiB.
    fn prose(&self, count: u64) -> Tree {
        Tree::prose(count, self.scaled(MEBIBYTE))
    }

    fn made_up(&self, tree: Tree, codec: &'static str, block: u32, times: usize) -> Task {
        self.packing(Content::Synthetic(tree), codec, block, times)
    }

    /// So many workers a core; with 0, one in all.
    fn packing(&self, content: Content, codec: &'static str, block: u32, times: usize) -> Task {
        let workers = (times * self.jobs).max(1);
        Task::Pack(Packing { content, codec, block, workers, window: None, packers: 1 })
    }

    fn directory(&self, path: &Option<PathBuf>, times: usize) -> Result<Task, String> {
        let path = path.clone().ok_or("--input: name a directory of real data, or choose others with --only")?;
        Ok(self.packing(Content::Directory(path), "zstd:level=3", BLOCK, times))
    }

    fn fake(&self, changed: impl FnOnce(Idle) -> Idle) -> Fake {
        let idle = Idle { hash: 5_000, compress: 25_000, head: 25_000, ..Idle::default() };
        Fake { items: self.scaled(6_000), idle: changed(idle), workers: self.jobs }
    }

    fn four(&self, task: Task) -> Task {
        match task {
            Task::Pack(packing) => Task::Pack(Packing { packers: 4, ..packing }),
            other => other,
        }
    }

    /// One slab at a time.
    fn tight(&self, task: Task) -> Task {
        match task {
            Task::Pack(packing) => Task::Pack(Packing { window: Some(1), ..packing }),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_choose() {
        assert_eq!(chosen(&[]).unwrap().len(), WORKLOADS.len());
        let names = ["xz-2x", "giant-file"].map(str::to_owned);
        assert_eq!(chosen(&names).unwrap().iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
        assert!(chosen(&["tar".to_owned()]).unwrap_err().contains("incompressible"));
    }

    #[test]
    fn workers_are_multiples_of_the_cores() {
        let arguments = Arguments::parse("--jobs 3 --input .".split(' ').map(str::to_owned)).unwrap();
        let set = Setting::new(&arguments).unwrap();
        let workers = |name: &str| match chosen(&[name.to_owned()]).unwrap()[0].1(&set).unwrap() {
            Task::Pack(packing) => packing.workers,
            Task::Line(fake) => fake.workers,
        };
        assert_eq!(["mix-1", "mix", "mix-4x", "slow-sink"].map(workers), [1, 3, 12, 3]);
    }

    #[test]
    fn real_data_must_be_named() {
        let set = Setting::new(&Arguments::default()).unwrap();
        assert!(chosen(&["mix".to_owned()]).unwrap()[0].1(&set).unwrap_err().contains("--input"));
    }
}
