//! What will be run, decided before anything is: contests, their command lines, and notes of who takes no part.

use std::path::{Path, PathBuf};

use packline::bench::{Case, Tails, Task};
use packline::codec::Spec;

use super::input::Source;
use super::line::Line;
use super::lists::put;
use super::pack_lines::{Ask, Lack, pack_line};
use super::program::{Kind, Program};

/// One program's part in a contest.
#[derive(Debug, Clone)]
pub struct Entrant {
    pub case: Case,
    /// Which of the programs.
    pub program: usize,
    pub line: Line,
    /// What the line makes, removed before each run; nothing if what it prints is all.
    pub made: Option<PathBuf>,
}

/// Runs that stand side by side.
#[derive(Debug, Clone)]
pub struct Contest {
    /// Contests that differ in nothing but jobs have the same number: what we make in them must be the same.
    pub group: usize,
    pub entrants: Vec<Entrant>,
}

impl Contest {
    /// What it is about, in a few words. Ours come first, and say it all.
    pub fn name(&self) -> String {
        let Some(Entrant { case, .. }) = self.entrants.first() else { return String::new() };
        let jobs = if case.jobs == 1 { "job" } else { "jobs" };
        let block = crate::size::show_size(case.block_size);
        format!("{} {}, {block}, {}, {} {jobs}", case.task.name(), case.codec, case.tails.name(), case.jobs)
    }
}

/// The whole.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    pub contests: Vec<Contest>,
    absent: Vec<Absent>,
}

/// A program that takes no part in something.
#[derive(Debug, Clone)]
struct Absent {
    label: String,
    reason: String,
    /// With what it takes no part; nothing if with nothing at all.
    with: Vec<String>,
}

impl Plan {
    /// Notes that `label` takes no part, with `codec` if nothing else is said.
    pub fn leave_out(&mut self, label: &str, codec: &str, lack: Lack) {
        let Lack { with, reason } = lack;
        let with = Some(with.unwrap_or(codec).to_owned()).filter(|with| !with.is_empty());
        let known = self.absent.iter_mut().find(|absent| absent.label == label && absent.reason == reason);
        match known {
            Some(absent) => with.into_iter().for_each(|with| put(&mut absent.with, with)),
            None => self.absent.push(Absent { label: label.to_owned(), reason, with: with.into_iter().collect() }),
        }
    }

    /// Who takes no part in what, and why, a sentence each.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.absent.iter().map(|Absent { label, reason, with }| {
            let with = if with.is_empty() { String::new() } else { format!(" with {}", with.join(", ")) };
            format!("{label} takes no part{with}: {reason}.")
        })
    }

    /// How many runs there are, each program so many times in each contest.
    pub fn runs(&self, runs: usize, warmups: usize) -> usize {
        self.contests.iter().map(|contest| contest.entrants.len()).sum::<usize>() * (runs + warmups)
    }

    /// The plan in a line, to be seen before hours are spent on it.
    pub fn summary(&self, runs: usize, warmups: usize) -> String {
        let (mut codecs, mut programs, mut jobs) = (Vec::new(), Vec::new(), Vec::new());
        for case in self.contests.iter().flat_map(|contest| &contest.entrants).map(|entrant| &entrant.case) {
            put(&mut codecs, case.codec.clone());
            put(&mut programs, case.program.clone());
            put(&mut jobs, case.jobs.to_string());
        }
        let before = if warmups > 0 { format!(" after {warmups} to warm up") } else { String::new() };
        let each = if runs == 1 { "1 run each".to_owned() } else { format!("{runs} runs each") };
        format!(
            "{} runs: {}; {}; jobs {}; {each}{before}",
            self.runs(runs, warmups),
            programs.join(", "),
            codecs.join(", "),
            jobs.join(", ")
        )
    }

    /// Whether a program takes part in anything.
    pub fn has(&self, program: usize) -> bool {
        self.contests.iter().flat_map(|contest| &contest.entrants).any(|entrant| entrant.program == program)
    }
}

/// What is to be packed in which ways.
#[derive(Debug, Clone)]
pub struct Choice {
    pub codecs: Vec<Spec>,
    pub block_sizes: Vec<u64>,
    pub tails: Vec<Tails>,
    pub jobs: Vec<usize>,
    /// Bytes, if it is limited.
    pub memory: Option<u64>,
}

