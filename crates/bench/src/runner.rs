//! Runs contests and gathers what they cost.

use std::path::PathBuf;

use packline::bench::{Case, Cost, Measured};

use super::child::{Ended, Runner};
use super::interruption::Interruption;
use super::line::Line;
use super::lists::put;
use super::plan::{Contest, Entrant, is_ours, rounds};
use super::program::Program;
use super::progress::Doing;
use super::scratch::{Scratch, clear};
use crate::failure::Failure;
use crate::shown::Escape;

/// What all contests of a benchmark share.
pub struct Arena<'a> {
    pub programs: Vec<Program>,
    pub runner: Runner,
    pub interruption: Interruption,
    pub scratch: Scratch,
    pub doing: Doing<'a>,
    pub warmups: usize,
    pub runs: usize,
    /// Whether a wrong answer is left where it is, and ends the benchmark.
    pub keep: bool,
    pub found: Found,
}

/// What contests have come to so far.
#[derive(Default)]
pub struct Found {
    /// With the group and the program of each.
    measured: Vec<(usize, usize, Measured)>,
    /// Wrong answers, and runs of ours that failed.
    pub failures: Vec<String>,
    /// What went wrong without being a failure.
    pub notes: Vec<String>,
    /// Runs that went well.
    pub done: usize,
}

impl Found {
    /// The measured cases in the order of the plan, and within a group program by program.
    pub fn take_measured(&mut self) -> Vec<Measured> {
        let mut all = std::mem::take(&mut self.measured);
        all.sort_by_key(|(group, program, measured)| (*group, *program, measured.case.jobs));
        all.into_iter().map(|(_, _, measured)| measured).collect()
    }

    /// Notes something once, however many contests it is true of.
    pub fn note(&mut self, what: String) {
        put(&mut self.notes, what);
    }
}

/// What is to be known of a run that has ended.
pub struct Run<'c> {
    pub entrant: &'c Entrant,
    pub group: usize,
    /// From 0, warm-ups counted.
    pub round: usize,
}

impl Run<'_> {
    /// For messages.
    pub fn shown(&self) -> String {
        let Case { program, codec, jobs, .. } = &self.entrant.case;
        format!("{program} ({codec}, jobs {jobs}, run {})", self.round + 1)
    }
}

/// What a benchmark does around the runs.
pub trait Referee {
    /// Before the first run of a contest.
    fn open(&mut self, arena: &mut Arena<'_>, contest: &Contest) -> Result<(), Failure>;
    /// After each run: judges what was made, and tells bytes of content and of the image.
    fn judge(&mut self, arena: &mut Arena<'_>, run: &Run<'_>) -> Result<(u64, u64), Failure>;
}

/// Nothing measured yet.
fn blank(entrant: &Entrant) -> Measured {
    Measured { case: entrant.case.clone(), content_bytes: 0, image_bytes: 0, runs: Vec::new() }
}

/// Why a run does not count.
enum Refusal {
    /// The program failed.
    Failed(Failure),
    /// What it made is wrong, or could not be compared.
    Wrong(Failure),
}

impl Arena<'_> {
    /// Runs all contests. A wrong answer or a failure takes its program out of that contest, and all programs if it is ours; the
    /// other contests go on. What was measured is in `found`, also after an error.
    ///
    /// # Errors
    /// The benchmark cannot go on: it was interrupted, or the place of the outputs fails.
    pub fn hold(&mut self, contests: &[Contest], referee: &mut dyn Referee) -> Result<(), Failure> {
        for contest in contests {
            referee.open(self, contest)?;
            let mut all: Vec<Option<Measured>> = contest.entrants.iter().map(|entrant| Some(blank(entrant))).collect();
            let ended = self.hold_rounds(contest, referee, &mut all);
            self.doing.end_contest(&contest.name(), all.iter().flatten());
            self.gather(contest, all);
            ended?;
            // What has been judged is in nobody's way.
            contest.entrants.iter().filter_map(|entrant| entrant.made.as_deref()).try_for_each(clear)?;
        }
        Ok(())
    }

