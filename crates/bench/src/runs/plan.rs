//! The plan, which is complete before the first run: cases, their command lines, and notes on programs that take no part.

use std::path::{Path, PathBuf};

use packline_codec::Spec;

use crate::PackSettings;
use crate::inputs::source::Source;
use crate::programs::command_line::CommandLine;
use crate::programs::pack_commands::{Packing, Parameters, Unsupported};
use crate::programs::program::Program;
use crate::report::{Case, Tails, Task, push_new, short_block_size};

#[derive(Debug, Clone)]
pub struct Competitor {
    pub case: Case,
    /// The index of the program.
    pub program: usize,
    pub line: CommandLine,
    /// The file or directory that the program writes. It is removed before each run. `None` if the program only prints.
    pub output: Option<PathBuf>,
}

/// Programs with the same task, which are compared. packline is the first.
#[derive(Debug, Clone)]
pub struct BenchCase {
    /// Cases that differ only in the number of jobs have the same group. packline must write the same bytes in all of them.
    pub group: usize,
    pub competitors: Vec<Competitor>,
}

impl BenchCase {
    /// The name in progress messages.
    pub fn name(&self) -> String {
        let Some(Competitor { case, .. }) = self.competitors.first() else { return String::new() };
        let jobs = if case.jobs == 1 { "job" } else { "jobs" };
        let block = short_block_size(case.block_size);
        format!("{} {}, {block}, {}, {} {jobs}", case.task.name(), case.codec, case.tails.name(), case.jobs)
    }
}

#[derive(Debug, Clone, Default)]
pub struct Plan {
    pub cases: Vec<BenchCase>,
    left_out: Vec<LeftOut>,
}

/// A program that takes no part in some cases.
#[derive(Debug, Clone)]
struct LeftOut {
    label: String,
    reason: String,
    /// The parts of cases that the program does not support; empty if it takes no part in any case.
    with: Vec<String>,
}

impl Plan {
    /// Records that a program does not support `codec`, or the part that `unsupported` names.
    pub fn leave_out(&mut self, label: &str, codec: &str, unsupported: Unsupported) {
        let Unsupported { with, reason } = unsupported;
        let with = Some(with.unwrap_or(codec).to_owned()).filter(|with| !with.is_empty());
        let known = self.left_out.iter_mut().find(|known| known.label == label && known.reason == reason);
        match known {
            Some(known) => with.into_iter().for_each(|with| push_new(&mut known.with, with)),
            None => self.left_out.push(LeftOut { label: label.to_owned(), reason, with: with.into_iter().collect() }),
        }
    }

    /// Returns a sentence for each program that takes no part in some cases.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.left_out.iter().map(|LeftOut { label, reason, with }| {
            let with = if with.is_empty() { String::new() } else { format!(" with {}", with.join(", ")) };
            format!("{label} takes no part{with}: {reason}.")
        })
    }

    /// Returns the number of runs, if each program runs `each` times in a case.
    pub fn runs(&self, each: usize) -> usize {
        self.cases.iter().map(|case| case.competitors.len()).sum::<usize>() * each
    }

    /// Returns the plan in one line.
    pub fn summary(&self, runs: usize, warmups: usize) -> String {
        let mut codecs = Vec::new();
        let mut programs = Vec::new();
        let mut jobs = Vec::new();
        for case in self.cases.iter().flat_map(|case| &case.competitors).map(|competitor| &competitor.case) {
            push_new(&mut codecs, case.codec.clone());
            push_new(&mut programs, case.program.clone());
            push_new(&mut jobs, case.jobs.to_string());
        }
        let before = if warmups > 0 { format!(" after {warmups} to warm up") } else { String::new() };
        let each = if runs == 1 { "1 run each".to_owned() } else { format!("{runs} runs each") };
        format!(
            "{} runs: {}; {}; jobs {}; {each}{before}",
            self.runs(runs + warmups),
            programs.join(", "),
            codecs.join(", "),
            jobs.join(", ")
        )
    }

    /// Whether a program is in any case.
    pub fn has(&self, program: usize) -> bool {
        self.cases.iter().flat_map(|case| &case.competitors).any(|competitor| competitor.program == program)
    }
}

