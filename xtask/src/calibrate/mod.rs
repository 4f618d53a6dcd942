//! What locks, wake-ups, caches and memory cost on this machine: the figures a simulation needs.
//!
//! Each figure is the median of several rounds, or the lower quartile where threads have to run at the same time: on a
//! shared or virtual machine the mean is that of the disturbances.

pub mod calibration;
mod compute;
mod copy;
mod lines;
mod queue;
mod rounds;
mod wakes;

use crate::arguments::Arguments;
use crate::{environment, shell};
use calibration::Calibration;

/// Sleepers among whom one is woken, or all.
const SLEEPERS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// `calibrate`: prints the figures as JSON, or writes them to a file.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&["out"])?;
    if !arguments.operands.is_empty() {
        return Err(format!("{:?}: no operands are known here", arguments.operands));
    }
    let text = measure(environment::processors())?.to_json();
    match arguments.path("out") {
        Some(path) => shell::write(&path, &text),
        None => {
            shell::say(text.trim_end());
            Ok(())
        }
    }
}

fn measure(processors: usize) -> Result<Calibration, String> {
    let threads: Vec<usize> = (1..=processors).collect();
    let speed: Vec<f64> = threads.iter().map(|&count| compute::speed(count)).collect();
    let alone = speed.first().copied().unwrap_or(1.0);
    Ok(Calibration {
        processors,
        lock_ns: queue::lock(),
        transfer_ns: if processors > 1 { lines::transfer() } else { 0.0 },
        peek_ns: lines::peek(),
        wakes: SLEEPERS.iter().map(|&sleepers| wakes::one(sleepers)).collect(),
        broadcasts: SLEEPERS.iter().map(|&sleepers| wakes::all(sleepers)).collect(),
        copies: threads.iter().map(|&count| copy::bandwidth(count)).collect(),
        speeds: speed.iter().map(|speed| speed / alone).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_of_this_machine_is_one() {
        let measured = measure(2).unwrap();
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
