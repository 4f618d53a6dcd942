//! Accounts for packline's processor time thread by thread: what one thread must do for each byte bounds the speed with any number of
//! workers. The times are counted by the processor, so they are valid on a machine with few processors, and with more workers than
//! processors.
//!
//! Each run of packline writes a trace, whose head has the counters.

mod counters;
mod lines;

use std::path::PathBuf;

use packline_codec::Spec;

use crate::benchmark::Outcome;
use crate::inputs::source::{Source, name_of, size_of};
use crate::programs::command_line::CommandLine;
use crate::programs::program::Program;
use crate::report::{Container, Input, Report, Serial, SerialRun, Step};
use crate::runs::facts::empty_report;
use crate::runs::process::ProcessRunner;
use crate::runs::runner::processes;
use crate::runs::work_dir::{WorkDir, remove};
use crate::settings::SerialSettings;
use crate::{Error, Progress, Session};
use lines::StepLine;

const NOTES: [&str; 4] = [
    "User, System, Read, Decide, Write and Rest are of the main thread. Read is its time between calls of the pipelines, which includes \
     reading the source. Write includes the system calls that write. Rest is what comes before, after and between the pipelines, \
     and the time to submit jobs. Reader and Writer are threads that only read a stream and only write, which packline starts with 3 workers or more. \
     Workers are all other threads, which include threads that decompress a source.",
    "Bound is 1 / (seconds for each GB of the main thread, or of the reader or the writer if it needs more). Useful is the workers' seconds over these \
     seconds, plus 1. The columns with numbers of workers are 1 / max(these seconds, workers / number): each thread has a \
     processor, and none waits.",
    "Copied/byte are the bytes of system calls that read and write, from /proc/self/io, over the bytes of content. Copies within the \
     program are not counted.",
    "The counters themselves cost a few microseconds for each block.",
];

/// # Errors
/// Returns an error if something fails before the first run.
pub fn run(settings: &SerialSettings, session: &mut Session<'_>) -> Result<Outcome, Error> {
    let program = Program::packline(session.machine.program()?);
    let work_dir = WorkDir::new(&settings.work_dir, &session.temporaries)?;
    let sources = settings.inputs.iter().map(|path| Source::open(path)).collect::<Result<Vec<_>, _>>()?;
    let mut report = empty_report(&settings.runs, &session.machine, std::slice::from_ref(&program), input(&sources)?);
    report.notes.extend(NOTES.map(str::to_owned));
    if let Some(directory) = &settings.traces {
        std::fs::create_dir_all(directory).map_err(|cause| Error::file("create", directory, &cause))?;
    }
    let plan = plan(settings, sources);
    report.notes.extend(plan.notes);
    let each = settings.runs.runs + settings.runs.warmups;
    let planned = plan.groups.iter().map(|group| group.steps.len()).sum::<usize>() * settings.jobs.len() * each;
    session.progress.plan(&format!("{planned} runs of packline"));
    session.progress.start(planned);
    let mut accounts = Accounts {
        settings,
        program: program.path,
        processes: processes(session, &work_dir),
        work_dir,
        progress: session.progress,
        done: 0,
    };
    let ended = plan.groups.iter().try_for_each(|group| accounts.measure(group, &mut report));
    let interrupted = accounts.processes.interruption.is_requested();
    let done = accounts.done;
    Ok(Outcome::partial(report, Vec::new(), ended, interrupted, done, planned))
}

/// The names and the size of all inputs.
fn input(sources: &[Source]) -> Result<Input, Error> {
    let inputs =
        sources.iter().map(|source| source.described(name_of(source.path()))).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    Ok(Input { name: names.join(", "), bytes: inputs.iter().map(|input| input.bytes).sum() })
}

#[derive(Default)]
struct Plan {
    groups: Vec<Group>,
    notes: Vec<String>,
}

/// The steps with one image: it is packed, then read.
struct Group {
    source: Source,
    codec: Spec,
    container: Container,
    /// In bytes; 0 for a container without blocks of a chosen size.
    block_size: u64,
    steps: Vec<Step>,
}

fn plan(settings: &SerialSettings, sources: Vec<Source>) -> Plan {
    let mut plan = Plan::default();
    for source in sources {
        for &container in &settings.containers {
            let reads: Vec<Step> =
                settings.steps.iter().copied().filter(|&step| lines::fits(step, container, &source)).collect();
            let sizes = if container == Container::Squashfs { &settings.block_sizes[..] } else { &[0] };
            for codec in &settings.codecs {
                if reads.is_empty() || !lines::has_codec(container, codec) {
                    plan.notes.push(format!(
                        "{} was not measured with {codec} and {}.",
                        container.name(),
                        name_of(source.path())
                    ));
                    continue;
                }
                for &block_size in sizes {
                    plan.groups.push(Group {
                        source: source.clone(),
                        codec: codec.clone(),
                        container,
                        block_size,
                        steps: reads.clone(),
                    });
                }
            }
        }
    }
    plan
}

