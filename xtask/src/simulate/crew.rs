//! The workers' part of a run: looking for jobs, running them, sleeping and being woken.

use super::cores::Kind;
use super::locks::Agent;
use super::world::{Event, Wake, World};

impl World<'_> {
    /// A worker without a job looks for one.
    pub(super) fn look(&mut self, worker: usize) {
        // A list under one lock is looked at under the lock.
        let unseen = self.wake == Wake::Broadcast && self.design.lock_free(Some(worker), 0).is_none();
        if self.design.pending() == 0 && !(unseen && self.workers[worker].searching) {
            return self.sleep(worker);
        }
        let choice = self.choose(worker);
        self.lock_counts.skipped += choice.skipped;
        let queue = choice.queue.unwrap_or(0);
        let at = self.now + choice.cost;
        match self.design.lock_free(Some(worker), queue) {
            Some(cost) => self.events.at(at + cost, Event::Through(Agent::Worker(worker), queue)),
            None => self.events.at(at, Event::Ask(Agent::Worker(worker), queue)),
        }
    }

    /// A worker is through with a queue: it takes what is there.
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
        // A searcher that leaves jobs behind it passes the search on.
        let cost = if searched && self.wake == Wake::One { self.wake_one(queue) } else { 0.0 };
        let stages = &self.jobs[job];
        let (kind, first, then) = match stages.hash > 0.0 {
            true => (Kind::Hash, stages.hash, stages.compress),
            false => (Kind::Compress, stages.compress, 0.0),
        };
        self.ran_by[job] = Some(worker);
        self.workers[worker].job = Some(job);
        self.workers[worker].then = then;
        self.cores.start(self.now, kind, first + cost, Agent::Worker(worker));
    }

    /// What a worker did on its core is over.
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

    /// A worker that holds the lock puts its result into the list: what that costs beyond holding the lock.
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
        if self.wake == Wake::One && self.searching == 0 && self.watching().is_none() {
            self.watcher = Some(worker);
        }
    }

    /// The worker that is awake and looks for a job.
    fn watching(&self) -> Option<usize> {
        self.watcher.filter(|&worker| self.now - self.workers[worker].idle_since < self.costs.spin)
    }

    /// Whether a worker that waits has not gone to sleep yet.
    fn is_awake(&self, worker: usize) -> bool {
        match self.wake {
            Wake::One => self.watching() == Some(worker),
            Wake::Broadcast => self.now - self.workers[worker].idle_since < self.costs.spin,
        }
    }

    /// A worker has been woken: getting up costs it time on its core.
    pub(super) fn rise(&mut self, worker: usize) {
        self.workers[worker].waking = true;
        self.cores.start(self.now, Kind::Hash, self.costs.wake_run, Agent::Worker(worker));
    }

    /// Wakes whom a new job calls for: what it costs the caller that has pushed it.
    pub(super) fn wake_for_a_push(&mut self, queue: usize) -> f64 {
        match self.wake {
            Wake::One => self.wake_one(queue),
            Wake::Broadcast => {
                let sleepers = std::mem::take(&mut self.idle);
                sleepers.into_iter().for_each(|worker| _ = self.rouse(worker));
                0.0
            }
        }
    }

    /// Has one worker look for a job, if there is one that nobody is about to take: what it costs. The one that watches, or
    /// one at that queue rather than one at another.
    fn wake_one(&mut self, queue: usize) -> f64 {
        if self.searching > 0 || self.design.pending() == 0 {
            return 0.0;
        }
        let at = match self.watching() {
            Some(watcher) => self.idle.iter().rposition(|&worker| worker == watcher),
            None => self.idle.iter().rposition(|&worker| self.design.home(worker) == queue),
        };
        let worker = at.map(|at| self.idle.remove(at)).or_else(|| self.idle.pop());
        worker.map_or(0.0, |worker| self.rouse(worker))
    }

    fn rouse(&mut self, worker: usize) -> f64 {
        self.searching += 1;
        let awake = self.is_awake(worker);
        self.watcher = self.watcher.filter(|&watcher| watcher != worker);
        self.workers[worker].searching = true;
        if awake {
            self.events.at(self.now + self.costs.transfer, Event::Look(worker));
            return 0.0;
        }
        self.wakes += 1;
        self.events.at(self.now + self.costs.wake_latency, Event::Rise(worker));
        self.costs.wake_call
    }
}
