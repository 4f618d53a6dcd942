//! Packing in memory with codec none: everything but the codec.

use criterion::{BenchmarkId, Criterion, Throughput};
use packline_microbench::pack;
use packline_squashfs::Options;
use packline_testkit::generate;
use std::io;

type Generator = fn(&mut dyn io::Write) -> io::Result<()>;

const INPUTS: [(&str, Generator); 5] = [
    // Zeros are found and not hashed.
    ("zeros", |sink| generate::zero_files(sink, 4, 8 << 20)),
    // Each block is hashed, decided and copied.
    ("blocks", |sink| generate::noise_files(sink, 4, 8 << 20)),
    // Every file except those of the first copy is a duplicate.
    ("duplicates", |sink| generate::duplicated(sink, 100, 8)),
    // Tail ends: a hash and a place in a fragment block for each file.
    ("tails", |sink| generate::many_files(sink, 20_000)),
    // Names, inodes and listings only.
    ("metadata", |sink| generate::flat_directory(sink, 20_000)),
];

/// `write/INPUT/WORKERS`.
pub fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("write");
    let options = Options::new("none".parse().expect("a codec"));
    for (name, generator) in INPUTS {
        let mut tar = Vec::new();
        generator(&mut tar).expect("memory takes every write");
        group.throughput(Throughput::Bytes(tar.len() as u64));
        for workers in [0, 2] {
            group.bench_function(BenchmarkId::new(name, workers), |bencher| {
                bencher.iter(|| pack(&tar, &options, workers).expect("a sound tar").len());
            });
        }
    }
}
