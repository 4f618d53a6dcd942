//! Headers of a tar, and entries gathered into a tree.

use criterion::{BatchSize, Criterion, Throughput};
use packline_archives::tar::{TarOptions, TarSource};
use packline_microbench::META;
use packline_testkit::generate;
use packline_tree::{Entry, NO_XATTR, Namespace, Source};
use std::io;

const FILES: u64 = 100_000;

type Generator = fn(&mut dyn io::Write, u64) -> io::Result<()>;

/// `tar/headers`, `namespace/...`: 100,000 entries each.
pub fn bench(criterion: &mut Criterion) {
    let flat = tar(generate::flat_directory, FILES);
    let links = tar(generate::hard_link_pairs, FILES / 2);
    let deep = tar(generate::unique_small_files, FILES);
    headers(criterion, &flat);
    for (name, tar) in [("flat", &flat), ("directories", &deep), ("links", &links)] {
        gather(criterion, name, &entries(tar));
    }
}

fn tar(generator: Generator, count: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    generator(&mut bytes, count).expect("memory takes every write");
    bytes
}

fn entries(tar: &[u8]) -> Vec<Entry> {
    let mut source = TarSource::new(tar, TarOptions::named("generated"));
    std::iter::from_fn(|| source.next_entry().expect("a sound tar")).collect()
}

fn headers(criterion: &mut Criterion, tar: &[u8]) {
    let mut group = criterion.benchmark_group("tar");
    group.throughput(Throughput::Elements(FILES));
    group.bench_function("headers", |bencher| bencher.iter(|| entries(tar).len()));
}

fn gather(criterion: &mut Criterion, name: &str, entries: &[Entry]) {
    let mut group = criterion.benchmark_group("namespace");
    group.throughput(Throughput::Elements(entries.len() as u64));
    group.bench_function(name, |bencher| {
        let gathered = |mut tree: Namespace| {
            for (index, entry) in entries.iter().enumerate() {
                tree.add(entry, index as u32, NO_XATTR).expect("a sound tree");
            }
            tree.finish().expect("every link has its target")
        };
        bencher.iter_batched(|| Namespace::new(META), gathered, BatchSize::PerIteration);
    });
}
