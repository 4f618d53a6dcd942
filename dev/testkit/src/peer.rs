//! Measures programs: processor time, wall time and peak memory of one run, and medians over several.

use crate::tools;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// GNU time reports the peak memory but rounds times to hundredths; bash reports thousandths.
const MEASURE: &str = r#"
    peak=$1 times=$2 TIMEFORMAT='%3U %3S %3R'; shift 2
    { time command time --quiet --format %M --output "$peak" "$@" 2>&3; } 3>&2 2>"$times"
"#;

/// The cost of one run, as counted by the kernel for the program and the children it waited for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Processor time in user mode in seconds.
    pub user: f64,
    /// Processor time in the kernel in seconds.
    pub system: f64,
    /// Wall time in seconds.
    pub wall: f64,
    /// Largest resident set in bytes.
    pub peak: u64,
}

impl Cost {
    /// Total processor time in seconds.
    pub fn cpu(&self) -> f64 {
        self.user + self.system
    }
}

/// Standard input of a job.
#[derive(Debug, Clone)]
pub enum Input {
    Nothing,
    File(PathBuf),
    /// The output of another program (and its arguments), through a pipe. Its cost is not counted.
    Pipe(Vec<String>),
}

/// A program to measure.
#[derive(Debug, Clone)]
pub struct Job {
    /// Name in results.
    pub name: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
    pub input: Input,
    /// Additional environment variables.
    pub variables: Vec<(String, String)>,
}

impl Job {
    /// A job without standard input.
    pub fn new(name: impl Into<String>, argv: &[&str]) -> Job {
        let argv = argv.iter().map(ToString::to_string).collect();
        Job { name: name.into(), argv, input: Input::Nothing, variables: Vec::new() }
    }

    /// Reads a file from standard input.
    pub fn reading(mut self, path: &Path) -> Job {
        self.input = Input::File(path.to_path_buf());
        self
    }

    /// Reads the output of another program.
    pub fn fed_by(mut self, argv: &[&str]) -> Job {
        self.input = Input::Pipe(argv.iter().map(ToString::to_string).collect());
        self
    }

    /// Runs the job once. Returns an error if the job cannot be started or fails.
    pub fn measure(&self) -> Result<Cost, String> {
        let place = tempfile::tempdir().map_err(|cause| cause.to_string())?;
        let peak = place.path().join("peak");
        let times = place.path().join("times");
        let mut command = Command::new("bash");
        command.args(["-c", MEASURE, "measure"]).args([&peak, &times]).args(&self.argv);
        command.envs(self.variables.iter().cloned());
        let producer = self.feed(&mut command)?;
        let outcome = tools::run(&mut command);
        // Closes the reading end before it waits for the producer, which may have more to write.
        drop(command);
        if let Some(mut producer) = producer {
            producer.wait().map_err(|cause| cause.to_string())?;
        }
        outcome?;
        let read = |path| std::fs::read_to_string(path).map_err(|cause| cause.to_string());
        parse(&[read(&times)?, read(&peak)?].join(" "))
    }

    fn feed(&self, command: &mut Command) -> Result<Option<Child>, String> {
        match &self.input {
            Input::Nothing => command.stdin(Stdio::null()),
            Input::File(path) => {
                command.stdin(File::open(path).map_err(|cause| format!("{}: {cause}", path.display()))?)
            }
            Input::Pipe(argv) => {
                let mut producer = Command::new(&argv[0]);
                producer.args(&argv[1..]).stdin(Stdio::null()).stdout(Stdio::piped());
                let mut child = producer.spawn().map_err(|cause| format!("{argv:?}: {cause}"))?;
                command.stdin(child.stdout.take().map_or_else(Stdio::null, Stdio::from));
                return Ok(Some(child));
            }
        };
        Ok(None)
    }
}

fn parse(report: &str) -> Result<Cost, String> {
    let numbers: Vec<f64> = report.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [user, system, wall, kibibytes] => Ok(Cost { user, system, wall, peak: kibibytes as u64 * 1024 }),
        _ => Err(format!("the times are {report:?} (expected four numbers)")),
    }
}

/// Runs all jobs `runs` times in turn (first, second, ..., first, second, ...), so that changes of the machine's speed affect all of them.
/// `before` is called before each run, to remove earlier output. Returns the costs of each job, in the order of the jobs.
pub fn interleave(jobs: &[Job], runs: usize, before: &mut dyn FnMut(&Job)) -> Result<Vec<Vec<Cost>>, String> {
    let mut costs = vec![Vec::with_capacity(runs); jobs.len()];
    for _ in 0..runs {
        for (job, row) in jobs.iter().zip(&mut costs) {
            before(job);
            row.push(job.measure()?);
        }
    }
    Ok(costs)
}

/// The median of a number over runs; of an even count the lower of the two in the middle. 0 without runs.
pub fn median(costs: &[Cost], number: impl Fn(&Cost) -> f64) -> f64 {
    let mut numbers: Vec<f64> = costs.iter().map(number).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_of_a_known_job() {
        if !tools::need(&["time", "bash"]) {
            return;
        }
        let cost =
            Job::new("loop", &["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]).measure().unwrap();
        assert!(cost.cpu() > 0.0 && cost.peak > 100_000, "{cost:?}");
        assert!(Job::new("fails", &["false"]).measure().is_err());
    }

    #[test]
    fn job_reads_what_another_writes() {
        if !tools::need(&["time", "bash"]) {
            return;
        }
        let count =
            |argv: &[&str]| Job::new("count", &["sh", "-c", "test $(wc -c) = 5"]).fed_by(argv).measure().is_ok();
        assert!(count(&["printf", "12345"]));
        assert!(!count(&["printf", "123456"]));
    }

    #[test]
    fn median_is_the_middle() {
        let cost = |wall| Cost { user: 0.0, system: 0.0, wall, peak: 0 };
        assert_eq!(median(&[cost(5.0), cost(1.0), cost(3.0)], |cost| cost.wall), 3.0);
        assert_eq!(median(&[cost(5.0), cost(1.0)], |cost| cost.wall), 1.0);
        assert_eq!(median(&[], |cost| cost.wall), 0.0);
    }
}
