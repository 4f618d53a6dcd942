//! The log that every pipeline must produce, computed by a loop that uses only the engine's types.

use std::panic::{AssertUnwindSafe, catch_unwind};

use packline_engine::{Fault, Permit, Stats, Task};

use crate::fake::{Compress, Fake, Flaw, Hash, Item, Log, Next, Packer, Parcel, fail, quiet};

/// The counters of work done, which do not depend on timing.
pub fn done(stats: &Stats) -> [u64; 5] {
    [stats.fed, stats.decided, stats.submitted, stats.passed, stats.committed]
}

enum Step {
    Compress(Parcel),
    Pass(Parcel),
}

impl Next for Vec<Step> {
    fn submit(&mut self, job: Parcel) {
        self.push(Step::Compress(job));
    }

    fn pass(&mut self, result: Parcel) {
        self.push(Step::Pass(result));
    }
}

#[derive(Default)]
struct Reference {
    hash: Hash,
    compress: Compress,
    packer: Packer,
    counts: [u64; 5],
}

fn run<T: Task<Error = String>>(task: &T, input: T::In) -> Result<T::Out, Fault<String>> {
    let run = AssertUnwindSafe(|| task.run(&mut task.tool(), input));
    match catch_unwind(run) {
        Ok(result) => result.map_err(Fault::Work),
        Err(payload) => Err(Fault::Panic(payload.downcast_ref::<String>().cloned().unwrap_or_default())),
    }
}

impl Reference {
    fn item(&mut self, number: usize, item: Item) -> Result<(), Fault<String>> {
        if item.flaw == Flaw::Source {
            return fail("source", number).map_err(Fault::Work);
        }
        self.counts[0] += 1;
        let raw = Parcel { number, part: 0, item, mark: 0, permit: Permit::detached(item.bytes) };
        let hashed = run(&self.hash, raw)?;
        let mut steps = Vec::new();
        self.packer.decide_item(hashed, &mut steps).map_err(Fault::Work)?;
        self.counts[1] += 1;
        self.commit(steps)
    }

    fn commit(&mut self, steps: Vec<Step>) -> Result<(), Fault<String>> {
        for step in steps {
            let packed = match step {
                Step::Compress(job) => {
                    self.counts[2] += 1;
                    run(&self.compress, job)?
                }
                Step::Pass(result) => {
                    self.counts[3] += 1;
                    result
                }
            };
            self.packer.commit_result(&packed).map_err(Fault::Work)?;
            self.counts[4] += 1;
        }
        Ok(())
    }

    fn all(&mut self, items: &[Item]) -> Result<(), Fault<String>> {
        items.iter().enumerate().try_for_each(|(number, &item)| self.item(number, item))?;
        let mut steps = Vec::new();
        self.packer.flush(&mut steps);
        for part in 0..2 {
            let [job, result] = Packer::last(part, Permit::detached(10));
            steps.submit(job);
            steps.pass(result);
        }
        self.commit(steps)
    }
}

/// The log of `items`, and the counters of [`done`].
pub fn serial(items: &[Item]) -> (Log, [u64; 5]) {
    quiet();
    let fake = Fake::default();
    let mut reference = Reference { hash: Hash(fake.clone()), compress: Compress(fake), ..Reference::default() };
    let end = reference.all(items);
    reference.packer.log.end = end.err().map(|fault| format!("{fault:?}"));
    (reference.packer.log, reference.counts)
}
