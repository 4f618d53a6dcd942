//! The outcome of a benchmark: its report and its failures.

use crate::Error;
use crate::report::Report;
use crate::runs::runner::Runner;

#[derive(Debug)]
pub struct Outcome {
    pub report: Report,
    /// Wrong results and failed runs. The report has them too, each on one line.
    pub failures: Vec<String>,
    /// The error that ended the benchmark early.
    pub ended: Result<(), Error>,
}

/// The outcome of a benchmark without failures.
impl From<Report> for Outcome {
    fn from(report: Report) -> Outcome {
        Outcome { report, failures: Vec::new(), ended: Ok(()) }
    }
}

impl Outcome {
    /// Adds the results of a runner to a report. `planned` is the number of runs in the plan.
    pub(crate) fn of(mut report: Report, mut runner: Runner<'_>, ended: Result<(), Error>, planned: usize) -> Outcome {
        report.measured = runner.take_measured();
        report.notes.append(&mut runner.notes);
        let interrupted = runner.processes.interruption.is_requested();
        Outcome::partial(report, runner.failures, ended, interrupted, runner.done, planned)
    }

    /// Returns the outcome after `done` of the `planned` runs.
    pub(crate) fn partial(
        mut report: Report,
        failures: Vec<String>,
        ended: Result<(), Error>,
        interrupted: bool,
        done: usize,
        planned: usize,
    ) -> Outcome {
        report.failures.extend(failures.iter().map(|failure| on_one_line(failure)));
        report.incomplete = ended.as_ref().err().map(|error| match error {
            _ if interrupted => format!("interrupted after {done} of {planned} runs"),
            error => format!("{}, after {done} of {planned} runs", on_one_line(&error.to_string())),
        });
        Outcome { report, failures, ended }
    }

    /// Whether there are results for a report. After a failure without measurements, there are none.
    pub fn has_results(&self) -> bool {
        let complete = self.failures.is_empty() && self.ended.is_ok();
        complete || !self.report.measured.is_empty() || !self.report.codecs.is_empty()
    }
}

fn on_one_line(text: &str) -> String {
    text.replace('\n', " / ")
}
