//! Sends empty jobs down a line, to see under `perf stat` or `time` what handing over costs.
//!
//! `handover ITEMS WORKERS [BUDGET_BYTES]`: each item is one hash job and one compress job, 64 bytes of memory.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use packline_engine::{Caller, Config, Fault, Line, Outbox, ParallelLine, Permit, Work};

struct Nothing;

impl Work for Nothing {
    type Raw = Permit;
    type Hashed = Permit;
    type Job = Permit;
    type Packed = Permit;
    type Error = String;
    type Tool = ();

    fn tool(&self) {}

    fn hash(&self, (): &mut (), raw: Permit) -> Result<Permit, String> {
        Ok(raw)
    }

    fn compress(&self, (): &mut (), job: Permit) -> Result<Permit, String> {
        Ok(job)
    }
}

struct Forward(u64);

impl Caller<Nothing> for Forward {
    fn decide(&mut self, hashed: Permit, next: &mut dyn Outbox<Nothing>) -> Result<(), String> {
        next.submit(hashed);
        Ok(())
    }

    fn commit(&mut self, _: Permit) -> Result<(), String> {
        self.0 += 1;
        Ok(())
    }
}

fn main() -> Result<(), Fault<String>> {
    let number = |index: usize, default: usize| std::env::args().nth(index).map_or(Some(default), |n| n.parse().ok());
    let usage = || Fault::Work("usage: handover ITEMS WORKERS [BUDGET_BYTES]".to_owned());
    let items = number(1, 100_000).ok_or_else(usage)?;
    let workers = number(2, 2).ok_or_else(usage)?;
    let budget = number(3, 64 << 20).ok_or_else(usage)?;
    let config = Config::new(workers, budget);
    let mut line = ParallelLine::new(Nothing, config).map_err(|error| Fault::Work(error.to_string()))?;
    let mut caller = Forward(0);
    for _ in 0..items {
        let permit = line.reserve(64, &mut caller)?;
        line.feed(permit, &mut caller)?;
    }
    line.drain(&mut caller)?;
    println!("{} committed, {:?}", caller.0, line.stats());
    Ok(())
}
