//! What is asked: the options of the command.

use super::callers::Window;
use super::designs;
use super::machine::Machine;
use super::published;
use super::report::Answer;
use super::setup::{Line, Setup};
use super::trace::{self, Seen};
use super::workload::Workload;
use super::world::Wake;
use crate::arguments::Arguments;
use crate::calibrate::calibration::Calibration;
use std::path::Path;

/// The command's options.
pub const OPTIONS: [&str; 12] = [
    "workload",
    "calibration",
    "workers",
    "design",
    "queues",
    "wake",
    "window",
    "budget",
    "caller",
    "cores",
    "csv",
    "json",
];

/// Workers if nothing else is said.
const WORKERS: [&str; 11] = ["1", "2", "4", "8", "16", "32", "64", "128", "256", "512", "1024"];
/// More are no machine of today.
const MOST_WORKERS: usize = 1024;
/// Workers that share a last-level cache and so a queue, if the number of queues is not said.
const SHARE: usize = 8;

/// The questions of one command.
#[derive(Debug)]
pub struct Request {
    /// What is to be done.
    pub work: Workload,
    /// Numbers of workers.
    pub workers: Vec<usize>,
    /// Designs of queues.
    pub designs: Vec<String>,
    seen: Option<Seen>,
    base: Machine,
    cores: Cores,
    queues: Option<usize>,
    wake: Wake,
    line: Line,
    window: Size,
}

/// How many cores.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cores {
    /// One for each worker and the caller.
    Enough,
    /// Those of the calibration.
    Here,
    /// The machine of the published table.
    Published,
    /// So many.
    Number(usize),
}

/// How large the window is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Size {
    Items,
    Bytes(Option<f64>),
}

impl Request {
    /// From the command's arguments.
    ///
    /// # Errors
    /// An option's value is none of those known, or a file cannot be read: which.
    pub fn parse(arguments: &Arguments) -> Result<Self, String> {
        let calibration = arguments.path("calibration").map(|path| calibration(&path)).transpose()?;
        let base = calibration.as_ref().map_or(published::MACHINE, Calibration::machine);
        let (seen, work) = workload(arguments, &base, calibration.as_ref())?;
        let line = line(arguments)?;
        let wake = wake(arguments, line)?;
        let workers = arguments.list("workers", &WORKERS).iter().map(|text| count(text)).collect::<Result<_, _>>()?;
        let queues = arguments.text("queues").map(count).transpose()?;
        let cores = cores(arguments, calibration.is_some())?;
        let designs = arguments.list("design", &designs::NAMES);
        let window = size(arguments, line)?;
        Ok(Self { work, workers, designs, seen, base, cores, queues, wake, line, window })
    }

    /// The machine for so many workers.
    pub fn machine(&self, workers: usize) -> Machine {
        let ideal = |cores| Machine::ideal(cores, self.base.costs.clone());
        match self.cores {
            Cores::Enough => ideal(workers + 1),
            Cores::Number(cores) => ideal(cores),
            Cores::Here | Cores::Published => self.base.clone(),
        }
    }

    /// How so many workers are organised.
    pub fn setup(&self, workers: usize, design: &str) -> Setup {
        let window = match self.window {
            Size::Items => Setup::items(workers),
            Size::Bytes(budget) => Window::Bytes(budget.unwrap_or_else(|| self.bytes(workers))),
        };
        let queues = self.queues.unwrap_or_else(|| workers.div_ceil(SHARE));
        Setup { workers, design: design.to_owned(), queues, wake: self.wake, line: self.line, window }
    }

    /// The window in bytes if none is asked for: for as many workers as the trace is of what it says, for others the default.
    fn bytes(&self, workers: usize) -> f64 {
        let seen = self.seen.as_ref().filter(|seen| seen.workers == workers);
        seen.and_then(|seen| seen.window).unwrap_or_else(|| Setup::bytes(workers, self.work.block))
    }

    /// What the trace's own run took, beside the answers for as many workers.
    pub fn comparison(&self, answers: &[Answer]) -> Option<String> {
        let seen = self.seen.as_ref()?;
        let same = answers.iter().filter(|answer| answer.workers == seen.workers);
        let off = |answer: &Answer| {
            let off = (answer.outcome.wall / seen.wall - 1.0) * 100.0;
            format!("{} {:.4} s ({off:+.1} %)", answer.design, answer.outcome.wall / 1e9)
        };
        let answers: Vec<String> = same.map(off).collect();
        let (workers, wall) = (seen.workers, seen.wall / 1e9);
        Some(format!("\nthe trace: {workers} workers, {wall:.4} s; simulated: {}", answers.join(", ")))
    }
}

