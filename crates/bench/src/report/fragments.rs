//! The effect of fragments on size and scaling: the same case with and without them.

use serde::Serialize;

use super::figures::Figures;
use super::tables::{Column, Table, number as n, words as w};
use super::{Case, Tails, Task, number};

/// One treatment of tail ends for a codec, block size and program.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Way {
    image_bytes: u64,
    /// Speed-up at the highest number of jobs that all treatments have.
    speedup: Option<f64>,
    /// Median wall time at these jobs, in seconds.
    wall_s: Option<f64>,
}

/// The measured treatments of tail ends for a codec, block size and program.
#[derive(Serialize)]
pub(super) struct Fragments<'a> {
    codec: &'a str,
    block_size: u64,
    program: &'a str,
    /// The number of jobs of the speed-ups and times: the most jobs that all treatments have; 0 if there is no common number.
    jobs: usize,
    fragments: Option<Way>,
    no_tail_packing: Option<Way>,
    no_fragments: Option<Way>,
    /// The share of the image that packing tail ends saves.
    saved: Option<f64>,
    /// Speed-up with fragments divided by speed-up without. Below 1, fragments limit scaling.
    speedup_kept: Option<f64>,
}

impl Fragments<'_> {
    fn ways(&self) -> [Option<Way>; 3] {
        [self.fragments, self.no_tail_packing, self.no_fragments]
    }
}

fn saving(with: Option<Way>, without: Option<Way>) -> Option<f64> {
    let with = with?;
    let without = without?;
    (without.image_bytes > 0).then(|| 1.0 - with.image_bytes as f64 / without.image_bytes as f64)
}

fn speedup_kept(with: Option<Way>, without: Option<Way>) -> Option<f64> {
    let with = with?.speedup?;
    let without = without?.speedup?;
    (without > 0.0).then(|| with / without)
}

const WAYS: [Tails; 3] = [Tails::Fragments, Tails::NoTailPacking, Tails::NoFragments];

fn alike(left: &Case, right: &Case) -> bool {
    let key = |case: &Case| (case.task, case.codec.clone(), case.block_size, case.program.clone());
    key(left) == key(right)
}

/// Returns every codec, block size and program that was packed with several treatments of tail ends.
pub(super) fn fragments<'a>(figures: &[Figures<'a>]) -> Vec<Fragments<'a>> {
    let mut firsts: Vec<&'a Case> = Vec::new();
    for one in figures.iter().filter(|one| one.measured.case.task == Task::Pack) {
        if !firsts.iter().any(|first| alike(first, &one.measured.case)) {
            firsts.push(&one.measured.case);
        }
    }
    firsts.into_iter().map(|case| compared(case, figures)).filter(several).collect()
}

fn several(found: &Fragments) -> bool {
    found.ways().iter().flatten().count() > 1
}

fn compared<'a>(case: &'a Case, figures: &[Figures<'a>]) -> Fragments<'a> {
    let of = |tails: Tails| -> Vec<&Figures<'a>> {
        figures.iter().filter(|one| alike(case, &one.measured.case) && one.measured.case.tails == tails).collect()
    };
    let ways = WAYS.map(of);
    let measured: Vec<_> = ways.iter().filter(|way| !way.is_empty()).collect();
    let shared = |jobs: &usize| measured.iter().all(|way| way.iter().any(|one| one.measured.case.jobs == *jobs));
    let jobs = ways.iter().flatten().map(|one| one.measured.case.jobs).filter(shared).max().unwrap_or(0);
    let [fragments, no_tail_packing, no_fragments] = ways.map(|way| way_of(&way, jobs));
    let without = no_fragments.or(no_tail_packing);
    Fragments {
        codec: &case.codec,
        block_size: case.block_size,
        program: &case.program,
        jobs,
        fragments,
        no_tail_packing,
        no_fragments,
        saved: saving(fragments, without),
        speedup_kept: speedup_kept(fragments, without),
    }
}

fn way_of(figures: &[&Figures], jobs: usize) -> Option<Way> {
    let at = figures.iter().find(|one| one.measured.case.jobs == jobs);
    Some(Way {
        image_bytes: at.or(figures.first())?.measured.image_bytes,
        speedup: at.and_then(|one| one.speedup),
        wall_s: at.and_then(|one| one.wall).map(|wall| wall.median),
    })
}

/// The comparison as a table, if there is one.
pub(super) fn table(all: &[Fragments]) -> Option<Table> {
    let columns: [Column<Fragments>; 14] = [
        w("Codec", |found| found.codec.to_owned()),
        w("Block", |found| number::block_size(found.block_size)),
        w("Program", |found| found.program.to_owned()),
        n("MB, fragments", |found| megabytes(found.fragments)),
        n("MB, no tail packing", |found| megabytes(found.no_tail_packing)),
        n("MB, no fragments", |found| megabytes(found.no_fragments)),
        n("Saved %", |found| found.saved.map(number::percent).unwrap_or_default()),
        n("Jobs", |found| if found.jobs > 0 { found.jobs.to_string() } else { String::new() }),
        n("Speed-up, fragments", |found| speedup(found.fragments)),
        n("Speed-up, no tail packing", |found| speedup(found.no_tail_packing)),
        n("Speed-up, no fragments", |found| speedup(found.no_fragments)),
        n("Wall s, fragments", |found| wall(found.fragments)),
        n("Wall s, no tail packing", |found| wall(found.no_tail_packing)),
        n("Wall s, no fragments", |found| wall(found.no_fragments)),
    ];
    (!all.is_empty()).then(|| Table::new(all, columns))
}

fn megabytes(way: Option<Way>) -> String {
    way.map(|way| number::megabytes(way.image_bytes as f64)).unwrap_or_default()
}

fn speedup(way: Option<Way>) -> String {
    way.and_then(|way| way.speedup).map(number::ratio).unwrap_or_default()
}

fn wall(way: Option<Way>) -> String {
    way.and_then(|way| way.wall_s).map(number::short).unwrap_or_default()
}

/// Describes the effect in words, for packline if it was measured. The text is empty without figures.
pub(super) fn verdict(all: &[Fragments]) -> String {
    let is_ours = |found: &&Fragments| found.program == "packline";
    let any_ours = all.iter().any(|found| is_ours(&found));
    let judged = || all.iter().filter(|found| !any_ours || is_ours(found));
    let saved = number::range(judged().filter_map(|found| found.saved), number::percent);
    let kept = number::range(judged().filter_map(|found| found.speedup_kept), number::ratio);
    let saved_text = saved
        .map(|range| format!("Packing small files and tail ends into shared blocks saves {range} % of the image."));
    let kept_text = kept.map(|range| {
        format!("With fragments, the speed-up with the most jobs is {range} times as high (below 1: fragments limit scaling).")
    });
    saved_text.into_iter().chain(kept_text).collect::<Vec<_>>().join(" ")
}
