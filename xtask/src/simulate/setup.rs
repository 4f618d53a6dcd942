//! One question to the simulator: a workload, a machine, a number of workers and how they are organised.

use super::callers::{Packline, ToolsNg, Window};
use super::designs;
use super::machine::Machine;
use super::outcome::Outcome;
use super::workload::Workload;
use super::world::{Wake, World};

/// Which packer's caller thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// Ours.
    Packline,
    /// squashfs-tools-ng 1.1.0.
    ToolsNg,
}

/// How workers are organised.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Workers, at least 1.
    pub workers: usize,
    /// The queues' design (see [`designs::NAMES`]).
    pub design: String,
    /// Queues of the multi-queue.
    pub queues: usize,
    /// Who is woken for a job.
    pub wake: Wake,
    /// The caller.
    pub line: Line,
    /// What may be on its way at a time.
    pub window: Window,
}

/// Items a worker in the window of tools-ng (`lib/common/writer/init.c`, `bin/tar2sqfs/options.c`: backlog).
const TOOLSNG_ITEMS: usize = 10;
/// The least window in bytes of packline (`WINDOW_LEAST` of `crates/packline/src/memory.rs`).
const LEAST_BYTES: f64 = (16 << 20) as f64;

impl Setup {
    /// tools-ng 1.1.0 as it is.
    pub fn toolsng(workers: usize) -> Self {
        let window = Window::Items(TOOLSNG_ITEMS * workers);
        Self { workers, design: "fifo".to_owned(), queues: 1, wake: Wake::Broadcast, line: Line::ToolsNg, window }
    }

    /// packline with one queue by place, for blocks of so many bytes.
    pub fn packline(workers: usize, block: f64) -> Self {
        let window = Window::Bytes(Self::bytes(workers, block));
        Self { workers, design: "heap".to_owned(), queues: 1, wake: Wake::One, line: Line::Packline, window }
    }

    /// A window in bytes: room for four blocks a worker and what they come to.
    pub fn bytes(workers: usize, block: f64) -> f64 {
        (workers as f64 * 8.0 * block).max(LEAST_BYTES)
    }

    /// A window in items, as tools-ng has it.
    pub fn items(workers: usize) -> Window {
        Window::Items(TOOLSNG_ITEMS * workers)
    }

    /// The answer.
    ///
    /// # Errors
    /// The design is unknown, or tools-ng's caller is asked for a window in bytes, which it has not.
    pub fn run(&self, machine: &Machine, work: &Workload) -> Result<Outcome, String> {
        match (self.line, self.window) {
            (Line::Packline, _) => self.with(machine, work, &mut Packline::new(work, self.window, self.workers)),
            (Line::ToolsNg, Window::Items(most)) => self.with(machine, work, &mut ToolsNg::new(work, most)),
            (Line::ToolsNg, Window::Bytes(_)) => Err("--caller toolsng has no window in bytes".to_owned()),
        }
    }

    fn with(
        &self,
        machine: &Machine,
        work: &Workload,
        caller: &mut dyn super::callers::Caller,
    ) -> Result<Outcome, String> {
        let design = designs::build(&self.design, self.workers, self.queues, &machine.costs)?;
        World::new(machine, work.demands, self.workers, design, self.wake, caller).run()
    }
}
