//! Sends jobs that only pause through a pipeline, to measure the overhead of a job with `perf stat` or `time`.
//!
//! `handover ITEMS WORKERS BUDGET_BYTES [ROUNDS [CALLER_ROUNDS]]`: each item is one job in each stage, with `ROUNDS` pauses and
//! 64 bytes of memory. The caller itself pauses `CALLER_ROUNDS` times before each item.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use packline_engine::{Config, Fault, Outbox, Permit, Pipeline, Sequencer, Task};

#[derive(Clone)]
struct Pause(usize);

fn pause(rounds: usize) {
    (0..rounds).for_each(|_| std::hint::spin_loop());
}

impl Task for Pause {
    type In = Permit;
    type Out = Permit;
    type Error = String;
    type Tool = ();

    fn tool(&self) {}

    fn run(&self, (): &mut (), input: Permit) -> Result<Permit, String> {
        pause(self.0);
        Ok(input)
    }
}

struct Forward(u64);

impl Sequencer<Pause, Pause> for Forward {
    fn decide(&mut self, hashed: Permit, next: &mut Outbox<Pause>) -> Result<(), String> {
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
    let usage = || Fault::Work("usage: handover ITEMS WORKERS BUDGET_BYTES [ROUNDS [CALLER_ROUNDS]]".to_owned());
    let [items, workers, budget, rounds, own] =
        [(1, 100_000), (2, 2), (3, 64 << 20), (4, 0), (5, 0)].map(|(index, default)| number(index, default));
    let config = Config::new(workers.ok_or_else(usage)?, budget.ok_or_else(usage)?);
    let refused = |error: std::io::Error| Fault::Work(error.to_string());
    let task = Pause(rounds.ok_or_else(usage)?);
    let mut pipe = Pipeline::new(task.clone(), task, config).map_err(refused)?;
    let own = own.ok_or_else(usage)?;
    let mut caller = Forward(0);
    for _ in 0..items.ok_or_else(usage)? {
        pause(own);
        let permit = pipe.reserve(64, &mut caller)?;
        pipe.submit(permit, &mut caller)?;
    }
    pipe.drain(&mut caller)?;
    println!("{} committed, {:?}", caller.0, pipe.stats());
    Ok(())
}
