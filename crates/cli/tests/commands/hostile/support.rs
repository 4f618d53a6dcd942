//! Runs the program on hostile files with limits, and checks that nothing changes outside the destination.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use packline_testkit::Sandbox;
use packline_testkit::hostile::{self, Specimen};
use packline_testkit::snapshot::{self, Snapshot};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use crate::PACKLINE;

/// The processor time of a command in seconds. The kernel kills a command that takes more.
const SECONDS: u64 = 15;
/// Wall time after which a command counts as hanging. Far more than the processor time: the machine may be busy.
const HANGS: Duration = Duration::from_secs(90);
/// Maximum memory in bytes that the kernel gives a command, not counting the stacks of its threads. The peak of resident memory that it reports for a
/// child that has ended (`ru_maxrss`) is not below that of the process that started it, which runs other tests too.
const MEMORY: u64 = 256 << 20;
/// The size of a thread's stack in bytes; all of it is mapped.
const STACK: u64 = 2 << 20;
/// The most threads of a command in addition to its workers.
const THREADS: u64 = 16;
/// Bytes of standard output that are read; then it is closed.
const OUTPUT: u64 = 32 << 20;

/// Outcome of a run.
#[derive(Debug)]
pub struct Ended {
    /// Exit status; above 128 if a signal ended it.
    pub status: i32,
    /// At most the first 64 KiB of standard error.
    pub stderr: String,
    /// At most the first MiB of standard output.
    pub stdout: Vec<u8>,
    /// Whether there was more output than is read.
    pub endless: bool,
}

/// A sandbox for images and destinations, with files that must not be touched.
pub struct Canary {
    pub sandbox: Sandbox,
    outside: Snapshot,
}

impl Canary {
    pub fn new() -> Canary {
        let sandbox = Sandbox::within(PACKLINE, temporary_directory());
        sandbox.create_dir("outside/directory");
        sandbox.write("outside/victim", "as it was");
        sandbox.write("good.sqfs", hostile::good());
        Canary { outside: sandbox.snapshot("outside"), sandbox }
    }

    /// Writes a specimen as the image to read.
    pub fn put(&self, specimen: &Specimen) {
        self.sandbox.write("bad.sqfs", &*made(specimen));
    }

    /// Changes outside of the destination, which is removed.
    pub fn check(&self) -> Option<String> {
        let at = |name: &OsString| self.sandbox.at(name);
        clear(&self.sandbox.at("dest"));
        let found = self.sandbox.snapshot("outside");
        let lines = snapshot::differences(&self.outside, &found, snapshot::Except::default());
        let known = ["bad.sqfs", "bad.lrz", "good.sqfs", "outside", "stderr", "point"];
        let names = fs::read_dir(self.sandbox.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let strange: Vec<OsString> = names.filter(|name| !known.iter().any(|known| name == *known)).collect();
        strange.iter().for_each(|name| clear(&at(name)));
        let escaped = Path::new("/tmp/escaped").exists();
        let sound = lines.is_empty() && strange.is_empty() && !escaped;
        (!sound).then(|| format!("outside the destination: {lines:?} {strange:?}"))
    }

    /// Runs `packline WORDS`, or a drop-in under its name.
    pub fn run(&self, words: &[&str]) -> Ended {
        self.run_on(words, Stdio::null())
    }

    /// Runs a command with `input` as standard input.
    pub fn run_on(&self, words: &[&str], input: Stdio) -> Ended {
        let mut limited = self.start(words, input);
        let (stdout, endless) = read_some(&mut limited.child);
        self.end(limited, stdout, endless)
    }

    /// Starts it with the limits. They are set from outside: each program in between (prlimit, timeout, time) takes as long to start as
    /// most commands take.
    pub fn start(&self, words: &[&str], input: Stdio) -> Limited {
        self.start_program(PACKLINE, words, input)
    }

    fn start_program(&self, program: &str, words: &[&str], input: Stdio) -> Limited {
        let mut command = self.sandbox.program(program, words);
        command.env("RUST_BACKTRACE", "0").stdin(input).stdout(Stdio::piped());
        let child = command.stderr(File::create(self.sandbox.at("stderr")).unwrap()).spawn().unwrap();
        let stacks = (packline::Resources::default().workers as u64 + THREADS) * STACK;
        let limits = [(Resource::Cpu, SECONDS), (Resource::Data, MEMORY + stacks), (Resource::Core, 0)];
        for (resource, most) in limits {
            prlimit(Some(pid(&child)), resource, Rlimit { current: Some(most), maximum: Some(most) }).unwrap();
        }
        Limited { watch: kill_later(pid(&child)), child }
    }

    /// Waits for its end.
    pub fn end(&self, mut limited: Limited, stdout: Vec<u8>, endless: bool) -> Ended {
        let ended = limited.child.wait().unwrap();
        drop(limited.watch);
        let mut text = Vec::new();
        self.sandbox.open("stderr").take(64 << 10).read_to_end(&mut text).unwrap();
        let status = ended.code().or(ended.signal().map(|signal| 128 + signal)).unwrap();
        Ended { status, stderr: String::from_utf8_lossy(&text).into_owned(), stdout, endless }
    }
}

/// A process with limits of processor time, memory and time.
pub struct Limited {
    pub child: Child,
    /// Dropped when the process has been waited for, as its number may be another's from then on.
    watch: Sender<()>,
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// Kills a process that hangs, unless the returned value is dropped first.
fn kill_later(process: Pid) -> Sender<()> {
    let (watch, ended) = mpsc::channel();
    let wait = move || {
        if ended.recv_timeout(HANGS) == Err(RecvTimeoutError::Timeout) {
            let _ = kill_process(process, Signal::KILL);
        }
    };
    std::thread::Builder::new().spawn(wait).unwrap();
    watch
}

/// The specimen's bytes, made once for all tests of a program: some are large blocks that take long to compress.
fn made(specimen: &Specimen) -> Arc<Vec<u8>> {
    static MADE: Mutex<BTreeMap<&str, Arc<Vec<u8>>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap();
    let make = || Arc::new(specimen.bytes());
    Arc::clone(made.entry(specimen.name).or_insert_with(make))
}

/// Returns a directory in memory if there is enough: creating tens of thousands of directories in a file system would count as the
/// command's time.
fn temporary_directory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |found| found.f_bavail.saturating_mul(found.f_frsize));
    let is_writable = rustix::fs::access(memory, rustix::fs::Access::WRITE_OK).is_ok();
    if is_writable && free > 1 << 30 { memory.to_path_buf() } else { std::env::temp_dir() }
}

