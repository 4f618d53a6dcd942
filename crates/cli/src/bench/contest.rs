//! Runs contests and gathers what they cost.

use std::path::PathBuf;

use packline::bench::{Case, Cost, Measured};

use super::child::{Ended, Runner};
use super::line::Line;
use super::plan::{Contest, Entrant, is_ours, rounds};
use super::program::Program;
use super::progress::Doing;
use super::scratch::{Scratch, clear};
use crate::failure::Failure;

/// What all contests of a benchmark share.
pub struct Arena<'a> {
    pub programs: Vec<Program>,
    pub runner: Runner,
    pub scratch: Scratch,
    pub doing: Doing<'a>,
    pub warmups: usize,
    pub runs: usize,
    /// Whether a wrong answer is left where it is.
    pub keep: bool,
    /// What went wrong without ending the benchmark.
    pub notes: Vec<String>,
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

impl Arena<'_> {
    /// Runs all contests. The measured cases come in the order of the plan, and within a group program by program.
    ///
    /// # Errors
    /// A program fails, or gives a wrong answer.
    pub fn hold(&mut self, contests: &[Contest], referee: &mut dyn Referee) -> Result<Vec<Measured>, Failure> {
        let mut measured = Vec::new();
        for group in contests.chunk_by(|one, other| one.group == other.group) {
            let mut of_group = Vec::new();
            for contest in group {
                referee.open(self, contest)?;
                of_group.extend(self.hold_one(contest, referee)?);
            }
            of_group.sort_by_key(|(program, measured)| (*program, measured.case.jobs));
            measured.extend(of_group.into_iter().map(|(_, measured)| measured));
        }
        Ok(measured)
    }

    fn hold_one(&mut self, contest: &Contest, referee: &mut dyn Referee) -> Result<Vec<(usize, Measured)>, Failure> {
        let name = contest.name();
        let mut all: Vec<Option<Measured>> = contest.entrants.iter().map(|entrant| Some(blank(entrant))).collect();
        for (round, index) in rounds(self.warmups + self.runs, contest.entrants.len()) {
            let entrant = &contest.entrants[index];
            self.doing.begin(&format!("{name}: {}", entrant.case.program));
            if let Some(measured) = &mut all[index] {
                match self.run_clean(entrant) {
                    Ok(cost) => {
                        let run = Run { entrant, group: contest.group, round };
                        (measured.content_bytes, measured.image_bytes) = referee.judge(self, &run)?;
                        measured.runs.extend((round >= self.warmups).then_some(cost));
                    }
                    Err(failure) => {
                        self.forgive(entrant, failure)?;
                        all[index] = None;
                    }
                }
            }
            self.doing.step();
        }
        // What has been judged is in nobody's way.
        contest.entrants.iter().filter_map(|entrant| entrant.made.as_deref()).try_for_each(clear)?;
        self.doing.end_contest(&name, all.iter().flatten());
        let programs = contest.entrants.iter().map(|entrant| entrant.program);
        Ok(programs.zip(all).filter_map(|(program, measured)| Some((program, measured?))).collect())
    }

    /// A peer that fails at an input is out of the contest; only a wrong answer of it ends the benchmark.
    fn forgive(&mut self, entrant: &Entrant, failure: Failure) -> Result<(), Failure> {
        match failure {
            Failure::Failed(what) if !is_ours(&self.programs[entrant.program]) => {
                let note = format!("{} failed: {}", entrant.case.program, what.replace('\n', " / "));
                self.doing.say(&note);
                self.notes.push(note);
                Ok(())
            }
            failure => Err(failure),
        }
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
            true => Failure::Failed(format!("{what}\nwhat was made is in {}", self.scratch.keep().display())),
            false => Failure::Failed(format!("{what}\n(--keep leaves what was made)")),
        }
    }
}
