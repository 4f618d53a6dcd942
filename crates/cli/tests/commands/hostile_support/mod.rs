//! Runs the binary on hostile files: with limits, and with a canary around everything it could write.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use packline_testkit::hostile::{self, Specimen};
use packline_testkit::snapshot::{self, Snapshot};

pub const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");
/// Processor time that a command may take, seconds: the promise. The kernel ends what takes more.
pub const SECONDS: u32 = 5;
/// Wall time after which a command counts as hanging, seconds. Far more than the promise: the machine may be busy.
const HANGS: u32 = 90;
/// Most memory that may be resident, bytes: the promise.
const MEMORY: u64 = 256 << 20;
/// Where the kernel stops a command that wants everything, so that a failing test does not take the machine with it.
const ALLOCATED: u64 = 2 << 30;
/// Bytes of standard output that are read. Who writes more is not listened to any longer.
const OUTPUT: u64 = 32 << 20;

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    /// Exit status; above 128 what was killed by a signal.
    pub status: i32,
    /// What was said on standard error, at most 64 KiB of it.
    pub said: String,
    /// The first bytes of standard output, at most a mebibyte.
    pub output: Vec<u8>,
    /// Whether there was more output than anyone reads.
    pub endless: bool,
    /// Peak of resident memory, bytes.
    pub peak: u64,
}

/// A place for images, destinations, and what must not be touched.
pub struct Place {
    pub top: tempfile::TempDir,
    canary: Snapshot,
}

impl Place {
    pub fn new() -> Place {
        let top = tempdir();
        let outside = top.path().join("outside");
        fs::create_dir_all(outside.join("directory")).unwrap();
        fs::write(outside.join("victim"), "as it was").unwrap();
        fs::write(top.path().join("good.sqfs"), hostile::good()).unwrap();
        let canary = snapshot::of_directory(&outside).unwrap();
        Place { top, canary }
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    /// Writes a specimen as the image to read.
    pub fn put(&self, specimen: &Specimen) -> PathBuf {
        let path = self.at("bad.sqfs");
        fs::write(&path, &*made(specimen)).unwrap();
        path
    }

    /// What is wrong outside of the destination, which is removed.
    pub fn check(&self) -> Option<String> {
        clear(&self.at("dest"));
        let canary = snapshot::of_directory(&self.at("outside")).unwrap();
        let lines = snapshot::differences(&self.canary, &canary, snapshot::Except::default());
        let known = ["bad.sqfs", "bad.lrz", "good.sqfs", "outside", "peak", "said", "point"];
        let names = fs::read_dir(self.top.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let strange: Vec<OsString> = names.filter(|name| !known.iter().any(|known| name == *known)).collect();
        strange.iter().for_each(|name| clear(&self.at(name.to_str().unwrap())));
        let escaped = Path::new("/tmp/escaped").exists();
        let sound = lines.is_empty() && strange.is_empty() && !escaped;
        (!sound).then(|| format!("outside the destination: {lines:?} {strange:?}"))
    }

    /// Runs `packline WORDS`, or a drop-in under its name.
    pub fn run(&self, words: &[&str]) -> Ran {
        self.run_on(words, Stdio::null())
    }

    /// The same with something on standard input.
    pub fn run_on(&self, words: &[&str], input: Stdio) -> Ran {
        let (peak, said) = (self.at("peak"), self.at("said"));
        let mut child = Command::new("timeout")
            .args(["-s", "KILL", &HANGS.to_string()])
            .arg("prlimit")
            .args([format!("--cpu={SECONDS}"), format!("--data={ALLOCATED}"), "--core=0".into()])
            .args(["time", "--quiet", "--format", "%M", "--output"])
            .arg(&peak)
            .arg(PACKLINE)
            .args(words)
            .current_dir(self.top.path())
            .env_remove("SOURCE_DATE_EPOCH")
            .env("RUST_BACKTRACE", "0")
            .env("LRZIP", "NOCONFIG")
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(File::create(&said).unwrap())
            .spawn()
            .unwrap();
        let (output, endless) = listen(&mut child);
        let status = child.wait().unwrap().code().unwrap_or(137);
        let mut text = Vec::new();
        File::open(&said).unwrap().take(64 << 10).read_to_end(&mut text).unwrap();
        let peak = fs::read_to_string(&peak).unwrap_or_default();
        let peak = peak.lines().last().and_then(|line| line.trim().parse::<u64>().ok()).unwrap_or(0) << 10;
        Ran { status, said: String::from_utf8_lossy(&text).into_owned(), output, endless, peak }
    }
}

/// The specimen's bytes, made once for all tests of a program: some are large blocks that take long to compress.
fn made(specimen: &Specimen) -> Arc<Vec<u8>> {
    static MADE: Mutex<BTreeMap<&str, Arc<Vec<u8>>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap();
    let make = || Arc::new(specimen.bytes());
    Arc::clone(made.entry(specimen.name).or_insert_with(make))
}

/// In memory where there is room: what the file system takes for ten thousands of directories is not the commands' time.
fn tempdir() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let room = rustix::fs::statvfs(memory).map_or(0, |found| found.f_bavail.saturating_mul(found.f_frsize));
    let there = (room > 1 << 30).then(|| tempfile::tempdir_in(memory).ok()).flatten();
    there.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

/// Removes what is there. Trees are deeper than the stack of a recursive walk: rm goes down step by step.
fn clear(path: &Path) {
    if path.symlink_metadata().is_ok() {
        let removed = Command::new("rm").arg("-rf").arg(path).status().unwrap();
        assert!(removed.success(), "{} cannot be removed", path.display());
    }
}

/// Reads standard output up to a limit.
fn listen(child: &mut Child) -> (Vec<u8>, bool) {
    let (mut first, mut buffer, mut total) = (Vec::new(), vec![0; 1 << 16], 0);
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

impl Ran {
    /// What breaks the promises that hold for every command on every image.
    pub fn broken(&self) -> Option<String> {
        let panicked = ["panicked", "internal error", "unknown command", "stack overflow", "memory allocation"];
        let line = self.said.lines().find(|line| panicked.iter().any(|word| line.contains(word)));
        let status = ![0, 1, 2].contains(&self.status);
        let memory = self.peak > MEMORY;
        let silent = self.status != 0 && self.said.is_empty() && self.output.is_empty() && !self.endless;
        (line.is_some() || status || memory || silent).then(|| self.shown())
    }

    pub fn shown(&self) -> String {
        let said: String = self.said.chars().take(300).collect();
        format!("status {}, peak {} MiB, said {said:?}", self.status, self.peak >> 20)
    }
}

/// Faults of a whole test, counted and shown together.
#[derive(Default)]
pub struct Wrong(Vec<String>);

impl Wrong {
    pub fn note(&mut self, specimen: &Specimen, words: &[&str], what: &str) {
        self.note_of(&format!("{} ({:?})", specimen.name, specimen.expect), words, what);
    }

    /// The same of a specimen of another zoo.
    pub fn note_of(&mut self, specimen: &str, words: &[&str], what: &str) {
        self.0.push(format!("{specimen}: {}: {what}", words.join(" ")));
    }

    pub fn end(self) {
        assert!(self.0.is_empty(), "{} faults:\n{}", self.0.len(), self.0.join("\n"));
    }
}
