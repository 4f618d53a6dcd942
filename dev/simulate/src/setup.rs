//! The parameters of one simulated run except the workload and the machine: the workers and how they are organised.

use crate::callers::{Caller, Packline, ToolsNg, Window};
use crate::designs::{self, DesignName};
use crate::machine::Machine;
use crate::outcome::Outcome;
use crate::workload::Workload;
use crate::world::{Wake, World};
use clap::ValueEnum;

/// The packer whose caller thread is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CallerKind {
    Packline,
    Toolsng,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// At least 1.
    pub workers: usize,
    pub design: DesignName,
    /// Queues of the multiqueue design.
    pub queues: usize,
    pub wake: Wake,
    pub caller: CallerKind,
    /// Limit on work in flight.
    pub window: Window,
}

/// Items a worker in the window of tools-ng (`lib/common/writer/init.c`, `bin/tar2sqfs/options.c`: backlog).
const TOOLSNG_ITEMS: usize = 10;
/// packline's smallest window, bytes (`WINDOW_LEAST` of `crates/packline/src/pack/memory.rs`).
const MIN_BYTES: f64 = (16 << 20) as f64;

impl Setup {
    pub fn toolsng(workers: usize) -> Self {
        let design = DesignName::Fifo;
        let caller = CallerKind::Toolsng;
        let window = Self::items(workers);
        Self { workers, design, queues: 1, wake: Wake::Broadcast, caller, window }
    }

    /// packline with one queue in output order; `block` is the size of the largest item in bytes.
    pub fn packline(workers: usize, block: f64) -> Self {
        let window = Window::Bytes(Self::bytes(workers, block));
        let design = DesignName::Heap;
        let caller = CallerKind::Packline;
        Self { workers, design, queues: 1, wake: Wake::One, caller, window }
    }

    /// packline's window in bytes: four blocks a worker and their results.
    pub fn bytes(workers: usize, block: f64) -> f64 {
        (workers as f64 * 8.0 * block).max(MIN_BYTES)
    }

    pub fn items(workers: usize) -> Window {
        Window::Items(TOOLSNG_ITEMS * workers)
    }

    /// # Errors
    /// The caller of tools-ng is given a window in bytes, which it does not support.
    pub fn run(&self, machine: &Machine, work: &Workload) -> Result<Outcome, String> {
        match (self.caller, self.window) {
            (CallerKind::Packline, _) => self.with(machine, work, &mut Packline::new(work, self.window, self.workers)),
            (CallerKind::Toolsng, Window::Items(max)) => self.with(machine, work, &mut ToolsNg::new(work, max)),
            (CallerKind::Toolsng, Window::Bytes(_)) => {
                Err("--caller toolsng does not support --window bytes".to_owned())
            }
        }
    }

    fn with(&self, machine: &Machine, work: &Workload, caller: &mut dyn Caller) -> Result<Outcome, String> {
        let design = designs::build(self.design, self.workers, self.queues, &machine.costs);
        World::new(machine, work.demands, self.workers, design, self.wake, caller).run()
    }
}
