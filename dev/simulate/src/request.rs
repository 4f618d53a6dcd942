//! The options of `run`, and the workload, machine and setup that they describe.

use crate::calibrate::calibration::Calibration;
use crate::callers::Window;
use crate::designs::DesignName;
use crate::machine::Machine;
use crate::published;
use crate::report::Answer;
use crate::setup::{CallerKind, Setup};
use crate::trace::{self, RecordedRun};
use crate::workload::Workload;
use crate::world::Wake;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// No machine has more processors today.
const MAX_WORKERS: usize = 1024;
/// Workers that share a last-level cache and therefore a queue, unless the number of queues is given.
const WORKERS_PER_QUEUE: usize = 8;

#[derive(Debug, Args)]
pub struct Options {
    /// A trace written by packline --trace
    #[arg(conflicts_with = "workload")]
    trace: Option<PathBuf>,
    /// A workload of the published table: none, lz4, gzip or xz
    #[arg(long, value_name = "NAME", default_value = "lz4")]
    workload: String,
    /// Costs of synchronisation, as `calibrate` writes them [default: those of the published table's machine]
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// Numbers of workers, 1 to 1024
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = count, default_value = "1,2,4,8,16,32,64,128,256,512,1024")]
    pub workers: Vec<usize>,
    /// Queue designs
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "fifo,heap,multiqueue,steal")]
    pub design: Vec<DesignName>,
    /// Queues of the multiqueue design [default: one for each 8 workers]
    #[arg(long, value_name = "N", value_parser = count)]
    queues: Option<usize>,
    /// Which sleeping workers a new job wakes [default: one, or broadcast with --caller toolsng]
    #[arg(long)]
    wake: Option<Wake>,
    /// Unit of the limit on work in flight [default: bytes, or items with --caller toolsng]
    #[arg(long)]
    window: Option<WindowUnit>,
    /// Window size in MiB, with --window bytes [default: the trace's, or 8 blocks a worker, at least 16]
    #[arg(long, value_name = "MIB")]
    budget: Option<u32>,
    /// Which program's caller thread
    #[arg(long, default_value = "packline")]
    caller: CallerKind,
    /// Cores: enough (one for each thread), here (those of the calibration), published (those of the table), or a number
    #[arg(long, default_value = "enough", value_parser = cores)]
    cores: Cores,
    /// File for the results as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// File for the results as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Options with all files read and all defaults filled in.
