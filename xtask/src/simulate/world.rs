//! One run: the caller, the workers, their queues and locks, on cores they share.

use super::callers::{Caller, Job, Step};
use super::cores::{Cores, Kind};
use super::designs::{Choice, Design};
use super::events::Events;
use super::locks::{Agent, Lock, LockCounts, Next};
use super::machine::{Costs, Machine};
use super::outcome::{Outcome, Stall};

/// How those are woken that have nothing to do, and how a result is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// One worker a job, only if none is searching, and only one looks for a while before it sleeps. Results go into slots of
    /// their own.
    One,
    /// All of them, under the lock, for each job; results go into a list under the same lock. That is a thread pool on
    /// `pthread_cond_broadcast`.
    Broadcast,
}

/// One simulated run.
pub struct World<'a> {
    pub(super) costs: Costs,
    pub(super) wake: Wake,
    pub(super) now: f64,
    pub(super) events: Events<Event>,
    pub(super) cores: Cores<Agent>,
    pub(super) design: Box<dyn Design>,
    pub(super) caller: &'a mut dyn Caller,
    locks: Vec<Lock>,
    pub(super) lock_counts: LockCounts,
    pub(super) jobs: Vec<Job>,
    /// The worker that took each job.
    pub(super) ran_by: Vec<Option<usize>>,
    pub(super) workers: Vec<Worker>,
    /// Workers that wait; the last to fall asleep is woken first.
    pub(super) idle: Vec<usize>,
    /// Of those the one that may still be awake to look for a job, if one is woken for each.
    pub(super) watcher: Option<usize>,
    /// Workers woken for a job who have not found one yet.
    pub(super) searching: usize,
    pub(super) wakes: u64,
    caller_state: CallerState,
    caller_errand: Errand,
    pub(super) stall: Stall,
}

/// What happens at a time.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// A worker looks for a job.
    Look(usize),
    /// A worker that slept begins to wake up.
    Rise(usize),
    /// An agent asks for a queue.
    Ask(Agent, usize),
    /// An agent has slept for a queue's lock and was woken.
    Retry(Agent, usize),
    /// An agent has held a queue's lock long enough.
    Held(Agent, usize),
    /// An agent has done what it had to do with a queue.
    Through(Agent, usize),
    /// The caller goes on.
    Go,
}

/// A worker's state.
#[derive(Debug, Clone, Default)]
pub(super) struct Worker {
    /// The job it runs, and what of it is still to come after the stage that runs now.
    pub(super) job: Option<usize>,
    pub(super) then: f64,
    /// A finished job that it takes to the lock with it.
    pub(super) finished: Option<usize>,
    pub(super) waking: bool,
    pub(super) searching: bool,
    pub(super) idle_since: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum CallerState {
    Busy,
    Waiting { since: f64 },
    Finished,
}

/// What the caller does with the lock.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Errand {
    Push(usize),
    Glance,
}

impl<'a> World<'a> {
    /// A world in which nothing has happened yet: all workers wait.
    pub fn new(
        machine: &Machine,
        demands: [f64; 3],
        workers: usize,
        design: Box<dyn Design>,
        wake: Wake,
        caller: &'a mut dyn Caller,
    ) -> Self {
        let locks = (0..design.queues()).map(|_| Lock::default()).collect();
        let asleep = Worker { idle_since: f64::NEG_INFINITY, ..Worker::default() };
        Self {
            costs: machine.costs.clone(),
            wake,
            now: 0.0,
            events: Events::default(),
            cores: Cores::new(machine, demands),
            design,
            caller,
            locks,
            lock_counts: LockCounts::default(),
            jobs: Vec::new(),
            ran_by: Vec::new(),
            workers: vec![asleep; workers],
            idle: (0..workers).rev().collect(),
            watcher: None,
            searching: 0,
            wakes: 0,
            caller_state: CallerState::Busy,
            caller_errand: Errand::Glance,
            stall: Stall::default(),
        }
    }

    /// Runs until the caller has finished.
    ///
    /// # Errors
    /// Nothing can happen any more and the caller still waits: a wake-up was lost, or the workload is none.
    pub fn run(mut self) -> Result<Outcome, String> {
        self.events.at(0.0, Event::Go);
        while self.caller_state != CallerState::Finished {
            if !self.next() {
                return Err(format!("the caller waits for ever, at {} ns with {} jobs", self.now, self.jobs.len()));
            }
        }
        Ok(self.outcome())
    }

