//! The measured figures of a machine, stored as JSON.

use crate::machine::{Costs, Machine};
use serde::{Deserialize, Serialize};

/// Medians, or lower quartiles where threads run at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    pub processors: usize,
    /// Taking an uncontended lock, pushing or popping a job, and releasing the lock.
    pub lock_ns: f64,
    /// Moving a cache line from one core to another; 0 if there is one core.
    pub transfer_ns: f64,
    /// Reading one queue's earliest key, its cache line local.
    pub peek_ns: f64,
    /// Waking one of several sleepers (`Thread::unpark`).
    pub wakes: Vec<Woken>,
    /// Waking all of several sleepers (`Condvar::notify_all`).
    pub broadcasts: Vec<Woken>,
    /// Total GB/s copied by 1, 2, ... threads.
    pub copies: Vec<f64>,
    /// Speed of each of 1, 2, ... computing threads, relative to one alone.
    pub speeds: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Woken {
    /// Sleeping threads before the call.
    pub sleepers: usize,
    pub call_ns: f64,
    /// From the end of the call until the first woken thread runs; 0 if it ran earlier.
    pub latency_ns: f64,
}

/// How long packline's threads spin before they sleep, nanoseconds (60 pauses).
const SPIN: f64 = 3000.0;
/// How long the standard library's lock spins, nanoseconds (100 pauses).
const LOCK_SPIN: f64 = 5000.0;

impl Calibration {
    pub fn to_json(&self) -> String {
        // Serialization of numbers and lists of numbers cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// # Errors
    /// The text is not written by [`Calibration::to_json`], or a list is empty or a time negative.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let read: Self = serde_json::from_str(text).map_err(|cause| cause.to_string())?;
        let woken = read.wakes.iter().chain(&read.broadcasts).flat_map(|woken| [woken.call_ns, woken.latency_ns]);
        let mut figures = [read.lock_ns, read.transfer_ns, read.peek_ns].into_iter().chain(woken);
        let lists = [read.wakes.len(), read.broadcasts.len(), read.copies.len(), read.speeds.len()];
        if read.processors == 0 || lists.contains(&0) {
            return Err("no processors, or an empty list (expected at least one entry in each)".to_owned());
        }
        match figures.find(|figure| *figure < 0.0) {
            Some(figure) => Err(format!("{figure} ns (expected a time)")),
            None => Ok(read),
        }
    }

    /// The costs of synchronisation. A wake-up costs nearly the same among few and many sleepers: the median of all is used.
    pub fn costs(&self) -> Costs {
        let middle = |figure: fn(&Woken) -> f64| super::rounds::median(self.wakes.iter().map(figure).collect());
        let call = middle(|woken| woken.call_ns);
        let latency = middle(|woken| woken.latency_ns);
        Costs {
            hold: self.lock_ns,
            transfer: self.transfer_ns,
            peek: self.peek_ns,
            wake_call: call,
            wake_more: self.each_more(),
            wake_latency: latency,
            wake_run: call,
            spin: SPIN,
            lock_spin: LOCK_SPIN,
        }
    }

    /// Cost of each further sleeper of a broadcast: the slope between the fewest and the most sleepers.
    fn each_more(&self) -> f64 {
        let (Some(few), Some(many)) = (self.broadcasts.first(), self.broadcasts.last()) else { return 0.0 };
        let sleepers = many.sleepers.saturating_sub(few.sleepers).max(1) as f64;
        ((many.call_ns - few.call_ns) / sleepers).max(0.0)
    }

    pub fn machine(&self) -> Machine {
        let slowest = self.speeds.last().copied().unwrap_or(1.0);
        Machine { fall: (1.0 - slowest).clamp(0.0, 0.9), ..Machine::ideal(self.processors, self.costs()) }
    }

    /// Additional relative loss of speed of copying, compared with computing, when all processors are active.
    pub fn copy_demand(&self) -> f64 {
        let (Some(one), Some(all)) = (self.copies.first(), self.copies.last()) else { return 0.0 };
        let each = all / self.copies.len() as f64 / one.max(f64::MIN_POSITIVE);
        (1.0 - each - self.machine().fall).clamp(0.0, 0.9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> Calibration {
        let woken = |sleepers, call_ns| Woken { sleepers, call_ns, latency_ns: 4000.0 };
        Calibration {
            processors: 2,
            lock_ns: 60.0,
            transfer_ns: 80.0,
            peek_ns: 2.0,
            wakes: vec![woken(1, 1000.0), woken(2, 1100.0), woken(4, 9000.0)],
            broadcasts: vec![woken(1, 1000.0), woken(4, 4000.0)],
            copies: vec![10.0, 15.0],
            speeds: vec![1.0, 0.9],
        }
    }

    #[test]
    fn written_and_read() {
        assert_eq!(Calibration::from_json(&made().to_json()), Ok(made()));
    }

    #[test]
    fn costs_and_machine_are_derived() {
        let costs = made().costs();
        assert_eq!((costs.hold, costs.wake_call, costs.wake_more), (60.0, 1100.0, 1000.0));
        let machine = made().machine();
        assert_eq!(machine.cores, 2);
        assert!((machine.speed(2, 0.0) - 0.9).abs() < 1e-9);
        assert!((made().copy_demand() - 0.15).abs() < 1e-9);
    }

    #[test]
    fn invalid_calibrations_are_refused() {
        assert!(Calibration::from_json("{}").is_err());
        assert!(Calibration::from_json(&Calibration { processors: 0, ..made() }.to_json()).is_err());
        assert!(Calibration::from_json(&Calibration { copies: Vec::new(), ..made() }.to_json()).is_err());
        let negative = Calibration { lock_ns: -1.0, ..made() };
        assert_eq!(Calibration::from_json(&negative.to_json()), Err("-1 ns (expected a time)".to_owned()));
        assert!(Calibration::from_json(&made().to_json().replace("peek", "peak")).is_err());
    }
}
