//! Repeated measurements and their quantiles.

use crate::host;

const ROUNDS: usize = 15;

pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}

/// The lower quartile: other processes on the machine only ever add time.
pub fn low(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 4).copied().unwrap_or(0.0)
}

/// The median time in nanoseconds of one step over rounds of `steps` steps.
pub fn each(steps: usize, step: impl FnMut(usize)) -> f64 {
    median(times(ROUNDS, steps, step))
}

/// The time in nanoseconds of one step in each of `rounds` rounds of `steps` steps.
pub fn times(rounds: usize, steps: usize, mut step: impl FnMut(usize)) -> Vec<f64> {
    let round = |_| {
        let begin = host::nanoseconds();
        (0..steps).for_each(&mut step);
        (host::nanoseconds() - begin) as f64 / steps as f64
    };
    (0..rounds).map(round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_not_the_mean() {
        assert_eq!(median(vec![9.0, 1.0, 1000.0, 2.0, 3.0]), 3.0);
        assert_eq!(low(vec![9.0, 1.0, 1000.0, 2.0, 3.0]), 2.0);
        assert_eq!((median(Vec::new()), low(Vec::new())), (0.0, 0.0));
    }

    #[test]
    fn every_step_is_run() {
        let mut run = 0;
        assert!(each(10, |_| run += 1) >= 0.0);
        assert_eq!(run, 10 * ROUNDS);
    }
}
