//! The simulated machine: cores that slow each other down, and the cost of locks and wake-ups.

/// Cores that become slower the more of them are active.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    pub cores: usize,
    /// Hardware threads a core.
    pub threads: usize,
    /// Relative loss of speed of a thread when every core runs one (lower clocks, shared caches), 0 to 1.
    pub fall: f64,
    /// Exponent of the loss: with k of c cores active its share is ((k - 1) / (c - 1)) to this power.
    pub knee: f64,
    /// Relative gain of a core's speed by a second thread.
    pub sibling: f64,
    /// Reduction of that gain for each unit of a task's cache demand: two threads of a core share its caches.
    pub sibling_fall: f64,
    pub costs: Costs,
}

/// Cost of synchronisation in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    /// Holding a lock to push or take a job, its cache lines local.
    pub hold: f64,
    /// Fetching a cache line from another core.
    pub transfer: f64,
    /// Reading another queue's earliest key, its cache line local.
    pub peek: f64,
    /// Waking one sleeper, for the waking thread.
    pub wake_call: f64,
    /// Each further sleeper of a broadcast, for the waking thread.
    pub wake_more: f64,
    /// From the wake-up call to the sleeper's first instruction.
    pub wake_latency: f64,
    /// Waking up, on the sleeper's core.
    pub wake_run: f64,
    /// Time an idle thread spins before it sleeps.
    pub spin: f64,
    /// Time a thread spins for a lock before it sleeps.
    pub lock_spin: f64,
}

impl Machine {
    /// Cores that do not slow each other down: the remaining loss is the scheduler's.
    pub fn ideal(cores: usize, costs: Costs) -> Self {
        Self { cores, threads: 1, fall: 0.0, knee: 1.0, sibling: 0.0, sibling_fall: 0.0, costs }
    }

    /// The speed of each of `active` threads relative to one alone; `demand` is the task's cache demand, its additional loss
    /// when all cores are active. Threads beyond the hardware's share it.
    pub fn speed(&self, active: usize, demand: f64) -> f64 {
        if active <= 1 {
            return 1.0;
        }
        let busy = active.min(self.cores);
        let doubled = active.min(self.cores * self.threads) - busy;
        let sibling = (self.sibling - self.sibling_fall * demand).max(0.0);
        let all = busy as f64 + sibling * doubled as f64;
        self.clock(busy, demand) * all / active as f64
    }

    /// The speed of a core when `busy` of them are active.
    fn clock(&self, busy: usize, demand: f64) -> f64 {
        if self.cores < 2 {
            return 1.0;
        }
        let load = (busy - 1) as f64 / (self.cores - 1) as f64;
        1.0 - (self.fall + demand).min(0.95) * load.powf(self.knee)
    }
}

impl Costs {
    /// No costs, for results that can be computed by hand.
    #[cfg(test)]
    pub const FREE: Costs = Costs {
        hold: 0.0,
        transfer: 0.0,
        peek: 0.0,
        wake_call: 0.0,
        wake_more: 0.0,
        wake_latency: 0.0,
        wake_run: 0.0,
        spin: 0.0,
        lock_spin: 0.0,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ideal_machine_shares_only_beyond_its_cores() {
        let machine = Machine::ideal(4, Costs::FREE);
        assert_eq!((1..=4).map(|active| machine.speed(active, 0.0)).sum::<f64>(), 4.0);
        assert_eq!(machine.speed(8, 0.0), 0.5);
    }

    #[test]
    fn clocks_fall_and_siblings_add() {
        let machine = Machine { threads: 2, fall: 0.2, knee: 0.5, sibling: 0.5, ..Machine::ideal(8, Costs::FREE) };
        assert_eq!(machine.speed(1, 0.0), 1.0);
        assert!((machine.speed(8, 0.0) - 0.8).abs() < 1e-9);
        assert!((machine.speed(16, 0.0) - 0.6).abs() < 1e-9);
        assert!((machine.speed(32, 0.0) - 0.3).abs() < 1e-9);
        assert!(machine.speed(4, 0.0) > 0.8 && machine.speed(4, 0.0) < 1.0);
    }

    #[test]
    fn demand_slows_and_takes_from_siblings() {
        let machine =
            Machine { threads: 2, fall: 0.2, sibling: 0.5, sibling_fall: 5.0, ..Machine::ideal(8, Costs::FREE) };
        assert!((machine.speed(8, 0.05) - 0.75).abs() < 1e-9);
        assert!((machine.speed(16, 0.05) - 0.75 * 10.0 / 16.0).abs() < 1e-9);
        assert!(machine.speed(16, 1.0) > 0.0);
    }
}
