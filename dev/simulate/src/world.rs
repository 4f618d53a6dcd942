//! One run: the caller, the workers, their queues and locks, on shared cores.

use crate::callers::{Caller, Job, Step};
use crate::cores::{Cores, Kind};
use crate::designs::{Choice, Design};
use crate::events::Events;
use crate::locks::{Agent, Lock, LockCounts, Next};
use crate::machine::{Costs, Machine};
use crate::outcome::{Outcome, Stall};
use clap::ValueEnum;

/// How idle workers are woken and results are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Wake {
    /// One worker a job unless one is searching; one idle worker spins before it sleeps. Results go into slots of their own.
    One,
    /// All workers for each job, under the lock, as with `pthread_cond_broadcast`. Results go into a list under the same lock.
    Broadcast,
}

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
    /// Idle workers; the last is woken first.
    pub(super) idle: Vec<usize>,
    /// The idle worker that may still be spinning, with [`Wake::One`].
    pub(super) spinner: Option<usize>,
    /// Workers woken for a job that have not taken one yet.
    pub(super) searching: usize,
    pub(super) wakes: u64,
    caller_state: CallerState,
    lock_use: LockUse,
    pub(super) stall: Stall,
}

#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// A worker looks for a job.
    Look(usize),
    /// A sleeping worker begins to wake up.
    WakeUp(usize),
    /// An agent requests a queue's lock.
    Ask(Agent, usize),
    /// An agent was woken after sleeping for a queue's lock.
    Retry(Agent, usize),
    /// An agent releases a queue's lock.
    Held(Agent, usize),
    /// An agent's operation on a queue is complete.
    QueueDone(Agent, usize),
    CallerStep,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Worker {
    pub(super) job: Option<usize>,
    /// Time of the job's second stage, while the first runs.
    pub(super) then: f64,
    /// A finished job to be handed over under the lock.
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

/// The caller's operation under the lock.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LockUse {
    Push(usize),
    CheckResults,
}

