//! Cores shared by all running threads: each thread's speed changes when another starts or ends.

use crate::events::Events;
use crate::machine::Machine;

/// A kind of work. Tasks of one kind have the same cache demand and are always equally fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Caller,
    /// A worker's first stage, and its wake-ups.
    Hash,
    /// A worker's second stage.
    Compress,
}

const KINDS: usize = 3;

/// Running tasks. Each kind counts the work done per task, so that a change of speed updates no single task.
#[derive(Debug)]
pub struct Cores<T> {
    machine: Machine,
    kinds: [Sharing<T>; KINDS],
    active: usize,
    now: f64,
    /// Time that `active` threads ran in nanoseconds, summed over threads.
    busy: [f64; KINDS],
}

#[derive(Debug)]
struct Sharing<T> {
    demand: f64,
    /// Speeds by number of active threads, computed when first needed.
    speeds: Vec<f64>,
    /// Work that a task running since the beginning would have done, nanoseconds alone on the machine.
    done: f64,
    /// Tasks by the value of `done` at which they end.
    ends: Events<T>,
}

impl<T> Cores<T> {
    /// Idle cores. `demands` are the cache demands of the caller's work, the first stage and the second.
    pub fn new(machine: &Machine, demands: [f64; KINDS]) -> Self {
        let kinds = demands.map(|demand| Sharing { demand, speeds: Vec::new(), done: 0.0, ends: Events::default() });
        Self { machine: machine.clone(), kinds, active: 0, now: 0.0, busy: [0.0; KINDS] }
    }

    /// Starts a task of `work` nanoseconds (alone on the machine) at time `now`.
    pub fn start(&mut self, now: f64, kind: Kind, work: f64, task: T) {
        self.advance(now);
        self.active += 1;
        let sharing = &mut self.kinds[kind as usize];
        sharing.ends.at(sharing.done + work.max(0.0), task);
        self.rate();
    }

    pub fn next_end(&self) -> Option<f64> {
        let ends = self.kinds.iter().filter_map(|sharing| {
            let left = (sharing.ends.next_key()? - sharing.done).max(0.0);
            Some(self.now + left / sharing.speed(self.active))
        });
        ends.min_by(f64::total_cmp)
    }

    /// Removes the task that ends next. Returns its end and the task.
    pub fn end_next(&mut self) -> Option<(f64, T)> {
        let end = self.next_end()?;
        self.advance(end);
        let left = |sharing: &Sharing<T>| {
            sharing.ends.next_key().map_or(f64::INFINITY, |end| (end - sharing.done) / sharing.speed(self.active))
        };
        let first = (0..KINDS).min_by(|&a, &b| left(&self.kinds[a]).total_cmp(&left(&self.kinds[b])))?;
        let (_, task) = self.kinds[first].ends.pop()?;
        self.active -= 1;
        self.rate();
        Some((end, task))
    }

    /// Thread time in nanoseconds spent on a kind of work.
    pub fn busy(&self, kind: Kind) -> f64 {
        self.busy[kind as usize]
    }

    fn advance(&mut self, to: f64) {
        let passed = to - self.now;
        for (sharing, busy) in self.kinds.iter_mut().zip(&mut self.busy) {
            if sharing.ends.len() > 0 {
                *busy += passed * sharing.ends.len() as f64;
                sharing.done += passed * sharing.speed(self.active);
            }
        }
        self.now = to;
    }

    /// Computes every kind's speed for the present number of threads.
    fn rate(&mut self) {
        for sharing in &mut self.kinds {
            while sharing.speeds.len() <= self.active {
                sharing.speeds.push(self.machine.speed(sharing.speeds.len(), sharing.demand));
            }
        }
    }
}

impl<T> Sharing<T> {
    fn speed(&self, active: usize) -> f64 {
        self.speeds.get(active).copied().unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Costs;

    fn ends(cores: &mut Cores<&'static str>) -> Vec<(f64, &'static str)> {
        std::iter::from_fn(|| cores.end_next()).collect()
    }

    #[test]
    fn one_core_is_shared_equally() {
        let mut cores = Cores::new(&Machine::ideal(1, Costs::FREE), [0.0; 3]);
        cores.start(0.0, Kind::Hash, 10.0, "short");
        cores.start(0.0, Kind::Compress, 30.0, "long");
        // Both run at half speed until 20; then 20 are left of the long one, alone.
        assert_eq!(ends(&mut cores), [(20.0, "short"), (40.0, "long")]);
        assert_eq!((cores.busy(Kind::Hash), cores.busy(Kind::Compress)), (20.0, 40.0));
    }

    #[test]
    fn a_task_that_comes_later_slows_the_first() {
        let mut cores = Cores::new(&Machine::ideal(1, Costs::FREE), [0.0; 3]);
        cores.start(0.0, Kind::Compress, 10.0, "first");
        cores.start(6.0, Kind::Compress, 4.0, "second");
        // 4 are left of each at 6, at half speed.
        assert_eq!(ends(&mut cores), [(14.0, "first"), (14.0, "second")]);
    }

    #[test]
    fn separate_cores_slow_each_other_down() {
        let machine = Machine { fall: 0.5, ..Machine::ideal(2, Costs::FREE) };
        let mut cores = Cores::new(&machine, [0.0; 3]);
        cores.start(0.0, Kind::Hash, 10.0, "one");
        cores.start(0.0, Kind::Hash, 20.0, "two");
        // Half speed for both until 20, then full speed for the 10 that are left.
        assert_eq!(ends(&mut cores), [(20.0, "one"), (30.0, "two")]);
    }

    #[test]
    fn kinds_differ_in_speed() {
        let machine = Machine { fall: 0.0, ..Machine::ideal(2, Costs::FREE) };
        let mut cores = Cores::new(&machine, [0.0, 0.0, 0.5]);
        cores.start(0.0, Kind::Hash, 10.0, "quick");
        cores.start(0.0, Kind::Compress, 10.0, "slow");
        assert_eq!(ends(&mut cores), [(10.0, "quick"), (15.0, "slow")]);
    }
}