/// Returns the plan for packing. packline is the first of `programs`. Outputs go to `directory`.
pub fn pack_plan(programs: &[Program], settings: &PackSettings, source: &Source, directory: &Path) -> Plan {
    let mut plan = Plan::default();
    let mut group = 0;
    for codec in &settings.codecs {
        for (round, (&block_size, &tails)) in pairs(&settings.block_sizes, &settings.tails).enumerate() {
            for &jobs in &settings.comparison.jobs {
                let memory = settings.comparison.runs.memory;
                let parameters = Parameters { codec, block_size, tails, jobs, memory };
                let output = |program| directory.join(format!("made-{program}.sqfs"));
                // Programs without blocks and tail ends are measured once for each codec.
                let takes_part = |program: &Program| round == 0 || program.kind.makes_squashfs();
                let mut competitors = Vec::new();
                for (index, program) in programs.iter().enumerate().filter(|(_, program)| takes_part(program)) {
                    let output = output(index);
                    let summary = directory.join(PACK_SUMMARY);
                    match (Packing { program, parameters, source, output: &output }).line(&summary) {
                        Ok(line) => {
                            let case = pack_case(program, &parameters);
                            competitors.push(Competitor { case, program: index, line, output: Some(output) });
                        }
                        Err(unsupported) => plan.leave_out(&program.label, &codec.to_string(), unsupported),
                    }
                }
                plan.cases.push(BenchCase { group, competitors });
            }
            group += 1;
        }
    }
    plan
}

/// The file to which `packline pack --json` prints its summary.
pub const PACK_SUMMARY: &str = "summary.json";

fn pairs<'a, A, B>(firsts: &'a [A], seconds: &'a [B]) -> impl Iterator<Item = (&'a A, &'a B)> {
    firsts.iter().flat_map(move |first| seconds.iter().map(move |second| (first, second)))
}

fn pack_case(program: &Program, parameters: &Parameters<'_>) -> Case {
    let (block_size, tails) =
        if program.kind.makes_squashfs() { (parameters.block_size, parameters.tails) } else { (0, Tails::Unknown) };
    let codec = parameters.codec.to_string();
    let program = program.label.clone();
    Case { task: Task::Pack, codec, block_size, tails, program, jobs: parameters.jobs }
}

/// Whether the level changes the output of a codec.
fn has_levels(spec: &Spec) -> bool {
    match spec {
        Spec::Lz4(_) => spec.to_string().contains("hc"),
        Spec::None | Spec::Lzo(_) | Spec::Huff0 | Spec::Zle => false,
        _ => true,
    }
}

