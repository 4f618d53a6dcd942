//! Options for workers and memory.

use packline::Resources;

use super::value::{number, size};
use crate::host::Host;

/// `--jobs` and `--mem`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Resources")]
pub struct Machine {
    /// Run N worker threads; 0 does everything on the main thread. The result does not depend on N [default: number of CPUs]
    #[arg(short, long, value_name = "N", value_parser = number::<usize>(0..=1024))]
    jobs: Option<usize>,
    #[command(flatten)]
    memory: Memory,
}

/// `--mem`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Resources")]
pub struct Memory {
    /// Limit memory. With less memory, fewer threads run and temporary files may be used; the result is the same [default: what the cgroup
    /// allows]
    #[arg(long, value_name = "SIZE", value_parser = size(0..=u64::MAX))]
    mem: Option<u64>,
}

impl Machine {
    pub fn resources(&self, host: &Host) -> Resources {
        let mut resources = self.memory.resources(host);
        resources.workers = self.jobs.unwrap_or(host.processors);
        resources
    }

    /// Returns the resources for .lrz files: by default a third of the memory, as in lrzip.
    pub fn lrz_resources(&self, host: &Host) -> Resources {
        self.resources(host).memory_limit(self.memory.mem.or_else(|| host.third_of_memory()))
    }
}

impl Memory {
    /// Returns resources with one worker per CPU.
    pub fn resources(&self, host: &Host) -> Resources {
        host.resources().memory_limit(self.mem.or(host.memory_limit))
    }
}
