//! Work done in overlapping spans of time by threads that slowed each other down.

use crate::machine::Machine;

/// Begin and end in nanoseconds.
pub type Span = (f64, f64);

/// The work of each span's thread, in nanoseconds of a thread alone on the machine; no other threads ran. `demand` is the threads'
/// cache demand (see [`Machine::speed`]).
pub fn work(spans: &[Span], machine: &Machine, demand: f64) -> Vec<f64> {
    let mut edges: Vec<(f64, usize)> = Vec::with_capacity(2 * spans.len());
    for (index, &(begin, end)) in spans.iter().enumerate() {
        edges.extend([(begin, 2 * index), (end, 2 * index + 1)]);
    }
    edges.sort_by(|a, b| a.0.total_cmp(&b.0));
    // `done` is the work of a thread that ran all the time; a span's work is the difference of `done` at its ends.
    let mut done = 0.0;
    let mut active = 0_usize;
    let mut before = 0.0;
    let mut works = vec![0.0; spans.len()];
    for (time, edge) in edges {
        if active > 0 {
            done += (time - before) * machine.speed(active, demand);
        }
        before = time;
        let begins = edge % 2 == 0;
        works[edge / 2] += if begins { -done } else { done };
        active = if begins { active + 1 } else { active.saturating_sub(1) };
    }
    works
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Costs;

    #[test]
    fn alone_a_span_is_its_own_work() {
        let spans = [(0.0, 10.0), (20.0, 25.0)];
        assert_eq!(work(&spans, &Machine::ideal(1, Costs::FREE), 0.0), [10.0, 5.0]);
    }

    #[test]
    fn on_one_core_two_share_it() {
        // 10 alone, then 20 at half speed; the second 20 at half speed, then 5 alone.
        let spans = [(0.0, 30.0), (10.0, 35.0)];
        assert_eq!(work(&spans, &Machine::ideal(1, Costs::FREE), 0.0), [20.0, 15.0]);
        assert_eq!(work(&spans, &Machine::ideal(2, Costs::FREE), 0.0), [30.0, 25.0]);
    }

    #[test]
    fn an_empty_span_has_none() {
        assert_eq!(work(&[(5.0, 5.0)], &Machine::ideal(1, Costs::FREE), 0.0), [0.0]);
    }
}
