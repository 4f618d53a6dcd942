//! The report in a few sentences: the smallest, the fastest, the fastest at the same size, and packline compared with each competitor.

use super::figures::{Against, Figures};
use super::{Case, CodecSpeed, Report, Task, number, push_new, tables};

/// Images of up to this many times the smallest size count as the same size.
const SAME_SIZE: f64 = 1.02;
/// Upper bound for the configurations that are named. If there are more, their number is shown.
const NAMED_MOST: usize = 4;

/// Returns the sentences, the most important first.
pub(super) fn verdict(report: &Report, figures: &[Figures]) -> Vec<String> {
    let tasks = Task::ALL.into_iter().flat_map(|task| Timed::of(task, figures).sentences());
    let found: Vec<String> = tasks.chain(in_memory(&report.codecs)).collect();
    if found.is_empty() { tables::storage(report).into_iter().collect() } else { found }
}

/// The configurations of a task that took time.
struct Timed<'f, 'a> {
    task: Task,
    figures: Vec<&'f Figures<'a>>,
    /// Whether several block sizes were measured.
    blocks: bool,
    /// Whether several treatments of tail ends were measured.
    ways: bool,
}

impl<'f, 'a> Timed<'f, 'a> {
    fn of(task: Task, all: &'f [Figures<'a>]) -> Timed<'f, 'a> {
        let counts = |one: &&Figures| one.measured.case.task == task && one.throughput.is_some() && one.ratio.is_some();
        let figures: Vec<&Figures> = all.iter().filter(counts).collect();
        // A stream has neither blocks nor tail ends.
        let mut images = figures.iter().map(|one| &one.measured.case).filter(|case| case.block_size > 0);
        let first = images.next();
        let differs = |differs: fn(&Case, &Case) -> bool| {
            first.is_some_and(|first| images.clone().any(|other| differs(first, other)))
        };
        let blocks = differs(|one, other| one.block_size != other.block_size);
        let ways = differs(|one, other| one.tails != other.tails);
        Timed { task, figures, blocks, ways }
    }

    fn sentences(&self) -> Vec<String> {
        let packs = self.task == Task::Pack;
        let smallest = self.smallest().filter(|_| packs && self.figures.len() > 1);
        let smallest = smallest.map(|one| format!("Smallest: {}.", self.described(one)));
        let fastest = self.fastest(self.compressing());
        let fastest = fastest.map(|one| format!("{}: {}.", self.fastest_word(), self.described(one)));
        let same_size = if packs { self.at_same_size() } else { None };
        smallest.into_iter().chain(fastest).chain(same_size).chain(self.peers()).collect()
    }

    fn fastest_word(&self) -> &'static str {
        match self.task {
            _ if self.figures.len() == 1 => "Measured",
            Task::Pack => "Fastest",
            Task::Unpack => "Fastest to unpack",
            Task::Tar => "Fastest to make a tar",
        }
    }

    /// Returns the configurations that compress, because storing is always the fastest. If none compresses, it returns all.
    fn compressing(&self) -> impl Iterator<Item = &'f Figures<'a>> {
        let compresses = |one: &&&Figures| one.measured.case.codec != "none";
        let some = self.figures.iter().any(|one| compresses(&one));
        self.figures.iter().filter(move |one| !some || compresses(one)).copied()
    }

    fn smallest(&self) -> Option<&'f Figures<'a>> {
        let bytes = |one: &Figures| one.measured.image_bytes;
        let by_size = |one: &&Figures, other: &&Figures| bytes(one).cmp(&bytes(other)).then(faster(one, other));
        self.figures.iter().copied().min_by(by_size)
    }

    fn fastest(&self, among: impl Iterator<Item = &'f Figures<'a>>) -> Option<&'f Figures<'a>> {
        among.min_by(|one, other| faster(one, other))
    }

    /// Describes a configuration with its time, and for packing its size.
    fn described(&self, one: &Figures) -> String {
        let case = &one.measured.case;
        let speed = number::megabytes(one.throughput.unwrap_or_default());
        let mut words = vec![format!("{} with {}", case.program, self.configuration(case)), jobs(case)];
        if self.task == Task::Pack {
            words.push(format!("{} % of the content", number::percent(one.ratio.unwrap_or_default())));
        }
        words.push(format!("{} s ({speed} MB/s)", number::short(wall(one))));
        words.join(", ")
    }

    /// Returns the words that distinguish a configuration from the others of the task.
    fn configuration(&self, case: &Case) -> String {
        let blocks = number::block_size(case.block_size);
        let ways = tables::tails(case.tails);
        let mut words = Vec::new();
        words.extend((self.blocks && !blocks.is_empty()).then(|| format!("blocks of {blocks}")));
        words.extend((self.ways && !ways.is_empty()).then(|| ways.to_owned()));
        if words.is_empty() { case.codec.clone() } else { format!("{} ({})", case.codec, words.join(", ")) }
    }

    /// Names the fastest program at the same image size, for each configuration that several programs ran.
    fn at_same_size(&self) -> Option<String> {
        let mut firsts: Vec<&Figures> = Vec::new();
        for one in &self.figures {
            if !firsts.iter().any(|first| alike(first, one)) {
                firsts.push(one);
            }
        }
        let mut winners: Vec<(&str, Vec<String>)> = Vec::new();
        for winner in firsts.into_iter().filter_map(|first| self.winner(first)) {
            let program = winner.measured.case.program.as_str();
            let name = self.configuration(&winner.measured.case);
            match winners.iter_mut().find(|(known, _)| *known == program) {
                Some((_, names)) => names.push(name),
                None => winners.push((program, vec![name])),
            }
        }
        let all: usize = winners.iter().map(|(_, names)| names.len()).sum();
        let words: Vec<String> = winners.iter().map(|(program, names)| won(program, names, all)).collect();
        (!words.is_empty()).then(|| format!("Fastest at the same size (within 2 %): {}.", words.join("; ")))
    }

    /// Returns the fastest of the configurations that are alike, if they are of several programs.
    fn winner(&self, first: &Figures) -> Option<&'f Figures<'a>> {
        let alike: Vec<&'f Figures> = self.figures.iter().copied().filter(|one| alike(first, one)).collect();
        if alike.iter().all(|one| one.measured.case.program == first.measured.case.program) {
            return None;
        }
        let least = alike.iter().map(|one| one.measured.image_bytes).min().unwrap_or(0) as f64;
        self.fastest(alike.into_iter().filter(|one| one.measured.image_bytes as f64 <= least * SAME_SIZE))
    }

    /// Compares packline with each competitor.
    fn peers(&self) -> Vec<String> {
        let mut names: Vec<&str> = Vec::new();
        for one in self.figures.iter().filter(|one| one.versus.is_some()) {
            push_new(&mut names, one.measured.case.program.as_str());
        }
        names.into_iter().filter_map(|peer| self.beside(peer)).collect()
    }

    /// Describes the ratios to a competitor at its highest number of jobs.
    fn beside(&self, peer: &str) -> Option<String> {
        let of = || self.figures.iter().filter(|one| one.measured.case.program == peer);
        let most = of().map(|one| one.measured.case.jobs).max()?;
        let found: Vec<Against> =
            of().filter(|one| one.measured.case.jobs == most).filter_map(|one| one.versus).collect();
        let named = |name: &str, range: Option<String>| range.map(|range| format!("{name} {range}"));
        let words = [
            named(
                "wall time",
                number::range(found.iter().filter_map(|one| one.wall).map(|wall| wall.median), number::ratio),
            ),
            named(
                "CPU time",
                number::range(found.iter().filter_map(|one| one.cpu).map(|cpu| cpu.median), number::ratio),
            ),
            named("size", number::range(found.iter().filter_map(|one| one.size), |ratio| format!("{ratio:.3}")))
                .filter(|_| self.task == Task::Pack),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        let task = if self.task == Task::Tar { " (tar)" } else { "" };
        let meaning = "ratios of medians; below 1, packline needs less";
        (!words.is_empty()).then(|| format!("packline to {peer}{task}: {} ({meaning}).", words.join(", ")))
    }
}

