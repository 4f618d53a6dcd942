//! Measures commands that do the same work, in turn.

use super::tasks::{Measured, TASKS, Task};
use crate::shell;
use packline_testkit::peer::{Cost, Job, median};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory in which the commands run. `bin/packline` is the program, and `PATH` begins with `bin`.
pub struct Bench<'a> {
    pub directory: &'a Path,
    pub runs: usize,
}

/// The medians of a command.
struct Figures {
    cpu: f64,
    wall: f64,
    peak: f64,
    bytes: u64,
}

impl Bench<'_> {
    /// Returns a table of all tasks, in Markdown.
    pub fn table(&self) -> Result<String, String> {
        let mut text = HEAD.to_owned();
        for task in &TASKS {
            let figures = self.task(task)?;
            text.push_str(&rows(task, &figures));
        }
        Ok(text)
    }

    fn task(&self, task: &Task) -> Result<Vec<Figures>, String> {
        shell::print_error(task.title);
        task.setup.iter().try_for_each(|line| self.run(line))?;
        let mut costs: Vec<Vec<Cost>> = task.commands.iter().map(|_| Vec::new()).collect();
        for _ in 0..self.runs {
            for (command, costs) in task.commands.iter().zip(&mut costs) {
                self.run(command.before)?;
                costs.push(self.job(command.line).measure()?);
            }
        }
        let measured = task.commands.iter().zip(&costs);
        measured.map(|(command, costs)| self.figures(command, costs)).collect()
    }

    fn figures(&self, command: &Measured, costs: &[Cost]) -> Result<Figures, String> {
        Ok(Figures {
            cpu: median(costs, Cost::cpu),
            wall: median(costs, |cost| cost.wall),
            peak: median(costs, |cost| cost.peak as f64) / 1e6,
            bytes: self.bytes(command.output)?,
        })
    }

    /// Returns the total size of the files that match a pattern of the shell.
    fn bytes(&self, pattern: &str) -> Result<u64, String> {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("cat {pattern} | wc -c")]).current_dir(self.directory);
        let output = packline_testkit::tools::run(&mut command)?;
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim().parse().map_err(|_| format!("{pattern}: the size is {text:?} (expected a number)"))
    }

    fn run(&self, line: &str) -> Result<(), String> {
        let mut command = Command::new("sh");
        command.args(["-e", "-c", line]).current_dir(self.directory).env("PATH", self.path());
        packline_testkit::tools::run(&mut command).map(drop)
    }

    fn job(&self, line: &str) -> Job {
        let line = format!("cd '{}' && {line}", self.directory.display());
        let mut job = Job::new(line.clone(), &["sh", "-c", &line]);
        job.variables.push(("PATH".into(), self.path()));
        job
    }

    fn path(&self) -> String {
        let directory: PathBuf = self.directory.join("bin");
        format!("{}:{}", directory.display(), crate::environment::search_path())
    }
}

const HEAD: &str = "| Task | Program | CPU s | Wall s | Peak MB | Bytes | CPU, ours:peer | Size, ours:peer | Command |\n\
                    |---|---|--:|--:|--:|--:|--:|--:|---|\n";

fn rows(task: &Task, figures: &[Figures]) -> String {
    let mut text = String::new();
    let Some(ours) = figures.first() else { return text };
    for (at, (command, theirs)) in task.commands.iter().zip(figures).enumerate() {
        let title = if at == 0 { task.title } else { "" };
        let mut ratios = " | ".to_owned();
        if at > 0 {
            let cpu = ours.cpu / theirs.cpu;
            let size = ours.bytes as f64 / theirs.bytes as f64;
            ratios = format!("{cpu:.2} | {size:.3}");
        }
        let Figures { cpu, wall, peak, bytes } = theirs;
        let Measured { program, line, .. } = command;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| {title} | {program} | {cpu:.2} | {wall:.2} | {peak:.0} | {bytes} | {ratios} | `{line}` |"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_other_programs_with_packline() {
        let figures = |cpu, bytes| Figures { cpu, wall: 1.0, peak: 20.0, bytes };
        let text = rows(&TASKS[0], &[figures(1.0, 500), figures(4.0, 1000)]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("| packline | 1.00 | 1.00 | 20 | 500 |  |  | `packline lrzip"), "{text}");
        assert!(lines[1].contains("| lrzip | 4.00 | 1.00 | 20 | 1000 | 0.25 | 0.500 | `lrzip"), "{text}");
    }

    #[test]
    fn measures_commands_in_their_directory() {
        if !packline_testkit::tools::need(&["time"]) {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let bench = Bench { directory: place.path(), runs: 2 };
        let task = Task {
            title: "copies",
            setup: &["echo 12345 > from"],
            commands: &[Measured { program: "cp", before: "rm -f to", line: "cp from to", output: "to" }],
        };
        let figures = bench.task(&task).unwrap();
        assert_eq!(figures[0].bytes, 6);
    }
}