fn calibration(path: &Path) -> Result<Calibration, String> {
    let text = std::fs::read_to_string(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    Calibration::from_json(&text).map_err(|cause| format!("{}: {cause}", path.display()))
}

/// The trace named, or a published workload.
fn workload(
    arguments: &Arguments,
    base: &Machine,
    calibration: Option<&Calibration>,
) -> Result<(Option<Seen>, Workload), String> {
    match (arguments.operands.as_slice(), arguments.text("workload")) {
        ([], name) => Ok((None, published::column(name.unwrap_or("lz4"))?.workload())),
        ([path], None) => {
            let text = std::fs::read_to_string(path).map_err(|cause| format!("{path}: {cause}"))?;
            // Without a calibration every thread is taken to have had a core of its own.
            let own = Machine::ideal(MOST_WORKERS, base.costs.clone());
            let machine = if calibration.is_some() { base } else { &own };
            let demand = calibration.map_or(0.0, Calibration::copy_demand);
            let mut seen = trace::read(&text, machine, demand).map_err(|cause| format!("{path}: {cause}"))?;
            seen.work.demands[0] = demand;
            let work = seen.work.clone();
            Ok((Some(seen), work))
        }
        (operands, _) => Err(format!("{operands:?} (expected one trace, or --workload NAME)")),
    }
}

fn line(arguments: &Arguments) -> Result<Line, String> {
    match arguments.text("caller") {
        None | Some("packline") => Ok(Line::Packline),
        Some("toolsng") => Ok(Line::ToolsNg),
        Some(other) => Err(format!("--caller {other} (expected packline or toolsng)")),
    }
}

fn wake(arguments: &Arguments, line: Line) -> Result<Wake, String> {
    match (arguments.text("wake"), line) {
        (Some("one"), _) | (None, Line::Packline) => Ok(Wake::One),
        (Some("broadcast"), _) | (None, Line::ToolsNg) => Ok(Wake::Broadcast),
        (Some(other), _) => Err(format!("--wake {other} (expected one or broadcast)")),
    }
}

fn size(arguments: &Arguments, line: Line) -> Result<Size, String> {
    let budget = match arguments.text("budget") {
        None => None,
        Some(text) => Some(text.parse::<u32>().map_err(|_| format!("--budget {text} (expected a number of MiB)"))?),
    };
    let bytes = budget.map(|mib| f64::from(mib) * f64::from(1 << 20));
    match (arguments.text("window"), line) {
        (Some("items"), _) | (None, Line::ToolsNg) if bytes.is_some() => {
            Err("--budget is for --window bytes".to_owned())
        }
        (Some("items"), _) | (None, Line::ToolsNg) => Ok(Size::Items),
        (Some("bytes"), _) | (None, Line::Packline) => Ok(Size::Bytes(bytes)),
        (Some(other), _) => Err(format!("--window {other} (expected items or bytes)")),
    }
}

fn cores(arguments: &Arguments, calibrated: bool) -> Result<Cores, String> {
    match arguments.text("cores") {
        None | Some("enough") => Ok(Cores::Enough),
        Some("here") if calibrated => Ok(Cores::Here),
        Some("here") => Err("--cores here needs --calibration".to_owned()),
        Some("published") if calibrated => Err("--cores published has its own costs, not a calibration's".to_owned()),
        Some("published") => Ok(Cores::Published),
        Some(number) => count(number).map(Cores::Number),
    }
}

fn count(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST_WORKERS).contains(number));
    number.ok_or_else(|| format!("{text} (expected a number from 1 to {MOST_WORKERS})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request, String> {
        Request::parse(&Arguments::parse(line.split_whitespace().map(str::to_owned))?)
    }

    #[test]
    fn packlines_own_rules_unless_something_else_is_said() {
        let request = parse("--workers 4,64 --design heap").unwrap();
        let setup = request.setup(64, "heap");
        assert_eq!((setup.line, setup.wake, setup.queues), (Line::Packline, Wake::One, 8));
        let window = |workers| request.setup(workers, "heap").window;
        assert_eq!([4, 64].map(window), [16 << 20, 64 << 20].map(|bytes| Window::Bytes(f64::from(bytes))));
        assert_eq!((request.machine(64).cores, request.workers.as_slice()), (65, [4, 64].as_slice()));
        let request = parse("--caller toolsng --cores published --queues 3").unwrap();
        let setup = request.setup(4, "fifo");
        assert_eq!((setup.line, setup.wake, setup.queues), (Line::ToolsNg, Wake::Broadcast, 3));
        assert_eq!((setup.window, request.machine(4)), (Window::Items(40), published::MACHINE));
        assert_eq!(parse("--budget 5").unwrap().setup(1, "heap").window, Window::Bytes(5.0 * 1_048_576.0));
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let wrong = [
            "--workload bzip2",
            "--workers 0",
            "--workers 1025",
            "--wake two",
            "--window large",
            "--caller other",
            "--cores here",
            "--cores none",
            "--budget x",
            "--window items --budget 3",
            "a b",
            "a --workload lz4",
            "/nonexistent/trace",
            "--calibration /nonexistent/figures",
            "--queues 0",
        ];
        for line in wrong {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