#[derive(Debug)]
pub struct Request {
    pub work: Workload,
    recorded: Option<RecordedRun>,
    base: Machine,
    cores: Cores,
    queues: Option<usize>,
    wake: Wake,
    caller: CallerKind,
    unit: WindowUnit,
    budget: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Cores {
    /// One for each worker and the caller.
    Enough,
    /// The costs of the calibration.
    Here,
    /// The costs of the machine of the published table.
    Published,
    Number(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum WindowUnit {
    Items,
    Bytes,
}

impl Request {
    /// # Errors
    /// A file cannot be read, or options contradict each other.
    pub fn new(options: &Options) -> Result<Self, String> {
        let Options { queues, caller, cores, .. } = *options;
        let calibration = options.calibration.as_deref().map(calibration).transpose()?;
        match (cores, &calibration) {
            (Cores::Here, None) => return Err("--cores here needs --calibration".to_owned()),
            (Cores::Published, Some(_)) => return Err("--cores published excludes --calibration".to_owned()),
            _ => {}
        }
        let (unit, wake) = match caller {
            CallerKind::Packline => (WindowUnit::Bytes, Wake::One),
            CallerKind::Toolsng => (WindowUnit::Items, Wake::Broadcast),
        };
        let unit = options.window.unwrap_or(unit);
        let wake = options.wake.unwrap_or(wake);
        if unit == WindowUnit::Items && options.budget.is_some() {
            return Err("--budget needs --window bytes".to_owned());
        }
        let base = calibration.as_ref().map_or(published::MACHINE, Calibration::machine);
        let (recorded, work) = workload(options, &base, calibration.as_ref())?;
        let budget = options.budget.map(|mib| f64::from(mib) * f64::from(1 << 20));
        Ok(Self { work, recorded, base, cores, queues, wake, caller, unit, budget })
    }

    pub fn machine(&self, workers: usize) -> Machine {
        let ideal = |cores| Machine::ideal(cores, self.base.costs.clone());
        match self.cores {
            Cores::Enough => ideal(workers + 1),
            Cores::Number(cores) => ideal(cores),
            Cores::Here | Cores::Published => self.base.clone(),
        }
    }

    pub fn setup(&self, workers: usize, design: DesignName) -> Setup {
        let window = match self.unit {
            WindowUnit::Items => Setup::items(workers),
            WindowUnit::Bytes => Window::Bytes(self.budget.unwrap_or_else(|| self.bytes(workers))),
        };
        let queues = self.queues.unwrap_or_else(|| workers.div_ceil(WORKERS_PER_QUEUE));
        Setup { workers, design, queues, wake: self.wake, caller: self.caller, window }
    }

    /// The default window in bytes: the trace's for the trace's own number of workers, otherwise packline's.
    fn bytes(&self, workers: usize) -> f64 {
        let recorded = self.recorded.as_ref().filter(|recorded| recorded.workers == workers);
        recorded.and_then(|recorded| recorded.window).unwrap_or_else(|| Setup::bytes(workers, self.work.largest_item))
    }

    /// The recorded run's wall time and the simulated ones for the same number of workers.
    pub fn comparison(&self, answers: &[Answer]) -> Option<String> {
        let recorded = self.recorded.as_ref()?;
        let same = answers.iter().filter(|answer| answer.workers == recorded.workers);
        let difference = |answer: &Answer| {
            let percent = (answer.outcome.wall / recorded.wall - 1.0) * 100.0;
            format!("{} {:.4} s ({percent:+.1} %)", answer.design.name(), answer.outcome.wall / 1e9)
        };
        let answers: Vec<String> = same.map(difference).collect();
        let workers = recorded.workers;
        let wall = recorded.wall / 1e9;
        Some(format!("\nthe trace: {workers} workers, {wall:.4} s; simulated: {}", answers.join(", ")))
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|cause| format!("{}: {cause}", path.display()))
}

fn calibration(path: &Path) -> Result<Calibration, String> {
    Calibration::from_json(&read(path)?).map_err(|cause| format!("{}: {cause}", path.display()))
}

/// The workload of the trace, or a published one.
fn workload(
    options: &Options,
    base: &Machine,
    calibration: Option<&Calibration>,
) -> Result<(Option<RecordedRun>, Workload), String> {
    let Some(path) = &options.trace else {
        return Ok((None, published::column(&options.workload)?.workload()));
    };
    // Without a calibration every thread is assumed to have had a core of its own.
    let own = Machine::ideal(MAX_WORKERS, base.costs.clone());
    let machine = if calibration.is_some() { base } else { &own };
    let demand = calibration.map_or(0.0, Calibration::copy_demand);
    let mut recorded =
        trace::read(&read(path)?, machine, demand).map_err(|cause| format!("{}: {cause}", path.display()))?;
    recorded.work.demands[0] = demand;
    let work = recorded.work.clone();
    Ok((Some(recorded), work))
}

fn cores(text: &str) -> Result<Cores, String> {
    match text {
        "enough" => Ok(Cores::Enough),
        "here" => Ok(Cores::Here),
        "published" => Ok(Cores::Published),
        number => count(number).map(Cores::Number),
    }
}

fn count(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MAX_WORKERS).contains(number));
    number.ok_or_else(|| format!("expected a number from 1 to {MAX_WORKERS}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn parse(line: &str) -> Result<(Request, Vec<usize>), String> {
        let words = std::iter::once("run").chain(line.split_whitespace());
        let Line { options } = Line::try_parse_from(words).map_err(|cause| cause.to_string())?;
        Ok((Request::new(&options)?, options.workers))
    }

    #[test]
    fn packlines_own_rules_by_default() {
        let (request, workers) = parse("--workers 4,64 --design heap").unwrap();
        let setup = request.setup(64, DesignName::Heap);
        assert_eq!((setup.caller, setup.wake, setup.queues), (CallerKind::Packline, Wake::One, 8));
        let window = |workers| request.setup(workers, DesignName::Heap).window;
        assert_eq!([4, 64].map(window), [16 << 20, 64 << 20].map(|bytes| Window::Bytes(f64::from(bytes))));
        assert_eq!((request.machine(64).cores, workers), (65, vec![4, 64]));
        let (request, _) = parse("--caller toolsng --cores published --queues 3").unwrap();
        let setup = request.setup(4, DesignName::Fifo);
        assert_eq!((setup.caller, setup.wake, setup.queues), (CallerKind::Toolsng, Wake::Broadcast, 3));
        assert_eq!((setup.window, request.machine(4)), (Window::Items(40), published::MACHINE));
        let (request, _) = parse("--budget 5").unwrap();
        assert_eq!(request.setup(1, DesignName::Heap).window, Window::Bytes(5.0 * 1_048_576.0));
    }

    #[test]
    fn invalid_options_are_refused() {
        let wrong = [
            "--workload bzip2",
            "--workers 0",
            "--workers 1025",
            "--design lifo",
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
