//! The engine's cost for a job that does nothing.

use criterion::{BenchmarkId, Criterion, Throughput};
use packline_engine::Config;
use packline_microbench::Idle;

const JOBS: u64 = 10_000;
const BYTES: usize = 1000;

/// `pipeline/serial`, `pipeline/workers/N`: time of 10,000 jobs.
pub fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pipeline");
    group.throughput(Throughput::Elements(JOBS));
    let idle = Idle::default();
    let mut serial = idle.pipeline(Config::new(0, 0)).expect("no thread is started");
    group.bench_function("serial", |bencher| {
        bencher.iter(|| idle.send(&mut serial, JOBS, BYTES).expect("nothing fails"));
    });
    for workers in [1, 2] {
        let mut pipeline = idle.pipeline(Config::new(workers, BYTES << 10)).expect("threads start");
        group.bench_function(BenchmarkId::new("workers", workers), |bencher| {
            bencher.iter(|| idle.send(&mut pipeline, JOBS, BYTES).expect("nothing fails"));
        });
    }
}
