//! How a benchmark ended: its report, and the failures that make the exit status 1.

use packline::bench::Report;

use super::contest::Arena;
use super::interruption::Interruption;
use super::outputs::Outputs;
use crate::failure::Failure;
use crate::io::Io;

/// A report, and what went wrong.
pub struct Outcome {
    report: Report,
    /// Wrong answers and failed runs, as printed at the end.
    failures: Vec<String>,
    /// Why not all of the plan was measured.
    ended: Result<(), Failure>,
}

/// A benchmark that went through.
impl From<Report> for Outcome {
    fn from(report: Report) -> Outcome {
        Outcome { report, failures: Vec::new(), ended: Ok(()) }
    }
}

impl Outcome {
    /// Of contests; `planned`: how many runs there should have been.
    pub fn of(report: Report, arena: Arena<'_>, ended: Result<(), Failure>, planned: usize) -> Outcome {
        let Arena { mut found, interruption, .. } = arena;
        let mut report = Report { measured: found.take_measured(), ..report };
        report.notes.append(&mut found.notes);
        Outcome::partial(report, found.failures, ended, interruption.is_asked(), (found.done, planned))
    }

    /// Of so many runs of those planned.
    pub fn partial(
        mut report: Report,
        failures: Vec<String>,
        ended: Result<(), Failure>,
        interrupted: bool,
        (done, planned): (usize, usize),
    ) -> Outcome {
        report.failures.extend(failures.iter().map(|failure| in_a_line(failure)));
        report.incomplete = ended.as_ref().err().map(|failure| match failure {
            _ if interrupted => format!("interrupted after {done} of {planned} runs"),
            Failure::Failed(what) => format!("{}, after {done} of {planned} runs", in_a_line(what)),
            _ => format!("ended at a failure, after {done} of {planned} runs"),
        });
        Outcome { report, failures, ended }
    }

    /// With a further note.
    pub fn with_notes(mut self, notes: impl FnOnce(&Report) -> Option<String>) -> Outcome {
        let note = notes(&self.report);
        self.report.notes.extend(note);
        self
    }

    /// Writes the report. After a failure without any figures there is none.
    ///
    /// # Errors
    /// What went wrong.
    pub fn finish(self, outputs: &Outputs, interruption: &Interruption, io: &mut Io) -> Result<(), Failure> {
        if interruption.is_asked() {
            io.say("interrupted: reporting what was measured");
        }
        let well = self.failures.is_empty() && self.ended.is_ok();
        let measured = !self.report.measured.is_empty() || !self.report.codecs.is_empty();
        let written = if well || measured { outputs.write(&self.report, io) } else { Ok(()) };
        if let (true, Err(Failure::Failed(what))) = (interruption.is_asked(), &written) {
            io.say(what);
        }
        interruption.settle();
        joined(self.failures, [self.ended, written])
    }
}

/// All that went wrong as one failure.
fn joined(mut failures: Vec<String>, ends: [Result<(), Failure>; 2]) -> Result<(), Failure> {
    for end in ends {
        match end {
            Ok(()) => {}
            Err(Failure::Failed(what)) => failures.push(what),
            Err(other) if failures.is_empty() => return Err(other),
            Err(_) => {}
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(Failure::Failed(failures.join("\n"))) }
}

fn in_a_line(text: &str) -> String {
    text.replace('\n', " / ")
}