    /// The next thing that happens; false if nothing does.
    fn next(&mut self) -> bool {
        let timed = self.events.next_key().unwrap_or(f64::INFINITY);
        let ended = self.cores.next_end().unwrap_or(f64::INFINITY);
        if timed <= ended {
            let Some((now, event)) = self.events.pop() else { return false };
            self.now = now;
            self.happen(event);
            return true;
        }
        let Some((now, agent)) = self.cores.end_next() else { return false };
        self.now = now;
        match agent {
            Agent::Caller => self.go(),
            Agent::Worker(worker) => self.stage_over(worker),
        }
        true
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Look(worker) => self.look(worker),
            Event::Rise(worker) => self.rise(worker),
            Event::Ask(agent, queue) => self.ask(agent, queue),
            Event::Retry(agent, queue) => self.retry(agent, queue),
            Event::Held(agent, queue) => self.held(agent, queue),
            Event::Through(agent, queue) => self.through(agent, queue),
            Event::Go => self.go(),
        }
    }

    /// The caller's next step.
    fn go(&mut self) {
        self.stall.ends(self.now);
        self.caller_state = CallerState::Busy;
        match self.caller.step() {
            Step::Spend(work) => self.cores.start(self.now, Kind::Caller, work, Agent::Caller),
            Step::Submit(job) => self.submit(job),
            Step::Glance => {
                self.caller_errand = Errand::Glance;
                self.ask(Agent::Caller, 0);
            }
            Step::Wait => self.caller_waits(),
            Step::Finish => self.caller_state = CallerState::Finished,
        }
    }

    fn submit(&mut self, job: Job) {
        self.caller_errand = Errand::Push(self.jobs.len());
        self.jobs.push(job);
        self.ran_by.push(None);
        let woken = self.idle.last().copied().filter(|_| self.searching == 0);
        let near = self.jobs.last().and_then(|job| self.ran_by[job.after?]);
        let queue = self.design.target(near, woken);
        match self.design.lock_free(None, queue) {
            Some(cost) => self.events.at(self.now + cost, Event::Through(Agent::Caller, queue)),
            None => self.ask(Agent::Caller, queue),
        }
    }

    fn caller_waits(&mut self) {
        self.caller_state = CallerState::Waiting { since: self.now };
        if self.caller.ready() > 0 {
            self.stall.begins(self.now);
        }
    }

    /// A job's result is there: what telling the caller costs the worker.
    pub(super) fn done(&mut self, job: usize) -> f64 {
        let wanted = self.caller.done(job);
        let CallerState::Waiting { since } = self.caller_state else { return 0.0 };
        if !wanted {
            self.stall.begins(self.now);
            return 0.0;
        }
        self.caller_state = CallerState::Busy;
        if self.now - since < self.costs.spin {
            self.events.at(self.now + self.costs.transfer, Event::Go);
            return 0.0;
        }
        self.events.at(self.now + self.costs.wake_call + self.costs.wake_latency, Event::Go);
        self.costs.wake_call
    }

    fn ask(&mut self, agent: Agent, queue: usize) {
        if self.locks[queue].ask(self.now, agent, &mut self.lock_counts) {
            self.hold(agent, queue);
        }
    }

    /// Begins to hold a lock. Whom to wake, where that is done under the lock, is known by now.
    fn hold(&mut self, agent: Agent, queue: usize) {
        let far = self.locks[queue].moves_to(agent);
        let mut time = self.costs.hold + if far { self.costs.transfer } else { 0.0 };
        time += match agent {
            Agent::Caller => self.broadcast_time(),
            Agent::Worker(worker) => self.hand_over(worker),
        };
        self.events.at(self.now + time, Event::Held(agent, queue));
    }

    fn broadcast_time(&self) -> f64 {
        let pushes = self.wake == Wake::Broadcast && matches!(self.caller_errand, Errand::Push(_));
        if !pushes || self.idle.is_empty() {
            return 0.0;
        }
        self.costs.wake_call + self.costs.wake_more * (self.idle.len() - 1) as f64
    }

    fn held(&mut self, agent: Agent, queue: usize) {
        match self.locks[queue].release(self.now, self.costs.lock_spin, &mut self.lock_counts) {
            Next::Nobody => {}
            Next::Holds(next) => self.hold(next, queue),
            Next::Sleeps(next) => {
                let awake = self.now + self.costs.wake_call + self.costs.wake_latency;
                self.events.at(awake, Event::Retry(next, queue));
                return self.events.at(self.now + self.costs.wake_call, Event::Through(agent, queue));
            }
        }
        self.through(agent, queue);
    }

    fn retry(&mut self, agent: Agent, queue: usize) {
        if self.locks[queue].ask_again(self.now, agent) {
            self.hold(agent, queue);
        }
    }

    /// What an agent came to a queue for.
    fn through(&mut self, agent: Agent, queue: usize) {
        match (agent, self.caller_errand) {
            (Agent::Worker(worker), _) => self.take(worker, queue),
            (Agent::Caller, Errand::Glance) => {
                self.caller.locked(false);
                self.go();
            }
            (Agent::Caller, Errand::Push(job)) => {
                self.design.push(queue, (self.jobs[job].place, job));
                self.caller.locked(true);
                let cost = self.wake_for_a_push(queue);
                self.events.at(self.now + cost, Event::Go);
            }
        }
    }

    /// Where a worker should look for a job.
    pub(super) fn choose(&mut self, worker: usize) -> Choice {
        let locks = &self.locks;
        self.design.choose(worker, &|queue| locks[queue].held())
    }
}
