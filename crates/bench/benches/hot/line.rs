//! What the engine costs for a job that does nothing.

use criterion::{BenchmarkId, Criterion, Throughput};
use packline_bench::Idle;
use packline_engine::{Config, ParallelLine, SerialLine};

const JOBS: u64 = 10_000;
const BYTES: usize = 1000;

/// `line/serial`, `line/workers/N`: time for 10,000 jobs.
pub fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("line");
    group.throughput(Throughput::Elements(JOBS));
    let idle = Idle::default();
    let mut serial = SerialLine::new(idle);
    group.bench_function("serial", |bencher| {
        bencher.iter(|| idle.send(&mut serial, JOBS, BYTES).expect("nothing fails"));
    });
    for workers in [0, 1, 2] {
        let mut line = ParallelLine::new(idle, Config::new(workers, BYTES << 10)).expect("threads start");
        group.bench_function(BenchmarkId::new("workers", workers), |bencher| {
            bencher.iter(|| idle.send(&mut line, JOBS, BYTES).expect("nothing fails"));
        });
    }
}