fn wall(one: &Figures) -> f64 {
    one.wall.map_or(f64::INFINITY, |wall| wall.median)
}

fn faster(one: &Figures, other: &Figures) -> std::cmp::Ordering {
    wall(one).total_cmp(&wall(other))
}

/// Whether two configurations differ only in program and jobs.
fn alike(one: &Figures, other: &Figures) -> bool {
    let asked = |one: &Figures| {
        let Case { task, block_size, tails, .. } = one.measured.case;
        (task, block_size, tails)
    };
    asked(one) == asked(other) && one.measured.case.codec == other.measured.case.codec
}

fn jobs(case: &Case) -> String {
    let word = if case.jobs == 1 { "job" } else { "jobs" };
    format!("{} {word}", case.jobs)
}

/// Describes the configurations in which a program was the fastest.
fn won(program: &str, names: &[String], all: usize) -> String {
    match names.len() {
        count if count > NAMED_MOST => format!("{program} in {count} of {all} configurations"),
        _ => format!("{program} with {}", names.join(", ")),
    }
}

/// Names the smallest and the fastest codec in memory.
fn in_memory(codecs: &[CodecSpeed]) -> Vec<String> {
    let best = |value: fn(&CodecSpeed) -> Option<f64>| {
        let known = codecs.iter().filter_map(|one| Some((one, value(one)?)));
        known.max_by(|(_, one), (_, other)| one.total_cmp(other))
    };
    let speed = |found: Option<(&CodecSpeed, f64)>, word: &str| {
        found.map(|(one, speed)| format!("{word}: {}, {} MB/s on one core.", in_blocks(one), number::megabytes(speed)))
    };
    let smallest = best(|one| one.ratio().map(|ratio| -ratio));
    let smallest = smallest
        .map(|(one, ratio)| format!("Smallest: {}, {} % of the content.", in_blocks(one), number::percent(-ratio)));
    let compress = speed(best(|one| one.compress_speed().map(|speed| speed.median)), "Compresses fastest");
    let decompress = speed(best(|one| one.decompress_speed().map(|speed| speed.median)), "Decompresses fastest");
    [smallest, compress, decompress].into_iter().flatten().collect()
}

