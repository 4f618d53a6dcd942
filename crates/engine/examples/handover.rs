//! Sends jobs down a line that only pass the time, to see under `perf stat` or `time` what handing over costs.
//!
//! `handover ITEMS WORKERS BUDGET_BYTES [ROUNDS [CALLER_ROUNDS [PLAIN]]]`: each item is one hash job and one compress job of
//! `ROUNDS` pauses, 64 bytes of memory; the caller itself pauses `CALLER_ROUNDS` times before each. `PLAIN` 1 takes the plain queue.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use packline_engine::{Caller, Config, Fault, Line, Outbox, ParallelLine, Permit, Scheduling, Work};

struct Pause(usize);

fn pause(rounds: usize) {
    (0..rounds).for_each(|_| std::hint::spin_loop());
}

impl Work for Pause {
    type Raw = Permit;
    type Hashed = Permit;
    type Job = Permit;
    type Packed = Permit;
    type Error = String;
    type Tool = ();

    fn tool(&self) {}

    fn hash(&self, (): &mut (), raw: Permit) -> Result<Permit, String> {
        pause(self.0);
        Ok(raw)
    }

    fn compress(&self, (): &mut (), job: Permit) -> Result<Permit, String> {
        pause(self.0);
        Ok(job)
    }
}

struct Forward(u64);

impl Caller<Pause> for Forward {
    fn decide(&mut self, hashed: Permit, next: &mut dyn Outbox<Pause>) -> Result<(), String> {
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
    let usage =
        || Fault::Work("usage: handover ITEMS WORKERS BUDGET_BYTES [ROUNDS [CALLER_ROUNDS [PLAIN]]]".to_owned());
    let [items, workers, budget, rounds, own, plain] =
        [(1, 100_000), (2, 2), (3, 64 << 20), (4, 0), (5, 0), (6, 0)].map(|(index, default)| number(index, default));
    let scheduling = Scheduling { plain: plain.ok_or_else(usage)? == 1, ..Scheduling::default() };
    let config = Config { scheduling, ..Config::new(workers.ok_or_else(usage)?, budget.ok_or_else(usage)?) };
    let refused = |error: std::io::Error| Fault::Work(error.to_string());
    let mut line = ParallelLine::new(Pause(rounds.ok_or_else(usage)?), config).map_err(refused)?;
    let (own, mut caller) = (own.ok_or_else(usage)?, Forward(0));
    for _ in 0..items.ok_or_else(usage)? {
        pause(own);
        let permit = line.reserve(64, &mut caller)?;
        line.feed(permit, &mut caller)?;
    }
    line.drain(&mut caller)?;
    println!("{} committed, {:?}", caller.0, line.stats());
    Ok(())
}
