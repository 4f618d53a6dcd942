//! The process and its machine: clock, environment, processors, memory, names of users, time zone, descriptors, standard streams and signals, each read in one file.

pub mod clock;
pub mod closed_streams;
pub mod commands;
pub mod date;
pub mod definitions;
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
pub mod time_zone;
pub mod topology;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use packline::Resources;
use packline_engine::Topology;
use zeroize::Zeroizing;

use fake_root::FakeRoot;
use names::Names;
use signals::ShutdownHook;

/// Returns an answer to a prompt, without echo; `None` without a terminal or an answer.
pub type AskHidden = fn(&str, &ShutdownHook) -> Option<Zeroizing<Vec<u8>>>;

/// The machine and the environment, read once by `main`.
#[derive(Debug, Clone)]
pub struct Host {
    /// Processors this process may use: scheduling affinity and cgroup quota counted.
    pub processors: usize,
    /// Their cores, caches and packages.
    pub topology: Topology,
    /// Memory this process may use, bytes, where a cgroup limits it.
    pub memory_limit: Option<u64>,
    /// Memory of the machine, bytes, where that is known.
    pub machine_memory: Option<u64>,
    /// `SOURCE_DATE_EPOCH`, as text.
    pub source_date_epoch: Option<String>,
    /// Directory for temporary files.
    pub scratch: PathBuf,
    /// `PACKLINE_CACHE`: where the cache of compressed blocks is.
    pub cache: Option<OsString>,
    /// Directory of the user's settings.
    pub home: Option<PathBuf>,
    /// `lrzip.conf` is ignored.
    pub no_lrzip_conf: bool,
    /// Whether this program is statically linked.
    pub is_static: bool,
    /// fakeroot or pseudo, if this process runs under it.
    pub fake_root: Option<FakeRoot>,
    /// Now, seconds since 1970.
    pub now: u32,
    /// Returns the seconds that local time is ahead of UTC at a time, seconds since 1970.
    pub utc_offset: fn(i64) -> i64,
    /// Columns of the terminal, for help.
    pub columns: usize,
    /// Returns the names of users and groups.
    pub names: fn() -> Names,
    /// The file of this program, to start it again.
    pub program: Option<PathBuf>,
    /// Returns the time by a monotonic clock, since an arbitrary start.
    pub wall_time: fn() -> Duration,
    /// Returns the peak resident memory of this process so far, bytes.
    pub peak_memory: fn() -> Option<u64>,
    /// Asks on the terminal for what must not be seen.
    pub ask_hidden: AskHidden,
}

impl Host {
    /// Reads the machine and the environment.
    pub fn of_process() -> Host {
        Host {
            processors: machine::processors(),
            topology: topology::topology(),
            memory_limit: machine::memory_limit(),
            machine_memory: machine::memory(),
            source_date_epoch: environment::source_date_epoch(),
            scratch: environment::scratch(),
            cache: environment::cache(),
            home: environment::home(),
            no_lrzip_conf: environment::no_lrzip_conf(),
            is_static: cfg!(target_feature = "crt-static"),
            fake_root: environment::fake_root(),
            now: clock::now(),
            utc_offset: time_zone::utc_offset,
            columns: streams::columns(),
            names: names::names,
            program: environment::program(),
            wall_time: clock::wall_time,
            peak_memory: machine::peak_memory,
            ask_hidden: terminal::ask_hidden,
        }
    }

    /// A third of the memory available to this process, lrzip's default.
    pub fn third_of_memory(&self) -> Option<u64> {
        let all = self.memory_limit.into_iter().chain(self.machine_memory).min();
        all.map(|bytes| bytes / 3)
    }

    /// Resources of a command without options for them.
    pub fn resources(&self) -> Resources {
        let mut resources = Resources::new(self.processors).memory_limit(self.memory_limit);
        resources.scratch = Some(self.scratch.clone());
        resources
    }
}
