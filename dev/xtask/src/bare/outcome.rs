//! Counts the tests in the output of a command.

use std::collections::BTreeMap;
use std::fmt;

/// How a command ended, and what its tests did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The command, if it failed.
    failed: Option<String>,
    passed: u64,
    /// Test programs that ran.
    programs: u64,
    failed_tests: Vec<String>,
    /// The requirements of skipped tests, with the number of the tests.
    skipped: BTreeMap<String, u64>,
}

/// A command that has ended.
pub struct Ended {
    pub succeeded: bool,
    /// Standard output and standard error.
    pub output: String,
}

impl Outcome {
    pub fn of(command: &str, ended: &Ended) -> Outcome {
        let mut outcome = Outcome { failed: (!ended.succeeded).then(|| command.to_string()), ..Outcome::default() };
        ended.output.lines().for_each(|line| outcome.take(line));
        outcome
    }

    /// Counts a line. Other tests print at the same time, so a test's name is not always at the start of its line.
    fn take(&mut self, line: &str) {
        if let Some((_, reason)) = line.rsplit_once(": skipped: ") {
            *self.skipped.entry(reason.trim().to_string()).or_default() += 1;
        } else if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.failed_tests.push(name.to_string());
        } else if let Some((_, counts)) = line.split_once("test result: ") {
            self.programs += 1;
            let passed = counts.split_whitespace().zip(counts.split_whitespace().skip(1));
            self.passed +=
                passed.filter(|(_, word)| *word == "passed;").filter_map(|(n, _)| n.parse::<u64>().ok()).sum::<u64>();
        }
    }

    /// Failed tests; the command itself, if it failed for another reason.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        let command = self.failed.iter().filter(|_| self.failed_tests.is_empty());
        let command = command.map(|command| format!("{command} failed"));
        command.chain(self.failed_tests.iter().map(|name| format!("test {name} failed")))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}", if self.failed.is_some() { "failed" } else { "succeeded" })?;
        if self.programs > 0 {
            let failed = self.failed_tests.len();
            write!(to, "; {} test programs, {} tests passed, {failed} failed", self.programs, self.passed)?;
        }
        for (reason, count) in &self.skipped {
            write!(to, "\n  {count} skipped: {reason}")?;
        }
        for name in &self.failed_tests {
            write!(to, "\n  failed: {name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
running 3 tests
a::b: skipped: needs xz (Debian package xz-utils)
test a::b ... ok
test a::c ... c: skipped: needs xz (Debian package xz-utils)
ok
test d ... FAILED
test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: ok. 40 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn failed_and_skipped_tests_are_named() {
        let ended = Ended { succeeded: false, output: OUTPUT.to_string() };
        let outcome = Outcome::of("cargo test", &ended);
        assert_eq!(outcome.failures().collect::<Vec<_>>(), ["test d failed"]);
        let shown = outcome.to_string();
        assert!(shown.starts_with("failed; 2 test programs, 42 tests passed, 1 failed\n"), "{shown}");
        assert!(shown.contains("  2 skipped: needs xz (Debian package xz-utils)\n"), "{shown}");
    }

    #[test]
    fn command_that_fails_without_tests_is_named() {
        let ended = Ended { succeeded: false, output: "error: could not compile\n".to_string() };
        assert_eq!(Outcome::of("cargo build", &ended).failures().collect::<Vec<_>>(), ["cargo build failed"]);
    }
}
