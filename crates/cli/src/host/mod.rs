//! The process and its machine: clock, environment, umask, processors, memory, users, time zone, descriptors, standard streams and signals.
//! One file reads each of them.

pub mod clock;
pub mod closed_streams;
pub mod commands;
#[cfg(feature = "mount")]
pub mod descriptors;
pub mod environment;
pub mod fake_root;
pub mod files_below;
pub mod machine;
pub mod names;
pub mod signals;
pub mod streams;
pub mod terminal;
pub mod topology;
pub mod umask;
pub mod usage;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use packline::Resources;
use packline_engine::{QueueDomain, Topology};
use packline_http::Proxies;
use zeroize::Zeroizing;

use fake_root::FakeRoot;
use names::Names;
use signals::ShutdownHook;

/// Asks a question and returns the answer, without echo; `None` without a terminal or an answer.
pub type AskHidden = fn(&str, &ShutdownHook) -> Option<Zeroizing<Vec<u8>>>;

/// The environment, read once by `main`, and functions that read the machine. Only the commands that need a part of the machine read it,
/// because it takes thousands of system calls on a large machine.
#[derive(Debug, Clone)]
pub struct Host {
    /// Returns the number of workers to start, by scheduling affinity, cgroup quota and limit of address space.
    pub processors: fn() -> usize,
    /// Returns which processors share a part of the machine.
    pub topology: fn(QueueDomain) -> Topology,
    /// Returns the memory limit in bytes for a number of workers, by the cgroup and the limit of address space, if there is one.
    pub memory_limit: fn(usize) -> Option<u64>,
    /// Returns the memory of the machine in bytes, if known.
    pub machine_memory: fn() -> Option<u64>,
    /// Returns the permissions that new files of this process lack.
    pub umask: fn() -> u16,
    /// `SOURCE_DATE_EPOCH`, as text.
    pub source_date_epoch: Option<String>,
    pub scratch: PathBuf,
    /// `PACKLINE_CACHE`: the place of the cache of compressed blocks.
    pub cache: Option<OsString>,
    /// The level of the log: `PACKLINE_LOG`, or the last `--log` before the name of the command.
    pub log: Option<OsString>,
    /// The directory with the user's settings.
    pub home: Option<PathBuf>,
    /// The file with names and passwords for servers.
    pub netrc: Option<PathBuf>,
    /// The files with credentials for registries, the first that is read first.
    pub registry_files: Vec<PathBuf>,
    pub proxies: Proxies,
    /// Memory in bytes that open files on servers take.
    pub held: u64,
    /// Whether `lrzip.conf` is ignored.
    pub no_lrzip_conf: bool,
    /// Whether this program is statically linked.
    pub is_static: bool,
    /// fakeroot or pseudo, if this process runs under it.
    pub fake_root: Option<FakeRoot>,
    /// The present time in seconds since 1970.
    pub now: u32,
    /// Returns how many seconds local time is ahead of UTC at a time in seconds since 1970.
    pub utc_offset: fn(i64) -> i64,
    /// The columns of the terminal, for the help.
    pub columns: usize,
    pub names: fn() -> Names,
    /// The file of this program, to start it again.
    pub program: Option<PathBuf>,
    /// Returns the time of a monotonic clock, since an arbitrary start.
    pub wall_time: fn() -> Duration,
    /// Returns the peak resident memory of this process so far, in bytes.
    pub peak_memory: fn() -> Option<u64>,
    /// Asks on the terminal for a secret.
    pub ask_hidden: AskHidden,
}

impl Host {
    /// Reads the environment.
    pub fn of_process() -> Host {
        Host {
            processors: machine::processors,
            topology: topology::topology,
            memory_limit: machine::memory_limit,
            machine_memory: machine::memory,
            umask: umask::umask,
            source_date_epoch: environment::source_date_epoch(),
            scratch: environment::scratch(),
            cache: environment::cache(),
            log: environment::log(),
            home: environment::home(),
            netrc: environment::netrc(),
            registry_files: environment::registry_files(),
            proxies: environment::proxies(),
            held: 0,
            no_lrzip_conf: environment::no_lrzip_conf(),
            is_static: cfg!(target_feature = "crt-static"),
            fake_root: environment::fake_root(),
            now: clock::now(),
            utc_offset: clock::utc_offset,
            columns: streams::columns(),
            names: names::names,
            program: environment::program(),
            wall_time: clock::wall_time,
            peak_memory: machine::peak_memory,
            ask_hidden: terminal::ask_hidden,
        }
    }

    /// Returns a third of the memory available to this process, lrzip's default.
    pub fn third_of_memory(&self, workers: usize) -> Option<u64> {
        let all = (self.memory_limit)(workers).into_iter().chain((self.machine_memory)()).min();
        all.map(|bytes| bytes / 3)
    }

    /// Returns what open files on servers leave of a limit on memory.
    pub fn left(&self, memory: Option<u64>) -> Option<u64> {
        memory.map(|limit| limit.saturating_sub(self.held))
    }

    /// Returns the resources of a command without options for them.
    pub fn resources(&self) -> Resources {
        self.resources_or(None, None)
    }

    /// Returns the resources of a command with options for the number of workers and for the limit on memory.
    pub fn resources_or(&self, workers: Option<usize>, memory: Option<u64>) -> Resources {
        let workers = workers.unwrap_or_else(self.processors);
        let memory = memory.or_else(|| (self.memory_limit)(workers));
        let mut resources = Resources::new(workers).memory_limit(self.left(memory));
        resources.scratch = Some(self.scratch.clone());
        resources
    }
}
