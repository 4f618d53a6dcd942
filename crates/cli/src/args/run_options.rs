//! Options for workers, memory, scheduling, progress and summary; counters and traces.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline::Resources;
use packline_engine::{Config, Policy, QueueDomain, RunStats, Scheduling, StatsSink, Tracer};
use packline_runtime::{must_differ, write_file};
use serde_json::{Value, json};

use super::value::{number, one_of, size};
use super::{Invocation, wrong};
use crate::host::{Host, usage};
use crate::ui::counters;
use crate::ui::elapsed::Started;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::trace::Recorder;

/// Options for tuning. The bytes of a result do not depend on them.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Scheduling")]
pub struct SchedulingOptions {
    /// Share a queue of jobs among the workers of a core (smt), cache (llc) or package, or among all
    #[arg(long, alias = "share", value_name = "WHICH", default_value = "llc", hide_short_help = true)]
    #[arg(value_parser = one_of(QueueDomain::EVERY.map(|domain| (domain.name(), domain))))]
    queue_per: QueueDomain,
    /// Let a worker take the earliest job, or one of its own queue, unless another queue is longer (local)
    #[arg(long, value_name = "WHICH", default_value = "earliest", hide_short_help = true)]
    #[arg(value_parser = one_of(Policy::EVERY.map(|policy| (policy.name(), policy))))]
    policy: Policy,
    /// Let the thread that reads and writes also run jobs instead of waiting
    #[arg(long, alias = "help-out", hide_short_help = true)]
    main_thread_works: bool,
    /// Write what each thread did and when, as JSON for Perfetto or chrome://tracing
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    trace: Option<PathBuf>,
}

/// `--stats` of commands without a summary.
#[derive(Debug, clap::Args)]
pub struct Stats {
    /// Print the workers' counters at the end
    #[arg(long, help_heading = None::<&'static str>)]
    pub stats: bool,
}

/// The long names of these options, for commands that reject others.
pub const NAMES: [&str; 5] = ["queue-per", "policy", "main-thread-works", "trace", "stats"];

/// The options that a trace records.
const RECORDED: [&str; 7] = ["queue-per", "policy", "codec", "level", "block-size", "record-size", "compress"];

/// How a command runs its workers, the counters of the workers, and the trace.
pub struct RunOptions {
    started: Started,
    config: Config,
    sink: StatsSink,
    whole: RefCell<RunStats>,
    recorder: Option<Arc<Recorder>>,
    trace: Option<PathBuf>,
    force: bool,
    stats: bool,
}

impl SchedulingOptions {
    /// Starts the clock. Counters need timestamps, and a trace keeps every event. `force` is `--force`, if the command has this option;
    /// `operands` are the files that the command reads and writes.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the trace would replace an operand; [`Failure::Failed`] if its file already exists.
    pub fn start(&self, stats: bool, force: Option<bool>, operands: &[&Path], io: &Io) -> Result<RunOptions, Failure> {
        let scheduling =
            Scheduling { queue_per: self.queue_per, policy: self.policy, topology: (io.host.topology)(self.queue_per) };
        self.refuse_existing(force)?;
        self.refuse_operands(operands)?;
        let recorder = match (&self.trace, stats) {
            (Some(_), _) => Some(Arc::new(Recorder::buffering())),
            (None, true) => Some(Arc::new(Recorder::clock())),
            (None, false) => None,
        };
        let tracer = recorder.clone().map(|recorder| recorder as _);
        let sink = StatsSink::default();
        let help_out = self.main_thread_works;
        let config = Config { scheduling, help_out, tracer, stats: Some(sink.clone()), ..Config::default() };
        let trace = self.trace.clone();
        let force = force.unwrap_or(false);
        let started = Started::now(&io.host);
        Ok(RunOptions { started, config, sink, whole: RefCell::default(), recorder, trace, force, stats })
    }

    fn refuse_operands(&self, operands: &[&Path]) -> Result<(), Failure> {
        let Some(trace) = &self.trace else { return Ok(()) };
        for operand in operands {
            if operand == trace {
                return Err(wrong("trace", format!("{} is also an input or output", trace.escaped())));
            }
            must_differ(operand, trace)?;
        }
        Ok(())
    }

    fn refuse_existing(&self, force: Option<bool>) -> Result<(), Failure> {
        let existing = self.trace.as_ref().filter(|path| fs::metadata(path).is_ok());
        let Some(path) = existing.filter(|_| force != Some(true)) else { return Ok(()) };
        let hint = if force.is_some() { "--force replaces it" } else { "choose another name" };
        Err(Failure::failed(format!("{}: already exists; {hint}", path.escaped())))
    }
}

impl RunOptions {
    pub fn apply(&self, mut resources: Resources) -> Resources {
        resources.engine = self.config.clone();
        resources
    }

    /// Returns the counters since the last call, with `--stats`.
    pub fn counted(&self) -> Option<RunStats> {
        let counted = self.sink.take();
        self.whole.borrow_mut().add(&counted);
        self.stats.then_some(counted)
    }

