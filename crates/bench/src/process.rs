//! One program run to its end, and what that cost.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use packline::bench::Cost;
use rustix::process::Pid;
use wait4::Wait4;

use super::input::cannot;
use super::interruption::{Interruption, await_end};
use super::line::{Line, Printed};
use crate::clock::Stopwatch;
use crate::failure::Failure;

/// Bytes of what a failing program said first, and of what it said last, that are shown.
const SAID_MOST: u64 = 600;

/// What a run came to.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    pub cost: Cost,
    /// Whether it exited with 0. If not, it exited with 1 and that is an answer.
    pub success: bool,
}

/// Runs programs one at a time. When this process is told to stop, so is the one that runs.
pub struct Runner {
    interruption: Interruption,
    /// What programs say, until the next is started.
    log: PathBuf,
}

impl Runner {
    /// What programs say goes to the file `log`.
    pub fn new(interruption: &Interruption, log: PathBuf) -> Runner {
        Runner { interruption: interruption.clone(), log }
    }

    /// Runs a program. Peak memory is the kernel's figure, which is never below what this process had when it started it.
    ///
    /// # Errors
    /// It cannot be started, or does not end well: with its last words.
    pub fn run(&self, line: &Line) -> Result<Ended, Failure> {
        let mut command = self.command(line)?;
        let watch = Stopwatch::start();
        let mut child = self.start(&mut command, line)?;
        let (status, mut cost) = self.end(&mut child, &watch).map_err(|cause| failed(line, &cause.to_string()))?;
        // Programs that were not waited for have cost nothing.
        cost.peak = cost.peak.max(1);
        if status.success() || (line.one_is_an_answer && status.code() == Some(1)) {
            return Ok(Ended { cost, success: status.success() });
        }
        Err(failed(line, &format!("{status}{}", self.last_words())))
    }

    fn command(&self, line: &Line) -> Result<Command, Failure> {
        let log = File::create(&self.log).map_err(|cause| cannot("create", &self.log, &cause))?;
        let mut command = Command::new(&line.words[0]);
        command.args(&line.words[1..]);
        // A group of its own: signals of the terminal come to us, and we pass them on when all is told.
        command.process_group(0);
        match &line.input {
            Some(path) => command.stdin(File::open(path).map_err(|cause| cannot("open", path, &cause))?),
            None => command.stdin(Stdio::null()),
        };
        match &line.printed {
            Printed::Log => command.stdout(log.try_clone().map_err(|cause| cannot("share", &self.log, &cause))?),
            Printed::Discarded => command.stdout(Stdio::null()),
            Printed::To(path) => command.stdout(File::create(path).map_err(|cause| cannot("create", path, &cause))?),
        };
        command.stderr(log);
        Ok(command)
    }

    fn start(&self, command: &mut Command, line: &Line) -> Result<Child, Failure> {
        self.interruption.start(|| {
            let child = command.spawn().map_err(|cause| failed(line, &format!("cannot start: {cause}")))?;
            let pid = Pid::from_raw(child.id() as i32);
            Ok((child, pid))
        })
    }

    /// Waits; wall time ends when it has ended, before anything else is done.
    fn end(&self, child: &mut Child, watch: &Stopwatch) -> io::Result<(ExitStatus, Cost)> {
        if let Some(pid) = Pid::from_raw(child.id() as i32) {
            await_end(pid);
        }
        let wall = watch.seconds();
        let used = self.interruption.end(|| child.wait4())?;
        let (user, system) = (used.rusage.utime.as_secs_f64(), used.rusage.stime.as_secs_f64());
        Ok((used.status, Cost { wall, user, system, peak: used.rusage.maxrss }))
    }

    /// What it said, on lines of its own.
    fn last_words(&self) -> String {
        let said = ends_of(&self.log).unwrap_or_default();
        let said = said.trim();
        if said.is_empty() { String::new() } else { format!("\n{said}") }
    }
}

/// A file, or its beginning and its end if it is long: some say what is wrong first, and some last.
fn ends_of(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let read = |offset: u64, length: u64| {
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, offset).map(|()| String::from_utf8_lossy(&bytes).into_owned())
    };
    if size <= 2 * SAID_MOST {
        return read(0, size);
    }
    Ok(format!("{}\n[...]\n{}", read(0, SAID_MOST)?.trim_end(), read(size - SAID_MOST, SAID_MOST)?.trim_start()))
}

fn failed(line: &Line, what: &str) -> Failure {
    Failure::failed(format!("{}: {what}", line.shown()))
}

/// The BLAKE3 digest of a file, a piece at a time.
///
/// # Errors
/// It cannot be read.
pub fn digest(path: &Path) -> Result<blake3::Hash, Failure> {
    let refused = |cause| cannot("read", path, &cause);
    let (mut file, mut buffer) = (File::open(path).map_err(refused)?, vec![0; super::input::BUFFER]);
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

    fn run(words: &[&str], printed: Printed) -> Result<Ended, Failure> {
        let top = tempfile::tempdir().unwrap();
        let runner = Runner::new(&Interruption::default(), top.path().join("log"));
        runner.run(&Line::new(words[0]).with(&words[1..]).printing(printed))
    }

    #[test]
    fn cost_is_what_the_program_used() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let busy = run(&["sh", "-c", busy], Printed::Log).unwrap();
        let idle = run(&["sleep", "0.2"], Printed::Log).unwrap();
        assert!(busy.cost.cpu() > 0.01 && busy.cost.peak > 100_000, "{busy:?}");
        assert!(idle.cost.wall >= 0.2 && idle.cost.cpu() < 0.1, "{idle:?}");
    }

    #[test]
    fn failure_quotes_the_last_words() {
        let Err(Failure::Failed(what)) = run(&["sh", "-c", "echo out; echo oh no >&2; exit 3"], Printed::Log) else {
            panic!()
        };
        assert!(what.contains("exit status: 3") && what.ends_with("out\noh no"), "{what}");
        let talk = "echo first; seq 2000; echo last; exit 2";
        let Err(Failure::Failed(what)) = run(&["sh", "-c", talk], Printed::Log) else { panic!() };
        assert!(what.contains("\nfirst\n1\n") && what.ends_with("last") && what.len() < 2000, "{what}");
        let Err(Failure::Failed(what)) = run(&["/nonesuch"], Printed::Discarded) else { panic!() };
        assert!(what.contains("/nonesuch > /dev/null: cannot start"), "{what}");
    }

    #[test]
    fn status_1_is_an_answer_only_where_it_is_one() {
        let top = tempfile::tempdir().unwrap();
        let runner = Runner::new(&Interruption::default(), top.path().join("log"));
        let mut line = Line::new("false");
        assert!(runner.run(&line).is_err());
        line.one_is_an_answer = true;
        assert!(!runner.run(&line).unwrap().success);
    }

    #[test]
    fn digest_is_of_all_the_bytes() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("x");
        let bytes: Vec<u8> = (0..700_000u32).map(|number| number as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(digest(&path).unwrap(), blake3::hash(&bytes));
    }
}