/// Returns each codec without a level at each of these levels, and notes on levels that a codec does not have.
///
/// # Errors
/// Returns an error if no codec has one of the levels.
pub fn at_levels(codecs: Vec<Spec>, levels: &[i64]) -> Result<(Vec<Spec>, Vec<String>), String> {
    let mut all = Vec::new();
    let mut notes = Vec::new();
    let mut used = vec![false; levels.len()];
    for codec in codecs {
        let text = codec.to_string();
        if levels.is_empty() || !has_levels(&codec) || text.contains("level=") {
            push_new(&mut all, codec);
            continue;
        }
        for (&level, used) in levels.iter().zip(&mut used) {
            let separator = if text.contains(':') { ',' } else { ':' };
            match Spec::parse(&format!("{text}{separator}level={level}")) {
                Ok(at_level) => {
                    push_new(&mut all, at_level);
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

/// Returns rounds and competitors in the order of the runs. Each competitor runs once in a round, so that a machine that slows down affects
/// all of them.
pub fn run_order(rounds: usize, competitors: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rounds).flat_map(move |round| (0..competitors).map(move |competitor| (round, competitor)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Against, Comparison, PackSource, ProgramKind, Runs};

    fn specs(codecs: &str) -> Vec<Spec> {
        codecs.split(',').map(|codec| Spec::parse(codec).unwrap()).collect()
    }

    fn comparison(jobs: &[usize]) -> Comparison {
        Comparison {
            runs: Runs { command: String::new(), runs: 1, warmups: 0, memory: None, notes: Vec::new() },
            jobs: jobs.to_vec(),
            against: Against::Usual,
            work_dir: "/s".into(),
            keep: false,
            storage: false,
            storage_bytes: None,
        }
    }

    fn program(kind: ProgramKind) -> Program {
        Program { kind, label: kind.name().into(), path: kind.name().into(), version: String::new() }
    }

    fn settings(codecs: &str, tails: &[Tails], jobs: &[usize]) -> PackSettings {
        PackSettings {
            comparison: comparison(jobs),
            source: PackSource::Path("in.tar".into()),
            codecs: specs(codecs),
            block_sizes: vec![4096, 8192],
            tails: tails.to_vec(),
        }
    }

    fn planned(kinds: &[ProgramKind], settings: &PackSettings) -> Plan {
        let programs: Vec<Program> = kinds.iter().copied().map(program).collect();
        let source = Source::Tar { path: "in.tar".into(), compressed: false };
        pack_plan(&programs, settings, &source, Path::new("/s"))
    }

    #[test]
    fn every_combination_is_a_case_with_packline_first() {
        let plan = planned(
            &[ProgramKind::Packline, ProgramKind::Mksquashfs],
            &settings("lz4,none", &[Tails::Fragments, Tails::NoFragments], &[1, 2]),
        );
        assert_eq!(plan.cases.len(), 2 * 2 * 2 * 2);
        assert!(plan.cases.iter().all(|case| case.competitors.len() == 2 && case.competitors[0].program == 0));
        let groups: Vec<usize> = plan.cases.iter().map(|case| case.group).collect();
        assert_eq!(groups, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
        assert_eq!(plan.cases[3].name(), "pack lz4, 4K, no-fragments, 2 jobs");
        let summary = "128 runs: packline, mksquashfs; lz4, none; jobs 1, 2; 3 runs each after 1 to warm up";
        assert_eq!(plan.summary(3, 1), summary);
        assert!(plan.cases[3].competitors[1].line.quoted().contains("mksquashfs - /s/made-1.sqfs -tar"));
        assert_eq!(plan.notes().count(), 0);
    }

    #[test]
    fn names_programs_that_take_no_part_with_the_reason() {
        let plan = planned(
            &[ProgramKind::Packline, ProgramKind::Tar2sqfs, ProgramKind::Zstd],
            &settings("zstd,lz4,none", &[Tails::Fragments], &[1]),
        );
        let notes: Vec<String> = plan.notes().collect();
        assert_eq!(
            notes,
            [
                "zstd takes no part with lz4, none: of these codecs, it supports only zstd.",
                "tar2sqfs takes no part with none: it always compresses.",
            ]
        );
        // Streams are measured with the first block size only.
        let with_zstd: Vec<usize> = plan.cases.iter().map(|case| case.competitors.len()).collect();
        assert_eq!(with_zstd, [3, 2, 2, 2, 1, 1]);
        let stream = &plan.cases[0].competitors[2].case;
        assert_eq!((stream.block_size, stream.tails), (0, Tails::Unknown));
        assert!(plan.has(1) && plan.has(2));
    }

    #[test]
    fn program_without_threads_runs_only_with_one_job() {
        let plan =
            planned(&[ProgramKind::Packline, ProgramKind::Gzip], &settings("gzip", &[Tails::Fragments], &[1, 2]));
        let counts: Vec<usize> = plan.cases.iter().map(|case| case.competitors.len()).collect();
        assert_eq!(counts, [2, 1, 1, 1]);
        assert_eq!(plan.notes().next().unwrap(), "gzip takes no part with more than 1 job: it works on one thread.");
        let plan = planned(&[ProgramKind::Packline, ProgramKind::Gzip], &settings("gzip", &[Tails::Fragments], &[2]));
        assert!(!plan.has(1));
    }

    #[test]
    fn applies_levels_to_codecs_that_have_them() {
        let at = |codecs: &str, levels: &[i64]| {
            at_levels(specs(codecs), levels)
                .map(|(all, notes)| (all.iter().map(Spec::to_string).collect::<Vec<_>>().join(" "), notes.len()))
        };
        let expected = "zstd:level=1 zstd:level=19 gzip:level=1 xz:level=3 none lz4 lz4:hc,level=1".to_owned();
        assert_eq!(at("zstd,gzip,xz:level=3,none,lz4,lz4:hc", &[1, 19]), Ok((expected, 2)));
        assert!(at("gzip,none", &[1, 19]).is_err());
        assert_eq!(at("zstd", &[]), Ok(("zstd".to_owned(), 0)));
    }

    #[test]
    fn runs_are_interleaved() {
        let order: Vec<_> = run_order(2, 3).collect();
        assert_eq!(order, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    }
}