/// The state that all groups share.
struct Accounts<'a> {
    settings: &'a SerialSettings,
    program: PathBuf,
    processes: ProcessRunner,
    work_dir: WorkDir,
    progress: &'a mut dyn Progress,
    done: usize,
}

impl Accounts<'_> {
    /// Measures the steps of a group, each with all numbers of workers in turn.
    fn measure(&mut self, group: &Group, report: &mut Report) -> Result<(), Error> {
        self.progress.begin("reading the input");
        group.source.read_ahead();
        let content_bytes = self.pack_once(group)?;
        for &step in &group.steps {
            let mut all: Vec<Serial> =
                self.settings.jobs.iter().map(|&jobs| unmeasured(group, step, jobs, content_bytes)).collect();
            for round in 0..self.settings.runs.warmups + self.settings.runs.runs {
                for case in &mut all {
                    let run = self.run_step(group, step, case.jobs)?;
                    case.image_bytes = size_of(&self.image(group))?;
                    if round >= self.settings.runs.warmups {
                        case.runs.push(run);
                        self.processes.interruption.set_measured();
                    }
                    self.done += 1;
                    self.progress.step();
                }
            }
            for case in all {
                self.keep_trace(&case)?;
                self.show(&case);
                report.serial.push(case);
            }
        }
        remove(&self.image(group))
    }

    /// Packs the image that the reading steps need. Returns the bytes of content.
    fn pack_once(&mut self, group: &Group) -> Result<u64, Error> {
        let step = if matches!(group.source, Source::Directory { .. }) { Step::PackDirectory } else { Step::PackTar };
        self.run_step(group, step, self.settings.jobs[0])?;
        match group.container {
            Container::Squashfs => counters::content_bytes(&self.work_dir.at(lines::SUMMARY)),
            Container::Lrz | Container::Pln => size_of(group.source.path()),
        }
    }

    fn run_step(&mut self, group: &Group, step: Step, jobs: usize) -> Result<SerialRun, Error> {
        self.progress.begin(&format!("{}, {}, {}", step.name(), group.codec, group.container.name()));
        let image = self.image(group);
        let trace = self.trace(step, jobs);
        let tree = self.work_dir.at("tree");
        remove(&trace)?;
        remove(&tree)?;
        if step.packs() {
            remove(&image)?;
        }
        let line = StepLine {
            group,
            step,
            jobs,
            memory: self.settings.runs.memory,
            image: &image,
            tree: &tree,
            trace: &trace,
        };
        let line: CommandLine = line.line(&self.program, &self.work_dir);
        self.processes.run(&line)?;
        let run = counters::read(&trace)?;
        remove(&tree)?;
        Ok(run)
    }

    fn image(&self, group: &Group) -> PathBuf {
        self.work_dir.at(&format!("image.{}", lines::ending(group.container)))
    }

    fn trace(&self, step: Step, jobs: usize) -> PathBuf {
        self.work_dir.at(&format!("{}-{jobs}.json", step.name()))
    }

    /// Moves the trace of the last run to the directory for traces, or removes it.
    fn keep_trace(&self, case: &Serial) -> Result<(), Error> {
        let trace = self.trace(case.step, case.jobs);
        let Some(directory) = &self.settings.traces else { return remove(&trace) };
        let Serial { input, step, codec, container, block_size, jobs, .. } = case;
        let name = format!("{input}-{}-{codec}-{}-{block_size}-{jobs}.json", step.name(), container.name());
        let kept = directory.join(name.replace([':', ',', '='], "_"));
        std::fs::copy(&trace, &kept).map_err(|cause| Error::file("write", &kept, &cause))?;
        remove(&trace)
    }

    fn show(&mut self, case: &Serial) {
        let Serial { input, step, codec, jobs, content_bytes, .. } = case;
        let gigabytes = (*content_bytes as f64 / 1e9).max(f64::MIN_POSITIVE);
        let main =
            crate::report::Spread::of(case.runs.iter().map(|run| run.main_user + run.main_system)).median / gigabytes;
        self.progress
            .message(&format!("{input}, {} {codec}, jobs {jobs}: {main:.3} s per GB in the main thread", step.name()));
    }
}

fn unmeasured(group: &Group, step: Step, jobs: usize, content_bytes: u64) -> Serial {
    Serial {
        input: name_of(group.source.path()),
        step,
        codec: group.codec.to_string(),
        container: group.container,
        block_size: group.block_size,
        jobs,
        content_bytes,
        image_bytes: 0,
        runs: Vec::new(),
    }
}
