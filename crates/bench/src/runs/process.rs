//! Runs a program and measures its cost.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Pid;
use wait4::Wait4;

use crate::inputs::source::BUFFER;
use crate::interruption::wait_for_exit;
use crate::programs::command_line::{CommandLine, Stdout};
use crate::report::Cost;
use crate::runs::pipes;
use crate::{Clock, Error, Interruption};

/// The bytes of a failed program's output that are shown from the beginning, and from the end.
const SHOWN: u64 = 600;

#[derive(Debug, Clone, Copy)]
pub struct Ended {
    pub cost: Cost,
    /// Whether the program exited with 0. Otherwise it exited with 1, and [`CommandLine::status_1_is_a_result`].
    pub success: bool,
}

/// Runs programs one at a time. An interruption kills the running program.
pub struct ProcessRunner {
    pub interruption: Interruption,
    pub clock: Clock,
    /// The file with the output of the program that ran last.
    pub log: PathBuf,
}

impl ProcessRunner {
    /// Runs a program. The peak memory is the kernel's figure, which is never below the peak of this process at the start of the program.
    ///
    /// # Errors
    /// Returns an error that quotes the program's output if the program cannot be started or fails.
    pub fn run(&self, line: &CommandLine) -> Result<Ended, Error> {
        let mut command = self.command(line)?;
        let start = (self.clock.wall)();
        let mut child = self.start(&mut command, line)?;
        // This closes the program's ends of pipes here.
        drop(command);
        let (status, mut cost) = self.end(&mut child, start).map_err(|cause| failed(line, &cause.to_string()))?;
        // The kernel reports no peak for a process that was not waited for.
        cost.peak = cost.peak.max(1);
        if status.success() || (line.status_1_is_a_result && status.code() == Some(1)) {
            return Ok(Ended { cost, success: status.success() });
        }
        Err(failed(line, &format!("{status}{}", self.quoted_output())))
    }

    fn command(&self, line: &CommandLine) -> Result<Command, Error> {
        let log = File::create(&self.log).map_err(|cause| Error::file("create", &self.log, &cause))?;
        let mut command = Command::new(&line.words[0]);
        command.args(&line.words[1..]);
        // A separate process group, so that signals from the terminal reach only this process.
        command.process_group(0);
        match &line.stdin {
            Some(path) if line.stdin_is_piped => {
                command.stdin(pipes::feed(path).map_err(|cause| Error::file("open", path, &cause))?)
            }
            Some(path) => command.stdin(File::open(path).map_err(|cause| Error::file("open", path, &cause))?),
            None => command.stdin(Stdio::null()),
        };
        match &line.stdout {
            Stdout::Log => command.stdout(log.try_clone().map_err(|cause| Error::file("share", &self.log, &cause))?),
            Stdout::Discarded => command.stdout(Stdio::null()),
            Stdout::Pipe => command.stdout(pipes::drain().map_err(|cause| failed(line, &cause.to_string()))?),
            Stdout::File(path) => {
                command.stdout(File::create(path).map_err(|cause| Error::file("create", path, &cause))?)
            }
        };
        command.stderr(log);
        Ok(command)
    }

    fn start(&self, command: &mut Command, line: &CommandLine) -> Result<Child, Error> {
        self.interruption.start(|| {
            let child = command.spawn().map_err(|cause| failed(line, &format!("cannot start: {cause}")))?;
            let pid = Pid::from_raw(child.id() as i32);
            Ok((child, pid))
        })
    }

    /// Waits for the end of a program. Wall time ends when the process ends, before it is collected.
    fn end(&self, child: &mut Child, start: Duration) -> io::Result<(ExitStatus, Cost)> {
        if let Some(pid) = Pid::from_raw(child.id() as i32) {
            wait_for_exit(pid);
        }
        let wall = ((self.clock.wall)() - start).as_secs_f64();
        let used = self.interruption.end(|| child.wait4())?;
        let user = used.rusage.utime.as_secs_f64();
        let system = used.rusage.stime.as_secs_f64();
        Ok((used.status, Cost { wall, user, system, peak: used.rusage.maxrss }))
    }