/// Removes a tree with rm, because it may be too deep for a recursive walk.
fn clear(path: &Path) {
    if path.symlink_metadata().is_ok() {
        let removed = Command::new("rm").arg("-rf").arg(path).status().unwrap();
        assert!(removed.success(), "{} cannot be removed", path.display());
    }
}

/// Reads standard output up to a limit.
fn read_some(child: &mut Child) -> (Vec<u8>, bool) {
    let mut first = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    let mut total = 0;
    let mut pipe = child.stdout.take().unwrap();
    loop {
        match pipe.read(&mut buffer).unwrap() {
            0 => return (first, false),
            length => {
                total += length as u64;
                if first.len() < 1 << 20 {
                    first.extend_from_slice(&buffer[..length]);
                }
            }
        }
        if total > OUTPUT {
            return (first, true);
        }
    }
}

impl Ended {
    /// Returns a promise that every command keeps on every image, if it was broken.
    pub fn broken(&self) -> Option<String> {
        let panicked =
            ["panicked", "internal error", "unknown command", "stack overflow", "memory allocation", "allocate memory"];
        let panicked = panicked.iter().any(|word| self.stderr.contains(word));
        let status = ![0, 1, 2, 3].contains(&self.status);
        let silent = self.status != 0 && self.stderr.is_empty() && self.stdout.is_empty() && !self.endless;
        (panicked || status || silent).then(|| self.shown())
    }

    pub fn shown(&self) -> String {
        let stderr: String = self.stderr.chars().take(300).collect();
        format!("status {}, stderr {stderr:?}", self.status)
    }
}

/// The faults of a test, counted and shown together.
#[derive(Default)]
pub struct Wrong(Vec<String>);

impl Wrong {
    pub fn note(&mut self, specimen: &Specimen, words: &[&str], what: &str) {
        self.note_of(&format!("{} ({:?})", specimen.name, specimen.expect), words, what);
    }

    /// Like [`Wrong::note`], for a specimen of another set.
    pub fn note_of(&mut self, specimen: &str, words: &[&str], what: &str) {
        self.0.push(format!("{specimen}: {}: {what}", words.join(" ")));
    }

    pub fn end(self) {
        assert!(self.0.is_empty(), "{} faults:\n{}", self.0.len(), self.0.join("\n"));
    }
}

#[test]
fn a_command_that_takes_too_much_memory_is_refused_it() {
    let canary = Canary::new();
    let allocates = |bytes: u64| {
        // It waits for the end of its input until the limits are set.
        let line = format!("read line; exec dd bs={bytes} count=1 if=/dev/zero of=/dev/null");
        let mut limited = canary.start_program("sh", &["-c", &line], Stdio::piped());
        drop(limited.child.stdin.take());
        let (stdout, endless) = read_some(&mut limited.child);
        canary.end(limited, stdout, endless)
    };
    let within = allocates(MEMORY / 2);
    let beyond = allocates(2 * MEMORY);
    assert!(within.status == 0, "{}", within.shown());
    assert!(beyond.status == 1 && beyond.stderr.contains("memory exhausted"), "{}", beyond.shown());
}
