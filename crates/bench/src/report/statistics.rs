//! Medians, spreads, speed-up, efficiency, and the ratios of packline to a competitor.

use serde::Serialize;

use super::{Case, Cost, Measured};

/// The smallest, median and largest number of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    pub least: f64,
    /// The middle number; for an even count, the mean of the two in the middle.
    pub median: f64,
    pub most: f64,
}

impl Spread {
    /// Returns the spread of some numbers; zeros if there are none.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Spread {
        let mut sorted: Vec<f64> = numbers.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let middle = |index: usize| sorted.get(index).copied().unwrap_or(0.0);
        let count = sorted.len();
        Spread {
            least: middle(0),
            median: if count % 2 == 1 {
                middle(count / 2)
            } else {
                (middle((count / 2).wrapping_sub(1)) + middle(count / 2)) / 2.0
            },
            most: middle(count.wrapping_sub(1)),
        }
    }
}

impl Measured {
    pub fn spread(&self, number: fn(&Cost) -> f64) -> Spread {
        Spread::of(self.runs.iter().map(number))
    }

    pub fn wall(&self) -> Spread {
        self.spread(|cost| cost.wall)
    }

    pub fn cpu(&self) -> Spread {
        self.spread(Cost::cpu)
    }

    /// Returns the largest resident set of any run, in bytes.
    pub fn peak(&self) -> u64 {
        self.runs.iter().map(|cost| cost.peak).max().unwrap_or(0)
    }

    /// Returns the bytes of image for each byte of content.
    pub fn ratio(&self) -> f64 {
        self.image_bytes as f64 / (self.content_bytes as f64).max(1.0)
    }

    /// Returns the bytes of content for each second of the median wall time.
    pub fn throughput(&self) -> f64 {
        self.content_bytes as f64 / self.wall().median.max(1e-9)
    }
}

/// The gain from more jobs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaling {
    /// The median wall time with the fewest jobs, divided by the median wall time here.
    pub speedup: f64,
    /// The speed-up for each additional job: `speedup * fewest / jobs`. 1 is perfect.
    pub efficiency: f64,
}

/// Returns the configurations that differ from this one only in the number of jobs, and this configuration.
pub(super) fn of_other_jobs<'a>(measured: &'a Measured, all: &'a [Measured]) -> impl Iterator<Item = &'a Measured> {
    let all_but_jobs = |case: &'a Case| {
        let Case { task, codec, block_size, tails, program, jobs: _ } = case;
        (task, codec, block_size, tails, program)
    };
    all.iter().filter(move |other| all_but_jobs(&other.case) == all_but_jobs(&measured.case))
}

/// Returns the scaling of a configuration, compared with the fewest jobs.
pub fn scaling(measured: &Measured, all: &[Measured]) -> Scaling {
    let base = of_other_jobs(measured, all).min_by_key(|other| other.case.jobs).unwrap_or(measured);
    let speedup = base.wall().median / measured.wall().median.max(1e-9);
    Scaling { speedup, efficiency: speedup * base.case.jobs as f64 / measured.case.jobs.max(1) as f64 }
}

/// The figures of packline divided by those of a competitor. Below 1, packline needs less.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Versus {
    /// The ratio of the median processor times, with the smallest and largest ratio of runs of the same round.
    pub cpu: Spread,
    /// The ratio of wall times, calculated in the same way.
    pub wall: Spread,
    /// The ratio of the image sizes.
    pub size: f64,
    /// The ratio of peak memory.
    pub peak: f64,
}

/// Whether a case of packline is compared with a case of a competitor: they differ only in the program. A program without blocks is compared
/// with any block size.
fn is_beside(ours: &Case, peer: &Case) -> bool {
    let blockless = peer.block_size == 0;
    let (block_size, tails) = if blockless { (peer.block_size, peer.tails) } else { (ours.block_size, ours.tails) };
    ours.program == "packline" && Case { program: peer.program.clone(), block_size, tails, ..ours.clone() } == *peer
}

/// Compares packline with a competitor in the same case. Returns `None` if packline has no such case, or if `peer` is packline. A competitor
/// without blocks is compared with the first case of the same task, codec and jobs.
pub fn against(peer: &Measured, all: &[Measured]) -> Option<Versus> {
    let ours = all.iter().find(|other| is_beside(&other.case, &peer.case))?;
    if peer.case.program == "packline" {
        return None;
    }
    let over = |number: fn(&Cost) -> f64| {
        let pairs = ours.runs.iter().zip(&peer.runs).map(|(ours, peer)| number(ours) / number(peer).max(1e-9));
        let median = ours.spread(number).median / peer.spread(number).median.max(1e-9);
        Spread { median, ..Spread::of(pairs) }
    };
    Some(Versus {
        cpu: over(Cost::cpu),
        wall: over(|cost| cost.wall),
        size: ours.image_bytes as f64 / (peer.image_bytes as f64).max(1.0),
        peak: ours.peak() as f64 / (peer.peak() as f64).max(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Tails, Task};

    fn measured(program: &str, jobs: usize, walls: &[f64]) -> Measured {
        let case = Case {
            task: Task::Pack,
            codec: "zstd".into(),
            block_size: 4096,
            tails: Tails::Fragments,
            program: program.into(),
            jobs,
        };
        let runs = walls.iter().map(|&wall| Cost { wall, user: wall / 2.0, system: 0.0, peak: jobs as u64 }).collect();
        Measured { case, content_bytes: 1000, image_bytes: 100 * jobs as u64, runs }
    }

    #[test]
    fn spread_has_the_middle_of_odd_and_even_counts() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Spread { least: 1.0, median: 2.0, most: 3.0 });
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!(Spread::of([7.0]), Spread { least: 7.0, median: 7.0, most: 7.0 });
        assert_eq!(Spread::of([]).most, 0.0);
    }

    #[test]
    fn scaling_is_against_the_fewest_jobs_of_the_same_case() {
        let all = [measured("packline", 1, &[8.0]), measured("packline", 4, &[2.5]), measured("other", 1, &[1.0])];
        let found = scaling(&all[1], &all);
        assert_eq!((found.speedup, found.efficiency), (3.2, 0.8));
        assert_eq!(scaling(&all[0], &all), Scaling { speedup: 1.0, efficiency: 1.0 });
    }

    #[test]
    fn compares_a_stream_with_the_first_image_of_its_codec() {
        let mut stream = measured("zstd", 1, &[4.0]);
        stream.case.block_size = 0;
        stream.case.tails = Tails::Unknown;
        let mut later = measured("packline", 1, &[2.0]);
        later.case.block_size = 8192;
        let all = [measured("packline", 1, &[1.0]), later, stream.clone()];
        assert_eq!(against(&stream, &all).unwrap().wall.median, 0.25);
        stream.case.codec = "xz".into();
        assert!(against(&stream, &all).is_none());
    }

    #[test]
    fn compares_a_peer_with_packline_at_the_same_jobs() {
        let all = [
            measured("packline", 1, &[1.0, 2.0, 9.0]),
            measured("packline", 2, &[1.0]),
            measured("peer", 1, &[4.0, 4.0, 3.0]),
        ];
        let found = against(&all[2], &all).unwrap();
        assert_eq!((found.wall.least, found.wall.median, found.wall.most), (0.25, 0.5, 3.0));
        assert_eq!(found.size, 1.0);
        assert!(against(&all[0], &all).is_none() && against(&measured("peer", 7, &[1.0]), &all).is_none());
    }
}