    /// Returns the output of the program, on separate lines.
    fn quoted_output(&self) -> String {
        let text = shortened(&self.log).unwrap_or_default();
        let output = text.trim();
        if output.is_empty() { String::new() } else { format!("\n{output}") }
    }
}

/// Returns the text of a file. For a long text, it returns the beginning and the end, because programs report causes in either.
fn shortened(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let read = |offset: u64, length: u64| {
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, offset).map(|()| String::from_utf8_lossy(&bytes).into_owned())
    };
    if size <= 2 * SHOWN {
        return read(0, size);
    }
    Ok(format!("{}\n[...]\n{}", read(0, SHOWN)?.trim_end(), read(size - SHOWN, SHOWN)?.trim_start()))
}

fn failed(line: &CommandLine, what: &str) -> Error {
    Error::failed(format!("{}: {what}", line.quoted()))
}

pub fn digest(path: &Path) -> Result<blake3::Hash, Error> {
    let refused = |cause| Error::file("read", path, &cause);
    let mut file = File::open(path).map_err(refused)?;
    let mut buffer = vec![0; BUFFER];
    let mut hasher = blake3::Hasher::new();
    loop {
        match io::Read::read(&mut file, &mut buffer).map_err(refused)? {
            0 => return Ok(hasher.finalize()),
            count => hasher.update(&buffer[..count]),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runner(top: &tempfile::TempDir) -> ProcessRunner {
        ProcessRunner {
            interruption: Interruption::default(),
            clock: crate::session::tests::CLOCK,
            log: top.path().join("log"),
        }
    }

    fn run(words: &[&str], stdout: Stdout) -> Result<Ended, Error> {
        let top = tempfile::tempdir().unwrap();
        runner(&top).run(&CommandLine::new(words[0]).with(&words[1..]).stdout(stdout))
    }

    #[test]
    fn measures_the_cost_of_the_program() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let busy = run(&["sh", "-c", busy], Stdout::Log).unwrap();
        let idle = run(&["sleep", "0.2"], Stdout::Log).unwrap();
        assert!(busy.cost.cpu() > 0.01 && busy.cost.peak > 100_000, "{busy:?}");
        assert!(idle.cost.wall >= 0.2 && idle.cost.cpu() < 0.1, "{idle:?}");
    }

    #[test]
    fn failure_quotes_the_output() {
        let Err(Error::Failed(what)) = run(&["sh", "-c", "echo out; echo oh no >&2; exit 3"], Stdout::Log) else {
            panic!()
        };
        assert!(what.contains("exit status: 3") && what.ends_with("out\noh no"), "{what}");
        let talk = "echo first; seq 2000; echo last; exit 2";
        let Err(Error::Failed(what)) = run(&["sh", "-c", talk], Stdout::Log) else { panic!() };
        assert!(what.contains("\nfirst\n1\n") && what.ends_with("last") && what.len() < 2000, "{what}");
        let Err(Error::Failed(what)) = run(&["/nonesuch"], Stdout::Discarded) else { panic!() };
        assert!(what.contains("/nonesuch > /dev/null: cannot start"), "{what}");
    }

    #[test]
    fn status_1_is_a_failure_unless_it_is_a_result() {
        let top = tempfile::tempdir().unwrap();
        let runner = runner(&top);
        let mut line = CommandLine::new("false");
        assert!(runner.run(&line).is_err());
        line.status_1_is_a_result = true;
        assert!(!runner.run(&line).unwrap().success);
    }

    #[test]
    fn digest_covers_all_bytes() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("x");
        let bytes: Vec<u8> = (0..700_000u32).map(|number| number as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(digest(&path).unwrap(), blake3::hash(&bytes));
    }
}