/// The plan of `bench pack`. Ours is the first of `programs`; outputs go to `scratch`.
pub fn pack_plan(programs: &[Program], choice: &Choice, source: &Source, scratch: &Path) -> Plan {
    let mut plan = Plan::default();
    let mut group = 0;
    for codec in &choice.codecs {
        for (round, (&block_size, &tails)) in pairs(&choice.block_sizes, &choice.tails).enumerate() {
            for &jobs in &choice.jobs {
                let ask = Ask { codec, block_size, tails, jobs, memory: choice.memory };
                let made = |program| scratch.join(format!("made-{program}.sqfs"));
                // What knows neither blocks nor tail ends is measured once for each codec.
                let takes_part = |program: &Program| round == 0 || program.kind.makes_squashfs();
                let mut entrants = Vec::new();
                for (index, program) in programs.iter().enumerate().filter(|(_, program)| takes_part(program)) {
                    match entrant(program, &ask, source, &made(index), &scratch.join(SAID)) {
                        Ok((case, line)) => {
                            entrants.push(Entrant { case, program: index, line, made: Some(made(index)) });
                        }
                        Err(lack) => plan.leave_out(&program.label, &codec.to_string(), lack),
                    }
                }
                plan.contests.push(Contest { group, entrants });
            }
            group += 1;
        }
    }
    plan
}

/// The file in the scratch directory to which packline prints what it packed.
pub const SAID: &str = "said.json";

fn pairs<'a, A, B>(firsts: &'a [A], seconds: &'a [B]) -> impl Iterator<Item = (&'a A, &'a B)> {
    firsts.iter().flat_map(move |first| seconds.iter().map(move |second| (first, second)))
}

fn entrant(program: &Program, ask: &Ask<'_>, source: &Source, made: &Path, said: &Path) -> Result<(Case, Line), Lack> {
    let line = pack_line(program, ask, source, made, said)?;
    let (block_size, tails) = match program.kind.makes_squashfs() {
        true => (ask.block_size, ask.tails),
        false => (0, Tails::Unknown),
    };
    let (codec, program) = (ask.codec.to_string(), program.label.clone());
    Ok((Case { task: Task::Pack, codec, block_size, tails, program, jobs: ask.jobs }, line))
}

/// Which codecs have levels that change what they make.
fn has_levels(spec: &Spec) -> bool {
    match spec {
        Spec::Lz4(_) => spec.to_string().contains("hc"),
        Spec::None | Spec::Lzo(_) | Spec::Huff0 | Spec::Zle => false,
        _ => true,
    }
}

/// Each codec at each of the levels it has, instead of its default one; a level that was asked for stays. Beside the codecs
/// there are notes of levels that a codec does not have. An error if no codec has a level.
pub fn at_levels(codecs: Vec<Spec>, levels: &[i64]) -> Result<(Vec<Spec>, Vec<String>), String> {
    let (mut all, mut notes) = (Vec::new(), Vec::new());
    let mut used = vec![false; levels.len()];
    for codec in codecs {
        let text = codec.to_string();
        if levels.is_empty() || !has_levels(&codec) || text.contains("level=") {
            put(&mut all, codec);
            continue;
        }
        for (&level, used) in levels.iter().zip(&mut used) {
            let separator = if text.contains(':') { ',' } else { ':' };
            match Spec::parse(&format!("{text}{separator}level={level}")) {
                Ok(at_level) => {
                    put(&mut all, at_level);
                    *used = true;
                }
                Err(_) => notes.push(format!("{text} takes no part at level {level}, which it does not have.")),
            }
        }
    }
    match levels.iter().zip(&used).find(|(_, used)| !**used) {
        Some((level, _)) => Err(format!("no codec that was asked for has level {level}")),
        None => Ok((all, notes)),
    }
}

/// The order of runs: each program once, then each once more, so that a machine that slows down slows all of them.
pub fn rounds(count: usize, entrants: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |round| (0..entrants).map(move |entrant| (round, entrant)))
}