impl<'a> World<'a> {
    /// The initial state: all workers sleep.
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
            spinner: None,
            searching: 0,
            wakes: 0,
            caller_state: CallerState::Busy,
            lock_use: LockUse::CheckResults,
            stall: Stall::default(),
        }
    }

    /// Runs until the caller has finished.
    ///
    /// # Errors
    /// No event is left and the caller still waits: a wake-up was lost.
    pub fn run(mut self) -> Result<Outcome, String> {
        self.events.at(0.0, Event::CallerStep);
        while self.caller_state != CallerState::Finished {
            if !self.next() {
                return Err(format!("the caller waits for ever at {} ns after {} jobs", self.now, self.jobs.len()));
            }
        }
        Ok(self.outcome())
    }

    /// Processes the next event. Returns false if there is none.
    fn next(&mut self) -> bool {
        let timed = self.events.next_key().unwrap_or(f64::INFINITY);
        let ended = self.cores.next_end().unwrap_or(f64::INFINITY);
        if timed <= ended {
            let Some((now, event)) = self.events.pop() else { return false };
            self.now = now;
            self.process(event);
            return true;
        }
        let Some((now, agent)) = self.cores.end_next() else { return false };
        self.now = now;
        match agent {
            Agent::Caller => self.caller_step(),
            Agent::Worker(worker) => self.stage_over(worker),
        }
        true
    }

    fn process(&mut self, event: Event) {
        match event {
            Event::Look(worker) => self.look(worker),
            Event::WakeUp(worker) => self.wake_up(worker),
            Event::Ask(agent, queue) => self.ask(agent, queue),
            Event::Retry(agent, queue) => self.retry(agent, queue),
            Event::Held(agent, queue) => self.held(agent, queue),
            Event::QueueDone(agent, queue) => self.queue_done(agent, queue),
            Event::CallerStep => self.caller_step(),
        }
    }

    fn caller_step(&mut self) {
        self.stall.ends(self.now);
        self.caller_state = CallerState::Busy;
        match self.caller.step() {
            Step::Spend(work) => self.cores.start(self.now, Kind::Caller, work, Agent::Caller),
            Step::Submit(job) => self.submit(job),
            Step::CheckResults => {
                self.lock_use = LockUse::CheckResults;
                self.ask(Agent::Caller, 0);
            }
            Step::Wait => self.caller_waits(),
            Step::Finish => self.caller_state = CallerState::Finished,
        }
    }

    fn submit(&mut self, job: Job) {
        self.lock_use = LockUse::Push(self.jobs.len());
        self.jobs.push(job);
        self.ran_by.push(None);
        let woken = self.idle.last().copied().filter(|_| self.searching == 0);
        let near = self.jobs.last().and_then(|job| self.ran_by[job.after?]);
        let queue = self.design.target(near, woken);
        match self.design.lock_free(None, queue) {
            Some(cost) => self.events.at(self.now + cost, Event::QueueDone(Agent::Caller, queue)),
            None => self.ask(Agent::Caller, queue),
        }
    }

    fn caller_waits(&mut self) {
        self.caller_state = CallerState::Waiting { since: self.now };
        if self.caller.ready() > 0 {
            self.stall.begins(self.now);
        }
    }

    /// A job's result is ready. Returns what waking the caller costs the worker.
    pub(super) fn done(&mut self, job: usize) -> f64 {
        let wanted = self.caller.done(job);
        let CallerState::Waiting { since } = self.caller_state else { return 0.0 };
        if !wanted {
            self.stall.begins(self.now);
            return 0.0;
        }
        self.caller_state = CallerState::Busy;
        if self.now - since < self.costs.spin {
            self.events.at(self.now + self.costs.transfer, Event::CallerStep);
            return 0.0;
        }
        self.events.at(self.now + self.costs.wake_call + self.costs.wake_latency, Event::CallerStep);
        self.costs.wake_call
    }

    fn ask(&mut self, agent: Agent, queue: usize) {
        if self.locks[queue].ask(self.now, agent, &mut self.lock_counts) {
            self.hold(agent, queue);
        }
    }

    /// Begins to hold a lock. With [`Wake::Broadcast`] the wake-ups happen while it is held.
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
        let pushes = self.wake == Wake::Broadcast && matches!(self.lock_use, LockUse::Push(_));
        if !pushes || self.idle.is_empty() {
            return 0.0;
        }
        self.costs.wake_call + self.costs.wake_more * (self.idle.len() - 1) as f64
    }

    fn held(&mut self, agent: Agent, queue: usize) {
        match self.locks[queue].release(self.now, self.costs.lock_spin, &mut self.lock_counts) {
            Next::None => {}
            Next::Holds(next) => self.hold(next, queue),
            Next::Sleeps(next) => {
                let awake = self.now + self.costs.wake_call + self.costs.wake_latency;
                self.events.at(awake, Event::Retry(next, queue));
                return self.events.at(self.now + self.costs.wake_call, Event::QueueDone(agent, queue));
            }
        }
        self.queue_done(agent, queue);
    }

    fn retry(&mut self, agent: Agent, queue: usize) {
        if self.locks[queue].ask_again(self.now, agent) {
            self.hold(agent, queue);
        }
    }

    /// Completes an agent's operation on a queue.
    fn queue_done(&mut self, agent: Agent, queue: usize) {
        match (agent, self.lock_use) {
            (Agent::Worker(worker), _) => self.take(worker, queue),
            (Agent::Caller, LockUse::CheckResults) => {
                self.caller.locked(false);
                self.caller_step();
            }
            (Agent::Caller, LockUse::Push(job)) => {
                self.design.push(queue, (self.jobs[job].place, job));
                self.caller.locked(true);
                let cost = self.wake_for_a_push(queue);
                self.events.at(self.now + cost, Event::CallerStep);
            }
        }
    }

    /// The queue for a worker's next job.
    pub(super) fn choose(&mut self, worker: usize) -> Choice {
        let locks = &self.locks;
        self.design.choose(worker, &|queue| locks[queue].held())
    }
}