fn in_blocks(one: &CodecSpeed) -> String {
    format!("{}, blocks of {}", one.codec, number::block_size(one.block_size))
}

#[cfg(test)]
mod tests {
    use super::super::figures::figures;
    use super::super::tests::fixture::realistic;
    use super::*;
    use crate::report::Tails;

    fn of(report: &Report) -> Vec<String> {
        verdict(report, &figures(report))
    }

    /// Returns some configurations of the realistic report, without codecs in memory.
    fn chosen(takes: impl Fn(&Case) -> bool) -> Report {
        let mut report = Report { codecs: Vec::new(), ..realistic(&[1, 2]) };
        report.measured.retain(|one| takes(&one.case) && one.case.tails == Tails::Fragments);
        report
    }

    #[test]
    fn names_the_smallest_the_fastest_and_each_peer() {
        let sentences = of(&chosen(|case| ["lz4", "xz"].contains(&case.codec.as_str())));
        assert!(
            sentences[0].starts_with("Smallest: packline with xz, 2 jobs, 28.8 % of the content, 210 s"),
            "{sentences:#?}"
        );
        assert!(
            sentences[1].starts_with("Fastest: packline with lz4, 2 jobs, 47.5 % of the content"),
            "{sentences:#?}"
        );
        assert_eq!(sentences[2], "Fastest at the same size (within 2 %): packline with xz, lz4.");
        let ratios = "wall time 0.85, CPU time 0.85, size 0.997 (ratios of medians; below 1, packline needs less)";
        assert_eq!(sentences[3], format!("packline to mksquashfs: {ratios}."));
        assert!(sentences[4].starts_with("packline to tar2sqfs: wall time 0.77"), "{sentences:#?}");
        assert_eq!(sentences.len(), 5);
    }

    #[test]
    fn larger_image_does_not_win_by_speed() {
        let mut report = chosen(|case| case.codec == "lz4" && case.program != "tar2sqfs");
        for one in report.measured.iter_mut().filter(|one| one.case.program == "mksquashfs") {
            one.image_bytes = one.image_bytes * 11 / 10;
            one.runs.iter_mut().for_each(|run| run.wall /= 10.0);
        }
        let sentences = of(&report);
        assert!(sentences[1].starts_with("Fastest: mksquashfs with lz4"), "{sentences:#?}");
        assert_eq!(sentences[2], "Fastest at the same size (within 2 %): packline with lz4.");
    }

    #[test]
    fn counts_many_configurations() {
        let mut report = Report { codecs: Vec::new(), ..realistic(&[1]) };
        report.measured.retain(|one| one.case.program != "tar2sqfs");
        let sentences = of(&report);
        assert!(sentences[2].ends_with("packline in 14 of 14 configurations."), "{sentences:#?}");
        assert!(sentences[0].contains("with xz (fragments)"), "{sentences:#?}");
    }

    #[test]
    fn names_the_extremes_of_codecs_in_memory() {
        let report = Report { measured: Vec::new(), ..realistic(&[1]) };
        let sentences = of(&report);
        assert_eq!(sentences.len(), 3);
        assert!(sentences[0].starts_with("Smallest: xz, blocks of 128 KiB, 28.8 %"), "{sentences:#?}");
        assert_eq!(of(&Report::default()), Vec::<String>::new());
    }
}
