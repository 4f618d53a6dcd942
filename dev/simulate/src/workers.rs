//! The workers of a run: they look for jobs, run them, sleep and are woken.

use crate::cores::Kind;
use crate::locks::Agent;
use crate::world::{Event, Wake, World};

impl World<'_> {
    /// An idle worker looks for a job.
    pub(super) fn look(&mut self, worker: usize) {
        // A list under one lock is inspected under the lock.
        let unseen = self.wake == Wake::Broadcast && self.design.lock_free(Some(worker), 0).is_none();
        if self.design.pending() == 0 && !(unseen && self.workers[worker].searching) {
            return self.sleep(worker);
        }
        let choice = self.choose(worker);
        self.lock_counts.skipped += choice.skipped;
        let queue = choice.queue.unwrap_or(0);
        let chosen = self.now + choice.cost;
        match self.design.lock_free(Some(worker), queue) {
            Some(cost) => self.events.at(chosen + cost, Event::QueueDone(Agent::Worker(worker), queue)),
            None => self.events.at(chosen, Event::Ask(Agent::Worker(worker), queue)),
        }
    }

    /// A worker takes a job from a queue, if there is still one.
    pub(super) fn take(&mut self, worker: usize, queue: usize) {
        let searched = std::mem::take(&mut self.workers[worker].searching);
        self.searching -= usize::from(searched);
        let Some(job) = self.design.pop(queue) else {
            return match self.wake {
                Wake::One => self.look(worker),
                Wake::Broadcast if self.design.queues() > 1 => self.look(worker),
                Wake::Broadcast => self.sleep(worker),
            };
        };
        // If jobs are left, the worker that stops searching wakes the next.
        let cost = if searched && self.wake == Wake::One { self.wake_one(queue) } else { 0.0 };
        let stages = &self.jobs[job];
        let (kind, first, then) = if stages.hash > 0.0 {
            (Kind::Hash, stages.hash, stages.compress)
        } else {
            (Kind::Compress, stages.compress, 0.0)
        };
        self.ran_by[job] = Some(worker);
        self.workers[worker].job = Some(job);
        self.workers[worker].then = then;
        self.cores.start(self.now, kind, first + cost, Agent::Worker(worker));
    }

    pub(super) fn stage_over(&mut self, worker: usize) {
        let state = &mut self.workers[worker];
        if std::mem::take(&mut state.waking) {
            return self.look(worker);
        }
        let then = std::mem::take(&mut state.then);
        if then > 0.0 {
            return self.cores.start(self.now, Kind::Compress, then, Agent::Worker(worker));
        }
        let Some(job) = self.workers[worker].job.take() else { return };
        match self.wake {
            Wake::One => {
                let cost = self.costs.transfer + self.done(job);
                self.events.at(self.now + cost, Event::Look(worker));
            }
            Wake::Broadcast => {
                self.workers[worker].finished = Some(job);
                self.events.at(self.now, Event::Ask(Agent::Worker(worker), 0));
            }
        }
    }

    /// A worker that holds the lock appends its result to the list. Returns the cost beyond holding the lock.
    pub(super) fn hand_over(&mut self, worker: usize) -> f64 {
        match self.workers[worker].finished.take() {
            Some(job) => self.done(job),
            None => 0.0,
        }
    }

    fn sleep(&mut self, worker: usize) {
        let searched = std::mem::take(&mut self.workers[worker].searching);
        self.searching -= usize::from(searched);
        self.workers[worker].idle_since = self.now;
        self.idle.push(worker);
        if self.wake == Wake::One && self.searching == 0 && self.spinning().is_none() {
            self.spinner = Some(worker);
        }
    }

    /// The idle worker that still spins.
    fn spinning(&self) -> Option<usize> {
        self.spinner.filter(|&worker| self.now - self.workers[worker].idle_since < self.costs.spin)
    }

    /// Whether an idle worker still spins.
    fn is_awake(&self, worker: usize) -> bool {
        match self.wake {
            Wake::One => self.spinning() == Some(worker),
            Wake::Broadcast => self.now - self.workers[worker].idle_since < self.costs.spin,
        }
    }

    /// A worker was woken and pays for it on its core.
    pub(super) fn wake_up(&mut self, worker: usize) {
        self.workers[worker].waking = true;
        self.cores.start(self.now, Kind::Hash, self.costs.wake_run, Agent::Worker(worker));
    }

    /// Wakes workers for a new job. Returns the cost to the caller.
    pub(super) fn wake_for_a_push(&mut self, queue: usize) -> f64 {
        match self.wake {
            Wake::One => self.wake_one(queue),
            Wake::Broadcast => {
                let sleepers = std::mem::take(&mut self.idle);
                sleepers.into_iter().for_each(|worker| _ = self.wake_worker(worker));
                0.0
            }
        }
    }

    /// Wakes one worker if there is a job and no worker is searching: the spinning one, otherwise one of that queue, otherwise
    /// any. Returns the cost to the waking thread.
    fn wake_one(&mut self, queue: usize) -> f64 {
        if self.searching > 0 || self.design.pending() == 0 {
            return 0.0;
        }
        let index = match self.spinning() {
            Some(spinner) => self.idle.iter().rposition(|&worker| worker == spinner),
            None => self.idle.iter().rposition(|&worker| self.design.home(worker) == queue),
        };
        let worker = index.map(|index| self.idle.remove(index)).or_else(|| self.idle.pop());
        worker.map_or(0.0, |worker| self.wake_worker(worker))
    }

    fn wake_worker(&mut self, worker: usize) -> f64 {
        self.searching += 1;
        let awake = self.is_awake(worker);
        self.spinner = self.spinner.filter(|&spinner| spinner != worker);
        self.workers[worker].searching = true;
        if awake {
            self.events.at(self.now + self.costs.transfer, Event::Look(worker));
            return 0.0;
        }
        self.wakes += 1;
        self.events.at(self.now + self.costs.wake_latency, Event::WakeUp(worker));
        self.costs.wake_call
    }
}
