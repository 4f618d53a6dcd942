//! Runs the cases of a plan, and collects their cost.

use packline_runtime::escape::Escape;

use crate::programs::command_line::CommandLine;
use crate::programs::program::Program;
use crate::report::{Case, Cost, Measured};
use crate::runs::plan::{BenchCase, Competitor, Plan, run_order};
use crate::runs::process::{Ended, ProcessRunner};
use crate::runs::work_dir::{WorkDir, remove};
use crate::settings::Comparison;
use crate::{Error, Progress, Session};

/// The state that all cases of a benchmark share.
pub struct Runner<'a> {
    pub programs: Vec<Program>,
    pub processes: ProcessRunner,
    pub work_dir: WorkDir,
    pub progress: &'a mut dyn Progress,
    warmups: usize,
    runs: usize,
    /// Whether a wrong result is kept and ends the benchmark.
    keep: bool,
    /// The measured cases, with their group and program.
    measured: Vec<(usize, usize, Measured)>,
    /// Wrong results, and failed runs of packline.
    pub failures: Vec<String>,
    pub notes: Vec<String>,
    /// The number of successful runs.
    pub done: usize,
}

pub struct Run<'c> {
    pub competitor: &'c Competitor,
    pub group: usize,
    /// The number of the round, from 0. Warm-ups count.
    pub round: usize,
}

impl Run<'_> {
    /// The name in messages.
    pub fn name(&self) -> String {
        let Case { program, codec, jobs, .. } = &self.competitor.case;
        format!("{program} ({codec}, jobs {jobs}, run {})", self.round + 1)
    }
}

/// Prepares cases and checks the output of runs.
pub trait Verifier {
    /// Called before the first run of a case.
    fn prepare(&mut self, runner: &mut Runner<'_>);
    /// Checks the output of a run. Returns the bytes of content and of the image.
    fn check(&mut self, runner: &mut Runner<'_>, run: &Run<'_>) -> Result<(u64, u64), Error>;
}

/// Why a run does not count.
enum Rejection {
    Failed(Error),
    /// The output is wrong, or could not be compared.
    Wrong(Error),
}

impl<'a> Runner<'a> {
    pub fn new(
        programs: Vec<Program>,
        work_dir: WorkDir,
        settings: &Comparison,
        session: &'a mut Session<'_>,
    ) -> Runner<'a> {
        Runner {
            programs,
            processes: processes(session, &work_dir),
            work_dir,
            progress: session.progress,
            warmups: settings.runs.warmups,
            runs: settings.runs.runs,
            keep: settings.keep,
            measured: Vec::new(),
            failures: Vec::new(),
            notes: Vec::new(),
            done: 0,
        }
    }

    /// Runs all cases. After a wrong result or a failure, the program takes no further part in the case; if the program is packline, no
    /// program does. The other cases continue. Results are kept after an error.
    ///
    /// # Errors
    /// Returns an error if the benchmark cannot continue: it was interrupted, or the directory of the outputs fails.
    pub fn run(&mut self, plan: &Plan, verifier: &mut dyn Verifier) -> Result<(), Error> {
        for case in &plan.cases {
            verifier.prepare(self);
            let mut all: Vec<Option<Measured>> = case.competitors.iter().map(|one| Some(unmeasured(one))).collect();
            let ended = self.run_rounds(case, verifier, &mut all);
            self.show_medians(&case.name(), all.iter().flatten());
            self.collect(case, all);
            ended?;
            case.competitors.iter().filter_map(|competitor| competitor.output.as_deref()).try_for_each(remove)?;
        }
        Ok(())
    }