/// Whether a program is this one.
pub fn is_ours(program: &Program) -> bool {
    program.kind == Kind::Packline && program.label == Kind::Packline.name()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(kind: Kind) -> Program {
        Program { kind, label: kind.name().into(), path: kind.name().into(), version: String::new() }
    }

    fn choice(codecs: &str, tails: &[Tails], jobs: &[usize]) -> Choice {
        let codecs = super::super::lists::codecs(codecs).unwrap();
        Choice { codecs, block_sizes: vec![4096, 8192], tails: tails.to_vec(), jobs: jobs.to_vec(), memory: None }
    }

    fn planned(kinds: &[Kind], choice: &Choice) -> Plan {
        let programs: Vec<Program> = kinds.iter().copied().map(program).collect();
        let source = Source::Tar { path: "in.tar".into(), compressed: false };
        pack_plan(&programs, choice, &source, Path::new("/s"))
    }

    #[test]
    fn every_combination_is_a_contest_with_ours_first() {
        let plan = planned(
            &[Kind::Packline, Kind::Mksquashfs],
            &choice("lz4,none", &[Tails::Fragments, Tails::NoFragments], &[1, 2]),
        );
        assert_eq!(plan.contests.len(), 2 * 2 * 2 * 2);
        assert!(plan.contests.iter().all(|contest| contest.entrants.len() == 2 && contest.entrants[0].program == 0));
        let groups: Vec<usize> = plan.contests.iter().map(|contest| contest.group).collect();
        assert_eq!(groups, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
        assert_eq!(plan.contests[3].name(), "pack lz4, 4K, no-fragments, 2 jobs");
        let summary = "128 runs: packline, mksquashfs; lz4, none; jobs 1, 2; 3 runs each after 1 to warm up";
        assert_eq!(plan.summary(3, 1), summary);
        assert!(plan.contests[3].entrants[1].line.shown().contains("mksquashfs - /s/made-1.sqfs -tar"));
        assert_eq!(plan.notes().count(), 0);
    }

    #[test]
    fn who_cannot_take_part_is_named_with_the_reason() {
        let plan =
            planned(&[Kind::Packline, Kind::Tar2sqfs, Kind::Zstd], &choice("zstd,lz4,none", &[Tails::Fragments], &[1]));
        let notes: Vec<String> = plan.notes().collect();
        assert_eq!(
            notes,
            [
                "zstd takes no part with lz4, none: it has of these codecs only zstd.",
                "tar2sqfs takes no part with none: it always compresses.",
            ]
        );
        // What has no blocks is measured with the first block size only.
        let with_zstd: Vec<usize> = plan.contests.iter().map(|contest| contest.entrants.len()).collect();
        assert_eq!(with_zstd, [3, 2, 2, 2, 1, 1]);
        let stream = &plan.contests[0].entrants[2].case;
        assert_eq!((stream.block_size, stream.tails), (0, Tails::Unknown));
        assert!(plan.has(1) && plan.has(2));
    }

    #[test]
    fn program_without_threads_is_beside_one_job() {
        let plan = planned(&[Kind::Packline, Kind::Gzip], &choice("gzip", &[Tails::Fragments], &[1, 2]));
        let counts: Vec<usize> = plan.contests.iter().map(|contest| contest.entrants.len()).collect();
        assert_eq!(counts, [2, 1, 1, 1]);
        assert_eq!(plan.notes().next().unwrap(), "gzip takes no part with more than 1 job: it works on one thread.");
        let plan = planned(&[Kind::Packline, Kind::Gzip], &choice("gzip", &[Tails::Fragments], &[2]));
        assert!(!plan.has(1));
    }

    #[test]
    fn levels_go_to_codecs_that_have_them() {
        let at = |codecs: &str, levels: &[i64]| {
            at_levels(super::super::lists::codecs(codecs).unwrap(), levels)
                .map(|(all, notes)| (all.iter().map(Spec::to_string).collect::<Vec<_>>().join(" "), notes.len()))
        };
        let expected = "zstd:level=1 zstd:level=19 gzip:level=1 xz:level=3 none lz4 lz4:hc,level=1".to_owned();
        assert_eq!(at("zstd,gzip,xz:level=3,none,lz4,lz4:hc", &[1, 19]), Ok((expected, 2)));
        assert!(at("gzip,none", &[1, 19]).is_err());
        assert_eq!(at("zstd", &[]), Ok(("zstd".to_owned(), 0)));
    }

    #[test]
    fn runs_are_interleaved() {
        let order: Vec<_> = rounds(2, 3).collect();
        assert_eq!(order, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    }
}
