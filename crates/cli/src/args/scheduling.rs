//! Options of how workers find their jobs, what is counted of it and where it is written down.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline::engine::{Config, Policy, QueueDomain, RunStats, Scheduling, StatsSink, Tracer};
use packline::{Resources, must_differ, write_file};
use serde_json::{Value, json};

use crate::args::Args;
use crate::table::options::{Opt, Takes};
use crate::ui::counters;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::trace::Recorder;

const GROUP: &str = "Scheduling";

/// The options; nothing of them changes a byte.
pub const OPTIONS: &[Opt] = &[
    Opt::with(
        "share",
        "WHICH",
        Takes::Choice(&["none", "smt", "llc", "package", "all"]),
        "Workers that share a run queue: none, or those whose processors are of one core, one last-level cache, one package, \
         the machine",
    )
    .default("llc")
    .group(GROUP),
    Opt::with(
        "policy",
        "WHICH",
        Takes::Choice(&["earliest", "local"]),
        "What a worker takes: the earliest job of all queues, or one of its own queue unless another is longer",
    )
    .default("earliest")
    .group(GROUP),
    Opt::flag("help-out", "Have the thread that reads and writes run jobs too while it would wait").group(GROUP),
    Opt::with("trace", "FILE", Takes::Path, "Write who did what and when, as JSON for Perfetto or chrome://tracing")
        .group(GROUP),
];

/// Counting, of commands that have nothing else to count.
pub const STATS: &[Opt] = &[Opt::flag("stats", "Add counters of the workers to the summary").group(GROUP)];

/// What all these are called, for commands that honour only some of their options.
pub const NAMES: &[&str] = &["share", "policy", "help-out", "trace", "stats"];

/// What of other options is told of in a trace.
const TOLD: &[&str] = &["share", "policy", "codec", "level", "block-size", "record-size", "compress"];

/// Scheduling options, counters and the trace.
pub struct Watched {
    config: Config,
    sink: StatsSink,
    /// All counters so far.
    whole: RefCell<RunStats>,
    recorder: Option<Arc<Recorder>>,
    trace: Option<PathBuf>,
    force: bool,
    stats: bool,
}

/// Parses the scheduling options. --stats needs a timestamp source; --trace additionally buffers every event.
///
/// # Errors
/// [`Failure::Usage`] for what has no effect together; [`Failure::Failed`] if the trace's file is there already.
pub fn read(args: &Args, io: &Io) -> Result<Watched, Failure> {
    refuse_contradictions(args)?;
    let queue_per = args.text("share")?.and_then(QueueDomain::from_name).unwrap_or_default();
    let policy = args.text("policy")?.and_then(Policy::from_name).unwrap_or_default();
    let scheduling = Scheduling { queue_per, policy, topology: io.host.topology.clone() };
    let (trace, force, stats) = (args.path("trace"), args.has("force") && args.flag("force"), args.flag("stats"));
    refuse_existing(args, trace.as_ref().filter(|_| !force))?;
    refuse_operands(args, trace.as_deref())?;
    let recorder = match (&trace, stats) {
        (Some(_), _) => Some(Arc::new(Recorder::buffering())),
        (None, true) => Some(Arc::new(Recorder::clock())),
        (None, false) => None,
    };
    let (tracer, sink) = (recorder.clone().map(|recorder| recorder as _), StatsSink::default());
    let help_out = args.flag("help-out");
    let config = Config { scheduling, help_out, tracer, stats: Some(sink.clone()), ..Config::default() };
    Ok(Watched { config, sink, whole: RefCell::default(), recorder, trace, force, stats })
}

fn refuse_contradictions(args: &Args) -> Result<(), Failure> {
    for option in ["share", "policy", "help-out", "trace"] {
        if args.given(option) && args.has("serial") && args.flag("serial") {
            return Err(args.wrong(option, "cannot be used with --serial, which has neither threads nor queues"));
        }
    }
    Ok(())
}

/// Refuses a trace that would take the place of an input or of the output.
fn refuse_operands(args: &Args, trace: Option<&Path>) -> Result<(), Failure> {
    let Some(trace) = trace else { return Ok(()) };
    for operand in args.file_operands() {
        if operand == trace {
            return Err(args.wrong("trace", &format!("{} is an operand too", trace.escaped())));
        }
        must_differ(&operand, trace)?;
    }
    Ok(())
}

/// Refuses the name of a file that is there.
fn refuse_existing(args: &Args, path: Option<&PathBuf>) -> Result<(), Failure> {
    let Some(path) = path.filter(|path| fs::symlink_metadata(path).is_ok()) else { return Ok(()) };
    let expected = if args.has("force") { "--force to replace it" } else { "a name that is free" };
    Err(Failure::failed(format!("{}: exists already (expected {expected})", path.escaped())))
}

impl Watched {
    /// The resources, with these scheduling options.
    pub fn watching(&self, resources: Resources) -> Resources {
        Resources { engine: self.config.clone(), ..resources }
    }

    /// The counters since the last call, if they are to be shown.
    pub fn counted(&self) -> Option<RunStats> {
        let counted = self.sink.take();
        self.whole.borrow_mut().add(&counted);
        self.stats.then_some(counted)
    }

    /// What came of a command, as JSON or for people, with what was counted if that is to be told.
    pub fn summary(&self, json: bool, mut object: Value, mut text: String) -> String {
        let counted = self.counted();
        if json {
            counters::put_into(&mut object, counted.as_ref());
            return object.to_string();
        }
        counters::add_to(&mut text, counted.as_ref());
        text
    }

    /// Reports what a command made, as JSON (`--json`) or, unless `--quiet`, for people, with what was counted.
    pub fn say(&self, args: &Args, object: Value, text: String, io: &mut Io) {
        let json = args.flag("json");
        let summary = self.summary(json, object, text);
        match (json, args.flag("quiet")) {
            (true, _) => io.report_as(true, &format!("{summary}\n")),
            (false, true) => {}
            (false, false) => io.say_lines(&summary),
        }
    }

    /// Writes the trace of a command whose output has its name: what is wrong with the trace is a warning then.
    pub fn write_beside(&self, args: &Args, io: &mut Io) {
        if let Err(Failure::Failed(what)) = self.write(args, io) {
            io.warn(&what);
        }
    }

    /// Writes the trace, if there is to be one.
    ///
    /// # Errors
    /// Its file cannot be written.
    pub fn write(&self, args: &Args, io: &Io) -> Result<(), Failure> {
        let (Some(recorder), Some(path)) = (&self.recorder, &self.trace) else { return Ok(()) };
        let text = recorder.trace(&self.about(recorder, args)?).unwrap_or_default();
        Ok(write_file(path, text.as_bytes(), self.force, &io.temporaries)?)
    }

    fn about(&self, recorder: &Recorder, args: &Args) -> Result<Value, Failure> {
        self.counted();
        let whole = self.whole.borrow();
        let mut about = json!({
            "packline": env!("CARGO_PKG_VERSION"),
            "command": args.command(),
            "workers": whole.workers.len(),
            "queues": whole.queues.len(),
            "help_out": args.flag("help-out"),
            "window_bytes": whole.budget,
            "wall_ns": recorder.now(),
        });
        for option in TOLD.iter().filter(|option| args.has(option)) {
            about[option.replace('-', "_")] = json!(args.text(option)?);
        }
        Ok(about)
    }
}