    fn show_medians<'m>(&mut self, name: &str, all: impl Iterator<Item = &'m Measured>) {
        let one = |measured: &Measured| format!("{} {:.3} s", measured.case.program, measured.wall().median);
        let medians: Vec<String> = all.map(one).collect();
        self.progress.message(&format!("{name}: {}", medians.join(", ")));
    }

    fn collect(&mut self, case: &BenchCase, all: Vec<Option<Measured>>) {
        let programs = case.competitors.iter().map(|competitor| competitor.program);
        let counted = programs.zip(all).filter_map(|(program, measured)| Some((case.group, program, measured?)));
        self.measured.extend(counted.filter(|(_, _, measured)| !measured.runs.is_empty()));
    }

    /// Returns the results in the order of the plan, and within a group program by program.
    pub fn take_measured(&mut self) -> Vec<Measured> {
        let mut all = std::mem::take(&mut self.measured);
        all.sort_by_key(|(group, program, measured)| (*group, *program, measured.case.jobs));
        all.into_iter().map(|(_, _, measured)| measured).collect()
    }

    fn run_rounds(
        &mut self,
        case: &BenchCase,
        verifier: &mut dyn Verifier,
        all: &mut [Option<Measured>],
    ) -> Result<(), Error> {
        let name = case.name();
        for (round, index) in run_order(self.warmups + self.runs, case.competitors.len()) {
            let competitor = &case.competitors[index];
            self.progress.begin(&format!("{name}: {}", competitor.case.program));
            if let Some(measured) = &mut all[index] {
                let run = Run { competitor, group: case.group, round };
                match self.run_checked(&run, verifier) {
                    Ok((cost, sizes)) => {
                        (measured.content_bytes, measured.image_bytes) = sizes;
                        self.count(&mut measured.runs, round, cost);
                    }
                    Err(rejection) => {
                        self.reject(&run, rejection)?;
                        // Without packline, there is nothing to compare with.
                        if self.is_packline(&run) { all.fill(None) } else { all[index] = None }
                    }
                }
            }
            self.progress.step();
        }
        Ok(())
    }

    fn run_checked(&mut self, run: &Run<'_>, verifier: &mut dyn Verifier) -> Result<(Cost, (u64, u64)), Rejection> {
        let cost = self.run_measured(run.competitor).map_err(Rejection::Failed)?;
        Ok((cost, verifier.check(self, run).map_err(Rejection::Wrong)?))
    }

    fn count(&mut self, runs: &mut Vec<Cost>, round: usize, cost: Cost) {
        self.done += 1;
        if round >= self.warmups {
            runs.push(cost);
            self.processes.interruption.set_measured();
        }
    }

    /// Whether a run is a run of the measured packline, not of a competitor.
    pub fn is_packline(&self, run: &Run<'_>) -> bool {
        self.programs[run.competitor.program].is_packline()
    }

    /// Records why a program takes no further part in a case. The failure of a competitor is only a note, because it may not support the
    /// input.
    fn reject(&mut self, run: &Run<'_>, rejection: Rejection) -> Result<(), Error> {
        let (error, is_failure) = match rejection {
            Rejection::Failed(error) => (error, self.is_packline(run)),
            Rejection::Wrong(error) => (error, true),
        };
        let Error::Failed(message) = error else { return Err(error) };
        if self.processes.interruption.is_requested() {
            return Err(Error::Failed(message));
        }
        if is_failure {
            let named = message.starts_with(&run.name());
            return self.fail(if named { message } else { format!("{}: {message}", run.name()) });
        }
        let note = format!("{} failed: {}", run.competitor.case.program, message.replace('\n', " / "));
        self.progress.message(&note);
        self.note(note);
        Ok(())
    }

    /// Ends the benchmark after a failure if the output is to be kept, because the next run would replace the output.
    fn fail(&mut self, message: String) -> Result<(), Error> {
        self.progress.message(message.lines().next().unwrap_or_default());
        self.failures.push(message);
        if self.keep { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Adds a note, unless it already exists.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Removes a competitor's earlier output, and runs the competitor.
    fn run_measured(&mut self, competitor: &Competitor) -> Result<Cost, Error> {
        if let Some(output) = &competitor.output {
            remove(output)?;
        }
        self.processes.run(&competitor.line).map(|Ended { cost, .. }| cost)
    }

    /// Runs a program that is not measured, to check an output.
    ///
    /// # Errors
    /// Returns an error if the program fails.
    pub fn run_check(&mut self, line: &CommandLine) -> Result<Ended, Error> {
        self.progress.checking();
        self.processes.run(line)
    }

    pub fn packline(&self) -> CommandLine {
        CommandLine::new(self.programs.first().map_or("packline".as_ref(), |program| program.path.as_path()))
    }

    pub fn wrong(&self, message: String) -> Error {
        if self.keep {
            Error::Failed(format!("{message}\nthe output is in {}", self.work_dir.keep().escaped()))
        } else {
            Error::Failed(format!("{message}\n(the output is deleted unless it is to be kept)"))
        }
    }
}

pub fn processes(session: &Session<'_>, work_dir: &WorkDir) -> ProcessRunner {
    let interruption = session.interruption.clone();
    let clock = session.machine.clock;
    ProcessRunner { interruption, clock, log: work_dir.at("log") }
}

fn unmeasured(competitor: &Competitor) -> Measured {
    Measured { case: competitor.case.clone(), content_bytes: 0, image_bytes: 0, runs: Vec::new() }
}
