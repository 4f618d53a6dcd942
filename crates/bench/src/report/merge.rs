//! Merges reports of parts of one benchmark.

use super::{Case, Measured, Report};

/// The error for reports that cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} differs: {found:?} (expected {expected:?}, as in the first report)")]
pub struct MergeError {
    pub what: String,
    pub found: String,
    pub expected: String,
}

impl Report {
    /// Adds the results of another report on the same input and machine. A configuration in both reports gets the runs of both.
    ///
    /// # Errors
    /// [`MergeError`] if the input, the machine, a program's version or an image's size differs. `self` may then hold a part of the other
    /// report.
    pub fn merge(&mut self, other: Report) -> Result<(), MergeError> {
        same("the input", &other.input.name, &self.input.name)?;
        same("the input's size", &other.input.bytes.to_string(), &self.input.bytes.to_string())?;
        same("the machine", &other.machine, &self.machine)?;
        same("the number of runs before those that count", &other.warmups.to_string(), &self.warmups.to_string())?;
        for program in other.programs {
            match self.programs.iter().find(|known| known.name == program.name) {
                Some(known) => same(&format!("the version of {}", known.name), &program.version, &known.version)?,
                None => self.programs.push(program),
            }
        }
        self.command = format!("{}\n{}", self.command, other.command);
        self.date = other.date.max(std::mem::take(&mut self.date));
        other.measured.into_iter().try_for_each(|measured| self.add(measured))?;
        self.codecs.extend(other.codecs);
        self.serial.extend(other.serial);
        self.storage = self.storage.take().or(other.storage);
        self.incomplete = self.incomplete.take().or(other.incomplete);
        add_new(&mut self.failures, other.failures);
        add_new(&mut self.notes, other.notes);
        self.arrange();
        Ok(())
    }

    fn add(&mut self, measured: Measured) -> Result<(), MergeError> {
        let Some(known) = self.measured.iter_mut().find(|known| known.case == measured.case) else {
            self.measured.push(measured);
            return Ok(());
        };
        let Case { codec, program, .. } = &known.case;
        let what = format!("size of the output of {program} with {codec}");
        same(&what, &measured.image_bytes.to_string(), &known.image_bytes.to_string())?;
        known.runs.extend(measured.runs);
        Ok(())
    }

    /// Sorts the configurations as [`Report::measured`] promises. Codecs stay in the order of their first occurrence.
    fn arrange(&mut self) {
        let mut codecs: Vec<String> = Vec::new();
        for measured in &self.measured {
            if !codecs.contains(&measured.case.codec) {
                codecs.push(measured.case.codec.clone());
            }
        }
        let place = |names: &[String], name: &str| names.iter().position(|known| known == name);
        let programs: Vec<String> = self.programs.iter().map(|program| program.name.clone()).collect();
        self.measured.sort_by_key(|Measured { case, .. }| {
            let contest = (case.task, place(&codecs, &case.codec), case.block_size, case.tails);
            (contest, place(&programs, &case.program), case.jobs)
        });
    }
}

fn add_new(known: &mut Vec<String>, further: Vec<String>) {
    let news: Vec<String> = further.into_iter().filter(|one| !known.contains(one)).collect();
    known.extend(news);
}

fn same(what: &str, found: &str, expected: &str) -> Result<(), MergeError> {
    let differ = || MergeError { what: what.to_owned(), found: found.to_owned(), expected: expected.to_owned() };
    if found == expected { Ok(()) } else { Err(differ()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::fixture::realistic;

    /// Returns the report with some of its configurations.
    fn part(report: &Report, takes: impl Fn(&Case) -> bool) -> Report {
        let measured = report.measured.iter().filter(|measured| takes(&measured.case)).cloned().collect();
        Report { measured, ..report.clone() }
    }

    #[test]
    fn merges_parts_to_the_complete_report() {
        let whole = realistic(&[1, 2]);
        let mut parts = part(&whole, |case| case.jobs == 2);
        let rest = part(&whole, |case| case.jobs == 1);
        parts.merge(Report { codecs: Vec::new(), ..rest }).unwrap();
        let mut arranged = whole.clone();
        arranged.arrange();
        assert_eq!((parts.measured, parts.codecs), (arranged.measured, whole.codecs));
        assert_eq!((parts.programs, parts.notes), (whole.programs, whole.notes));
    }

    #[test]
    fn report_with_an_incomplete_part_is_incomplete() {
        let mut whole = realistic(&[1]);
        let part = Report { incomplete: Some("interrupted".into()), failures: vec!["wrong".into()], ..realistic(&[1]) };
        whole.merge(part).unwrap();
        assert_eq!((whole.incomplete.as_deref(), whole.failures), (Some("interrupted"), vec!["wrong".to_string()]));
    }

    #[test]
    fn joins_the_runs_of_the_same_configuration() {
        let one = realistic(&[1]);
        let mut both = one.clone();
        both.merge(one.clone()).unwrap();
        let counts = |report: &Report| report.measured.iter().map(|measured| measured.runs.len()).collect::<Vec<_>>();
        assert_eq!(counts(&both), counts(&one).iter().map(|count| count * 2).collect::<Vec<_>>());
    }

    #[test]
    fn rejects_reports_that_cannot_be_compared() {
        let one = realistic(&[1]);
        let refused = |change: fn(&mut Report)| {
            let mut other = one.clone();
            change(&mut other);
            one.clone().merge(other).unwrap_err().to_string()
        };
        assert!(refused(|other| other.input.bytes += 1).contains("input's size"));
        assert!(refused(|other| other.machine.push('x')).contains("machine"));
        assert!(refused(|other| other.programs[0].version.push('x')).contains("version of packline"));
        assert!(refused(|other| other.measured[0].image_bytes += 1).contains("output of packline"));
    }
}
