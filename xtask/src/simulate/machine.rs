//! What a machine does to many threads at once, and what its locks and wake-ups cost.

/// A number of cores that get slower the more of them are at work.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Physical cores.
    pub cores: usize,
    /// Hardware threads a core.
    pub threads: usize,
    /// What one thread loses in speed when every core has one, of the speed it has alone: clocks that fall, a cache
    /// that is shared. 0..1.
    pub fall: f64,
    /// How early that loss comes: its share with k of c cores at work is ((k - 1) / (c - 1)) to this power.
    pub knee: f64,
    /// What a second thread adds to a core, of the core's speed.
    pub sibling: f64,
    /// How much less of that is left for each unit of a task's demand for caches: two threads of a core share those.
    pub sibling_fall: f64,
    /// What threads do to each other besides.
    pub costs: Costs,
}

/// What synchronisation costs, nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    /// A lock held to push or take a job, its lines in the own cache.
    pub hold: f64,
    /// A cache line fetched from another core.
    pub transfer: f64,
    /// Looking at another queue's best key, its line in the own cache.
    pub peek: f64,
    /// What waking one sleeper costs the one who wakes.
    pub wake_call: f64,
    /// What each further sleeper adds to a broadcast.
    pub wake_more: f64,
    /// From the wake-up to the sleeper's first own instruction.
    pub wake_latency: f64,
    /// What the sleeper pays to wake up, on its own core.
    pub wake_run: f64,
    /// How long one who finds nothing watches before it sleeps.
    pub spin: f64,
    /// The same of one who waits for a lock.
    pub lock_spin: f64,
}

impl Machine {
    /// Cores that are all equally fast at any time: what is left is the scheduler's own loss.
    pub fn ideal(cores: usize, costs: Costs) -> Self {
        Self { cores, threads: 1, fall: 0.0, knee: 1.0, sibling: 0.0, sibling_fall: 0.0, costs }
    }

    /// The speed of each of `active` threads, of the speed of one alone; `demand` is what the task loses more than
    /// others when all cores are at work. Threads beyond the hardware's take turns.
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

    /// The speed of a core when `busy` of them are at work.
    fn clock(&self, busy: usize, demand: f64) -> f64 {
        if self.cores < 2 {
            return 1.0;
        }
        let load = (busy - 1) as f64 / (self.cores - 1) as f64;
        1.0 - (self.fall + demand).min(0.95) * load.powf(self.knee)
    }
}

impl Costs {
    /// Nothing costs anything: for answers that can be worked out by hand.
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