    /// Keeps what counts of a contest.
    fn gather(&mut self, contest: &Contest, all: Vec<Option<Measured>>) {
        let programs = contest.entrants.iter().map(|entrant| entrant.program);
        let counted = programs.zip(all).filter_map(|(program, measured)| Some((contest.group, program, measured?)));
        self.found.measured.extend(counted.filter(|(_, _, measured)| !measured.runs.is_empty()));
    }

    fn hold_rounds(
        &mut self,
        contest: &Contest,
        referee: &mut dyn Referee,
        all: &mut [Option<Measured>],
    ) -> Result<(), Failure> {
        let name = contest.name();
        for (round, index) in rounds(self.warmups + self.runs, contest.entrants.len()) {
            let entrant = &contest.entrants[index];
            self.doing.begin(&format!("{name}: {}", entrant.case.program));
            if let Some(measured) = &mut all[index] {
                let run = Run { entrant, group: contest.group, round };
                match self.run_judged(&run, referee) {
                    Ok((cost, sizes)) => {
                        (measured.content_bytes, measured.image_bytes) = sizes;
                        self.count(&mut measured.runs, round, cost);
                        self.found.done += 1;
                    }
                    Err(refusal) => {
                        let ours = is_ours(&self.programs[entrant.program]);
                        self.refuse(&run, refusal)?;
                        // Without ours there is nothing to compare with.
                        if ours { all.fill(None) } else { all[index] = None }
                    }
                }
            }
            self.doing.step();
        }
        Ok(())
    }

    fn run_judged(&mut self, run: &Run<'_>, referee: &mut dyn Referee) -> Result<(Cost, (u64, u64)), Refusal> {
        let cost = self.run_clean(run.entrant).map_err(Refusal::Failed)?;
        Ok((cost, referee.judge(self, run).map_err(Refusal::Wrong)?))
    }

    fn count(&mut self, runs: &mut Vec<Cost>, round: usize, cost: Cost) {
        if round >= self.warmups {
            runs.push(cost);
            self.interruption.note_measured();
        }
    }

    /// Records why a program is out of a contest: a peer that fails at an input is no failure of the benchmark.
    fn refuse(&mut self, run: &Run<'_>, refusal: Refusal) -> Result<(), Failure> {
        let entrant = run.entrant;
        let (failure, wrong) = match refusal {
            Refusal::Failed(failure) => (failure, is_ours(&self.programs[entrant.program])),
            Refusal::Wrong(failure) => (failure, true),
        };
        match failure {
            Failure::Failed(what) if !self.interruption.is_asked() => match wrong {
                true if what.starts_with(&run.shown()) => self.fail(what),
                true => self.fail(format!("{}: {what}", run.shown())),
                false => {
                    let note = format!("{} failed: {}", entrant.case.program, what.replace('\n', " / "));
                    self.doing.say(&note);
                    self.found.note(note);
                    Ok(())
                }
            },
            failure => Err(failure),
        }
    }

    /// A failure ends the benchmark only if what was made is to be left: the next run would take its place.
    fn fail(&mut self, what: String) -> Result<(), Failure> {
        self.doing.say(what.lines().next().unwrap_or_default());
        self.found.failures.push(what);
        if self.keep { Err(Failure::Said(1)) } else { Ok(()) }
    }

    /// Runs it with nothing of an earlier run in its way.
    fn run_clean(&mut self, entrant: &Entrant) -> Result<Cost, Failure> {
        if let Some(made) = &entrant.made {
            clear(made)?;
        }
        self.runner.run(&entrant.line).map(|Ended { cost, .. }| cost)
    }

    /// Runs something that is not measured.
    ///
    /// # Errors
    /// It fails.
    pub fn help(&mut self, line: &Line) -> Result<Ended, Failure> {
        self.doing.say_checking();
        self.runner.run(line)
    }

    /// A line of this program.
    pub fn ours(&self) -> Line {
        Line::new(self.programs.first().map_or(PathBuf::from("packline"), |program| program.path.clone()))
    }

    /// The failure of a program that gave a wrong answer.
    pub fn wrong(&self, what: String) -> Failure {
        match self.keep {
            true => Failure::Failed(format!("{what}\nwhat was made is in {}", self.scratch.keep().escaped())),
            false => Failure::Failed(format!("{what}\n(--keep leaves what was made)")),
        }
    }
}
