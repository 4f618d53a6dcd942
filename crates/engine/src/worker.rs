//! A worker thread: takes jobs and runs them, at a desk for each line it has worked for.

use std::any::Any;
use std::sync::Arc;

use crate::core::Core;
use crate::desk::{AnyLine, discard};
use crate::hand::{Hand, Taker};
use crate::run_queue::Taken;
use crate::seat::Seat;
use crate::task::{Errand, Job};

/// One worker of a pool.
pub(crate) struct Worker<'a> {
    core: &'a Core,
    hand: &'a Hand,
    /// Counted from 1.
    number: usize,
    /// The line worked for last comes first.
    stations: Vec<Station>,
}

/// What a worker keeps for a line.
struct Station {
    number: u64,
    line: Arc<dyn AnyLine>,
    desk: Box<dyn Any>,
}

impl<'a> Worker<'a> {
    /// Worker `number`, counted from 1.
    pub(crate) fn new(core: &'a Core, number: usize) -> Self {
        Self { core, hand: core.hand(number), number, stations: Vec::new() }
    }

    /// Works until the pool is closed. To be called on the worker's own thread.
    pub(crate) fn run(mut self) {
        let seat = Seat::here(self.hand.queue);
        let (core, hand) = (self.core, self.hand);
        let taker = Taker { hand, clock: core.tracer() };
        let changed = || core.is_closed() || core.news(hand).is_some();
        while !core.is_closed() {
            self.look_up();
            if let Some(taken) = core.dispatch.next(&taker, &seat, &changed) {
                self.work_off(taken);
            }
        }
    }

    /// Lets go of the tools of lines that have ended.
    pub(crate) fn look_up(&mut self) {
        if let Some(closings) = self.core.news(self.hand) {
            let ended = self.stations.extract_if(.., |station| station.line.is_closed());
            ended.for_each(discard);
            self.core.acknowledge(self.hand, closings);
        }
    }

    /// Runs a job.
    pub(crate) fn work_off(&mut self, taken: Taken<Job>) {
        let (job, errand) = Errand::new(self.core, self.number, self.hand.queue, taken);
        match self.station(errand.owner.line) {
            Some(station) => job.run(station.desk.as_mut(), &errand),
            None => discard(job),
        }
    }

    fn station(&mut self, number: u64) -> Option<&mut Station> {
        match self.stations.iter().position(|station| station.number == number) {
            Some(at) => self.stations.swap(0, at),
            None => {
                let line = self.core.line(number)?;
                let desk = Arc::clone(&line).desk();
                self.stations.insert(0, Station { number, line, desk });
            }
        }
        self.stations.first_mut()
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.stations.drain(..).for_each(discard);
    }
}
