//! What the engine costs for a job that does nothing.

use criterion::{BenchmarkId, Criterion, Throughput};
use packline_engine::{Caller, Config, Fault, Line, Outbox, ParallelLine, Permit, SerialLine, Work};

const JOBS: usize = 10_000;
const BYTES: usize = 1000;

/// A number that goes through both stages, and its memory.
struct Parcel(u64, Permit);

struct Nothing;

impl Work for Nothing {
    type Raw = Parcel;
    type Hashed = Parcel;
    type Job = Parcel;
    type Packed = Parcel;
    type Error = ();
    type Tool = ();

    fn tool(&self) {}

    fn hash(&self, _tool: &mut (), raw: Parcel) -> Result<Parcel, ()> {
        Ok(raw)
    }

    fn compress(&self, _tool: &mut (), job: Parcel) -> Result<Parcel, ()> {
        Ok(job)
    }
}

/// Adds up what arrives and gives its memory back.
struct Sum(u64);

impl Caller<Nothing> for Sum {
    fn decide(&mut self, hashed: Parcel, next: &mut dyn Outbox<Nothing>) -> Result<(), ()> {
        next.submit(hashed);
        Ok(())
    }

    fn commit(&mut self, Parcel(number, permit): Parcel) -> Result<(), ()> {
        self.0 += number;
        drop(permit);
        Ok(())
    }
}

/// `line/serial`, `line/workers/N`: time for 10,000 jobs.
pub fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("line");
    group.throughput(Throughput::Elements(JOBS as u64));
    let mut serial = SerialLine::new(Nothing);
    group.bench_function("serial", |bencher| bencher.iter(|| through(&mut serial).expect("nothing fails")));
    for workers in [0, 1, 2] {
        let mut line = ParallelLine::new(Nothing, Config::new(workers, BYTES << 10)).expect("threads start");
        group.bench_function(BenchmarkId::new("workers", workers), |bencher| {
            bencher.iter(|| through(&mut line).expect("nothing fails"));
        });
    }
}

fn through(line: &mut dyn Line<Nothing>) -> Result<u64, Fault<()>> {
    let mut sum = Sum(0);
    for number in 0..JOBS as u64 {
        let permit = line.reserve(BYTES, &mut sum)?;
        line.feed(Parcel(number, permit), &mut sum)?;
    }
    line.drain(&mut sum)?;
    Ok(sum.0)
}
