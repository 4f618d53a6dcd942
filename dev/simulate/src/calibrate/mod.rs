//! Measures the cost of locks, wake-ups, caches and memory on this machine, for simulations of it.
//!
//! Each figure is the median of several rounds, or the lower quartile where threads have to run at the same time: on a
//! shared or virtual machine the mean measures the disturbances.

pub mod calibration;
mod rounds;
mod sharing;
mod threads;
mod wakes;

use calibration::Calibration;

/// Numbers of sleepers of which one or all are woken.
const SLEEPERS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// Measures with 1 to `processors` threads.
pub fn measure(processors: usize) -> Calibration {
    let counts: Vec<usize> = (1..=processors).collect();
    let speed: Vec<f64> = counts.iter().map(|&count| threads::speed(count)).collect();
    let alone = speed.first().copied().unwrap_or(1.0);
    Calibration {
        processors,
        lock_ns: sharing::lock(),
        transfer_ns: if processors > 1 { sharing::transfer() } else { 0.0 },
        peek_ns: sharing::peek(),
        wakes: SLEEPERS.iter().map(|&sleepers| wakes::one(sleepers)).collect(),
        broadcasts: SLEEPERS.iter().map(|&sleepers| wakes::all(sleepers)).collect(),
        copies: counts.iter().map(|&count| threads::bandwidth(count)).collect(),
        speeds: speed.iter().map(|speed| speed / alone).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_of_this_machine_is_plausible() {
        let measured = measure(2);
        let read = Calibration::from_json(&measured.to_json()).unwrap();
        assert_eq!((read.processors, read.wakes.len(), read.copies.len()), (2, SLEEPERS.len(), 2));
        let costs = read.costs();
        for cost in [costs.hold, costs.transfer, costs.peek, costs.wake_call] {
            assert!(cost > 0.0 && cost < 1e9, "{costs:?}");
        }
        assert!(costs.wake_more >= 0.0 && costs.wake_latency >= 0.0);
        assert!(read.copies.iter().all(|&rate| rate > 0.0));
    }
}
