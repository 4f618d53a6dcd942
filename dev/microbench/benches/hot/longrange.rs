//! Repeats in a window: an archive with every program twice, text, noise, and zeros.

use criterion::{BenchmarkId, Criterion, Throughput};
use packline_longrange::{Settings, find};
use packline_microbench::{noise, program, text};
use std::hint::black_box;
use std::sync::Arc;

const WINDOW: usize = 16 << 20;

/// `find/CONTENT/WORKERS`.
pub fn bench(criterion: &mut Criterion) {
    let half = program(WINDOW / 2);
    let contents = [
        ("copies", [&half[..], &half[1..]].concat()),
        ("text", text(WINDOW)),
        ("noise", noise(WINDOW)),
        ("zeros", vec![0; WINDOW]),
    ];
    for (content, window) in contents {
        let window = Arc::new(window);
        for workers in [1, 2] {
            search(criterion, content, &window, workers);
        }
    }
}

fn search(criterion: &mut Criterion, content: &str, window: &Arc<Vec<u8>>, workers: usize) {
    let settings = Settings::new(7, window.len() as u64);
    let mut group = criterion.benchmark_group("find");
    group.throughput(Throughput::Bytes(window.len() as u64));
    group.bench_function(BenchmarkId::new(content, workers), |bencher| {
        bencher.iter(|| {
            let mut covered = 0;
            let each = &mut |found: packline_longrange::Match| {
                covered += found.length;
                Ok::<(), std::convert::Infallible>(())
            };
            find(black_box(window.clone()), &settings, workers, &|| false, each)
                .expect("a window in memory can be read");
            covered
        });
    });
}
