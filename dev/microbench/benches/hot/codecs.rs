//! Each codec on one block, compressing and decompressing.

use criterion::{BenchmarkId, Criterion, Throughput};
use packline_codec::{Outcome, Spec};
use packline_microbench::{noise, program, text};
use std::hint::black_box;

const BLOCK: usize = 128 << 10;

/// `compress/CODEC/CONTENT`, `decompress/CODEC/CONTENT`.
pub fn bench(criterion: &mut Criterion) {
    let contents = [("text", text(BLOCK)), ("program", program(BLOCK)), ("noise", noise(BLOCK))];
    for name in Spec::names().iter().filter(|name| **name != "none") {
        let spec = Spec::parse(name).expect("its own name");
        for (content, block) in &contents {
            compress(criterion, &spec, content, block);
            decompress(criterion, &spec, content, block);
        }
    }
}

fn compress(criterion: &mut Criterion, spec: &Spec, content: &str, block: &[u8]) {
    let mut encoder = spec.encoder(BLOCK).expect("its defaults");
    let mut out = vec![0; BLOCK];
    let mut group = criterion.benchmark_group("compress");
    group.throughput(Throughput::Bytes(BLOCK as u64));
    group.bench_function(BenchmarkId::new(spec.name(), content), |bencher| {
        bencher.iter(|| encoder.compress(black_box(block), &mut out).expect("a block fits"));
    });
}

/// A block that is stored uncompressed is not measured.
fn decompress(criterion: &mut Criterion, spec: &Spec, content: &str, block: &[u8]) {
    let mut packed = vec![0; BLOCK];
    let outcome = spec.encoder(BLOCK).expect("its defaults").compress(block, &mut packed).expect("a block fits");
    let Outcome::Smaller(length) = outcome else { return };
    let mut decoder = spec.decoder(BLOCK, usize::MAX).expect("its defaults");
    let mut out = vec![0; BLOCK];
    let mut group = criterion.benchmark_group("decompress");
    group.throughput(Throughput::Bytes(BLOCK as u64));
    group.bench_function(BenchmarkId::new(spec.name(), content), |bencher| {
        bencher.iter(|| decoder.decompress(black_box(&packed[..length]), &mut out).expect("its own block"));
    });
}
