//! Inodes and listings of an image: the whole tree walked, paths looked up.

use criterion::{Criterion, Throughput};
use packline_microbench::{open, pack};
use packline_squashfs::Options;
use packline_squashfs::read::Image;
use packline_testkit::generate;
use packline_volume::Walk;
use std::hint::black_box;

const FILES: u64 = 20_000;
const PATHS: u64 = 100;

/// `read/walk/CODEC`, with a cache that holds a part of the metadata, and `read/lookup`.
pub fn bench(criterion: &mut Criterion) {
    let mut tar = Vec::new();
    generate::many_files(&mut tar, FILES).expect("memory takes every write");
    let image = |codec: &str| {
        let packed = pack(&tar, &Options::new(codec.parse().expect("a codec")), 0).expect("a sound tar");
        open(packed).expect("a sound image")
    };
    let mut group = criterion.benchmark_group("read");
    group.throughput(Throughput::Elements(FILES));
    for codec in ["none", "zstd"] {
        let image = image(codec);
        group.bench_function(format!("walk/{codec}"), |bencher| bencher.iter(|| walk(&image)));
    }
    let image = image("zstd");
    group.throughput(Throughput::Elements(PATHS));
    group.bench_function("lookup", |bencher| bencher.iter(|| lookup(&image)));
}

fn walk(image: &Image) -> usize {
    Walk::new(image, image.root(), Vec::new()).map(|visit| visit.expect("a sound image").path.len()).sum()
}

fn lookup(image: &Image) {
    for step in 0..PATHS {
        let index = step * (FILES / PATHS);
        let path = format!("d{:05}/f{index}", index / 500);
        let found = image.resolve(black_box(path.as_bytes())).expect("a sound image");
        assert!(found.is_some(), "{path}");
    }
}
