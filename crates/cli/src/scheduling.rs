//! Options of how workers find their jobs, what is counted of it and where it is written down.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use packline::line::{Config, Policy, Scheduling, Share};
use packline::{PackSummary, write_file};
use serde_json::json;

use crate::args::Args;
use crate::failure::Failure;
use crate::io::Io;
use crate::options::{Opt, Takes};
use crate::trace::Recorder;

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

/// How a line is run, and what is written down of it.
pub struct Watched {
    recorder: Option<Arc<Recorder>>,
    trace: Option<PathBuf>,
    force: bool,
}

/// What the options ask for. Counting (`stats`) needs a clock, a trace a book.
///
/// # Errors
/// [`Failure::Usage`] for what has no effect together; [`Failure::Failed`] if the trace's file is there already.
pub fn read(args: &Args, io: &Io, stats: bool) -> Result<(Config, Watched), Failure> {
    refuse_contradictions(args)?;
    let share = args.text("share")?.and_then(Share::from_name).unwrap_or_default();
    let policy = args.text("policy")?.and_then(Policy::from_name).unwrap_or_default();
    let scheduling = Scheduling { share, policy, topology: io.host.topology.clone(), ..Scheduling::default() };
    let (trace, force) = (args.path("trace"), args.flag("force"));
    if let Some(path) = trace.as_ref().filter(|path| !force && fs::symlink_metadata(path).is_ok()) {
        let what = format!("{}: exists already (expected --force to replace it)", path.display());
        return Err(Failure::failed(what));
    }
    let recorder = match (&trace, stats) {
        (Some(_), _) => Some(Arc::new(Recorder::book())),
        (None, true) => Some(Arc::new(Recorder::clock())),
        (None, false) => None,
    };
    let tracer = recorder.clone().map(|recorder| recorder as _);
    let config = Config { scheduling, help_out: args.flag("help-out"), tracer, ..Config::default() };
    Ok((config, Watched { recorder, trace, force }))
}

fn refuse_contradictions(args: &Args) -> Result<(), Failure> {
    for option in ["share", "policy", "help-out", "trace"] {
        if args.given(option) && args.flag("serial") {
            return Err(args.wrong(option, "cannot be used with --serial, which has neither threads nor queues"));
        }
    }
    Ok(())
}

impl Watched {
    /// Writes the trace, if there is to be one.
    ///
    /// # Errors
    /// Its file cannot be written.
    pub fn write(&self, summary: &PackSummary, args: &Args, io: &Io) -> Result<(), Failure> {
        let (Some(recorder), Some(path)) = (&self.recorder, &self.trace) else { return Ok(()) };
        let about = json!({
            "packline": env!("CARGO_PKG_VERSION"),
            "workers": summary.workers,
            "queues": summary.image.queues.len(),
            "share": args.text("share")?,
            "policy": args.text("policy")?,
            "help_out": args.flag("help-out"),
            "codec": args.text("codec")?,
            "block_size": args.text("block-size")?,
            "window_bytes": summary.window,
            "wall_ns": packline::line::Tracer::now(&**recorder),
        });
        let text = recorder.trace(&about).unwrap_or_default();
        Ok(write_file(path, text.as_bytes(), self.force, &io.temporaries)?)
    }
}
