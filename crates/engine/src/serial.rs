//! The reference line: every job on the spot, no threads, no queues.

use std::collections::VecDeque;

use crate::desk::Bench;
use crate::slot::Outcome;
use crate::{Budget, Caller, CancelToken, Class, Config, Counted, Fault, Line, Outbox, Permit, Stats, Tally, Work};

/// A line that does one thing after the other on the caller's thread, and defines what every other line must give.
///
/// `feed` hashes the item, decides it, and then compresses and commits what the decision handed on, before it
/// returns. What is put into `outbox` between calls needs the caller to be committed, so it waits for the next call.
/// Memory is counted and always admitted.
pub struct SerialLine<W: Work> {
    work: W,
    bench: Bench<W>,
    handed_on: HandedOn<W>,
    budget: Budget,
    cancel: CancelToken,
    tally: Option<Tally>,
    counts: Stats,
    /// Set by an error, and while the caller's code runs: if that unwinds, the line has stopped.
    stopped: bool,
}

/// What was handed on since the last commit.
struct HandedOn<W: Work> {
    steps: VecDeque<Step<W>>,
    submitted: u64,
    passed: u64,
    open: bool,
}

enum Step<W: Work> {
    Compress(W::Job),
    Pass(W::Packed),
}

impl<W: Work> Outbox<W> for HandedOn<W> {
    fn submit_as(&mut self, _: Class, job: W::Job) {
        if self.open {
            self.submitted += 1;
            self.steps.push_back(Step::Compress(job));
        }
    }

    fn pass(&mut self, packed: W::Packed) {
        if self.open {
            self.passed += 1;
            self.steps.push_back(Step::Pass(packed));
        }
    }
}

impl<W: Work> SerialLine<W> {
    /// Makes a line that nobody cancels.
    pub fn new(work: W) -> Self {
        Self::with_cancel(work, CancelToken::new())
    }

    /// Makes a line that looks at `cancel` at each call.
    pub fn with_cancel(work: W, cancel: CancelToken) -> Self {
        Self::with_config(work, Config { cancel, ..Config::default() })
    }

    /// Makes a line with the cancel token and the tally of `config`; the rest is of threads and queues.
    pub fn with_config(work: W, config: Config) -> Self {
        Self {
            work,
            bench: Bench::new(),
            handed_on: HandedOn { steps: VecDeque::new(), submitted: 0, passed: 0, open: true },
            budget: Budget::unlimited(),
            cancel: config.cancel,
            tally: config.tally,
            counts: Stats::default(),
            stopped: false,
        }
    }

    /// What begins every call: the checks, and what was handed on between calls.
    fn begin(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>> {
        if self.stopped {
            return Err(Fault::Stopped);
        }
        if self.cancel.is_cancelled() {
            return Err(self.stop(Fault::Cancelled));
        }
        self.flush(caller)
    }

    fn stop(&mut self, fault: Fault<W::Error>) -> Fault<W::Error> {
        self.stopped = true;
        self.handed_on.open = false;
        self.handed_on.steps.clear();
        fault
    }

    fn flush(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>> {
        while let Some(step) = self.handed_on.steps.pop_front() {
            self.commit(step, caller).map_err(|fault| self.stop(fault))?;
            self.counts.committed += 1;
        }
        Ok(())
    }

    fn commit(&mut self, step: Step<W>, caller: &mut dyn Caller<W>) -> Outcome<(), W::Error> {
        let packed = match step {
            Step::Compress(job) => self.bench.compress(&self.work, job)?,
            Step::Pass(packed) => packed,
        };
        self.guarded(|_| caller.commit(packed))
    }

    fn decide(&mut self, raw: W::Raw, caller: &mut dyn Caller<W>) -> Outcome<(), W::Error> {
        let hashed = self.bench.hash(&self.work, raw)?;
        self.guarded(|next| caller.decide(hashed, next))?;
        self.counts.decided += 1;
        Ok(())
    }

    /// Runs the caller's code; if it unwinds, the line stays stopped.
    fn guarded(&mut self, step: impl FnOnce(&mut HandedOn<W>) -> Result<(), W::Error>) -> Outcome<(), W::Error> {
        self.stopped = true;
        let result = step(&mut self.handed_on);
        self.stopped = false;
        result.map_err(Fault::Work)
    }
}

impl<W: Work> Line<W> for SerialLine<W> {
    fn reserve(&mut self, bytes: usize, caller: &mut dyn Caller<W>) -> Result<Permit, Fault<W::Error>> {
        self.begin(caller)?;
        Ok(self.budget.take(bytes))
    }

    fn feed(&mut self, raw: W::Raw, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>> {
        self.begin(caller)?;
        self.counts.fed += 1;
        // What a failed decision handed on comes after its error, and is dropped.
        self.decide(raw, caller).map_err(|fault| self.stop(fault))?;
        self.flush(caller)
    }

    fn settle(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>> {
        self.begin(caller)
    }

    fn advance(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>> {
        self.begin(caller)
    }

    fn outbox(&mut self) -> &mut dyn Outbox<W> {
        &mut self.handed_on
    }

    fn drain(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>> {
        self.begin(caller)
    }

    fn stats(&self) -> Stats {
        Stats {
            submitted: self.handed_on.submitted,
            passed: self.handed_on.passed,
            bytes_in_flight: self.budget.used(),
            peak_bytes: self.budget.peak(),
            ..self.counts
        }
    }
}

impl<W: Work> Drop for SerialLine<W> {
    fn drop(&mut self) {
        if let Some(tally) = &self.tally {
            tally.add(&Counted { line: self.stats(), ..Counted::default() });
        }
    }
}