    /// Restarts the clock, for a separate summary.
    pub fn restart(&mut self, host: &Host) {
        self.started = Started::now(host);
    }

    /// Returns a summary, as JSON or as text, with the time that `bytes` of uncompressed content took, and the counters with `--stats`.
    pub fn summary(&self, json: bool, mut object: Value, mut text: String, bytes: u64) -> String {
        let counted = self.counted();
        let elapsed = self.started.elapsed(bytes);
        if json {
            elapsed.put_into(&mut object);
            counters::put_into(&mut object, counted.as_ref());
            return object.to_string();
        }
        text.push_str(&format!(", {}", elapsed.text()));
        counters::add_to(&mut text, counted.as_ref());
        text
    }

    /// Prints the summary of a finished output: as JSON, or as text unless `quiet` is set.
    pub fn report(&self, (json, quiet): (bool, bool), object: Value, text: String, bytes: u64, io: &mut Io) {
        let summary = self.summary(json, object, text, bytes);
        match (json, quiet) {
            (true, _) => io.report_as(true, &format!("{summary}\n")),
            (false, true) => {}
            (false, false) => io.eprint_lines(&summary),
        }
    }

    /// Prints the counters to standard error with `--stats`, for commands that write data to standard output.
    pub fn print_counters(&self, io: &mut Io) {
        if let Some(counted) = self.counted() {
            io.eprint_lines(&counters::text(&counted).join("\n"));
        }
    }

    /// Writes the trace after the output has its name: an error is only a warning.
    pub fn write_trace_or_warn(&self, invocation: &Invocation, io: &mut Io) {
        if let Err(Failure::Failed(what)) = self.write_trace(invocation, io) {
            io.warn(&what.to_string());
        }
    }

    /// Writes the trace if `--trace` was given.
    pub fn write_trace(&self, invocation: &Invocation, io: &Io) -> Result<(), Failure> {
        let (Some(recorder), Some(path)) = (&self.recorder, &self.trace) else { return Ok(()) };
        let text = recorder.trace(&self.about(recorder, invocation)).unwrap_or_default();
        Ok(write_file(path, text.as_bytes(), self.force, &io.temporaries)?)
    }

    fn about(&self, recorder: &Recorder, invocation: &Invocation) -> Value {
        self.counted();
        let whole = self.whole.borrow();
        let mut about = json!({
            "packline": env!("CARGO_PKG_VERSION"),
            "command": invocation.command,
            "workers": whole.workers.len(),
            "queues": whole.queues.len(),
            "help_out": self.config.help_out,
            "window_bytes": whole.budget,
            "wall_ns": recorder.now(),
        });
        let mut counters = counters::members(&whole);
        counters.extend(counters::usage(&usage::usage()));
        about["counters"] = Value::Object(counters);
        for option in RECORDED {
            if let Some(value) = invocation.text(option) {
                about[option.replace('-', "_")] = json!(value.to_string_lossy());
            }
        }
        about
    }
}

/// `--jobs` and `--mem`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Resources")]
pub struct Machine {
    /// Run N worker threads, or none with 0; the result is the same [default: number of CPUs]
    #[arg(short, long, value_name = "N", value_parser = number::<usize>(0..=1024))]
    jobs: Option<usize>,
    #[command(flatten)]
    memory: Memory,
}

/// `--mem`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Resources")]
pub struct Memory {
    /// Limit memory. With less, fewer threads run; the result is the same [default: what the system allows]
    #[arg(long, value_name = "SIZE", value_parser = size(0..=u64::MAX))]
    mem: Option<u64>,
}

impl Machine {
    pub fn resources(&self, host: &Host) -> Resources {
        self.memory.resources(self.jobs, host)
    }

    /// Returns the resources for .lrz files: by default a third of the memory, as in lrzip.
    pub fn lrz_resources(&self, host: &Host) -> Resources {
        let workers = self.jobs.unwrap_or_else(host.processors);
        host.resources_or(Some(workers), self.memory.mem.or_else(|| host.third_of_memory(workers)))
    }
}

impl Memory {
    /// Returns resources with `workers` workers, or one worker per CPU.
    pub fn resources(&self, workers: Option<usize>, host: &Host) -> Resources {
        host.resources_or(workers, self.mem)
    }
}

/// `--quiet`, `--no-progress`, `--json` and `--stats`.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct Reporting {
    /// Suppress progress and summary
    #[arg(short, long)]
    pub quiet: bool,
    /// Suppress the progress bar
    #[arg(long)]
    no_progress: bool,
    /// Print the summary as JSON to standard output
    #[arg(long)]
    pub json: bool,
    /// Add table sizes and worker counters to the summary
    #[arg(long)]
    pub stats: bool,
}

impl Reporting {
    /// Returns whether a progress bar is drawn on a terminal. Programs, which read JSON, get none.
    pub fn bar(&self) -> bool {
        !self.no_progress && !self.quiet && !self.json
    }
}
