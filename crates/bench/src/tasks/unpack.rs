//! Measures unpacking: all programs unpack one image to a directory and to a tar, and their outputs are compared with the image.

use std::path::{Path, PathBuf};

use packline_codec::Spec;

use crate::benchmark::Outcome;
use crate::inputs::source::{name_of, read_file, size_of};
use crate::programs::command_line::{CommandLine, Stdout};
use crate::programs::pack_commands::{SERIAL, Unsupported};
use crate::programs::program::{Program, ProgramKind, UNPACKERS};
use crate::report::{Case, Input, Tails, Task};
use crate::runs::facts::{empty_report, losses, measure_storage};
use crate::runs::plan::{BenchCase, Competitor, Plan};
use crate::runs::process::{ProcessRunner, digest};
use crate::runs::runner::{Run, Runner, Verifier, processes};
use crate::runs::work_dir::{WorkDir, remove};
use crate::settings::UnpackSettings;
use crate::tasks::pack::{PlannedRun, measure, refuse_idle};
use crate::tree_diff::TreeDiff;
use crate::{Error, Session};

struct Image {
    path: PathBuf,
    size: u64,
    codec: String,
    block_size: u64,
    tails: Tails,
    content_bytes: u64,
    /// The number of sockets, which a tar cannot hold.
    sockets: u64,
}

/// # Errors
/// Returns an error if something fails before the first run.
pub fn run(settings: &UnpackSettings, session: &mut Session<'_>) -> Result<Outcome, Error> {
    let comparison = &settings.comparison;
    let (competitors, missing) = comparison.against.find(UNPACKERS, UNPACKERS)?;
    let programs = [vec![Program::packline(session.machine.program()?)], competitors].concat();
    let work_dir = WorkDir::new(&comparison.work_dir, &session.temporaries)?;
    let image = inspect(&settings.image, &programs[0], &processes(session, &work_dir), &work_dir)?;
    let plan = plan(&programs, settings, &image, &work_dir);
    let input = Input { name: name_of(&image.path), bytes: image.size };
    let mut report = empty_report(&comparison.runs, &session.machine, &programs, input);
    report.notes.extend(missing.into_iter().chain(plan.notes()).chain(losses(&programs)));
    if image.sockets > 0 && settings.tasks.contains(&Task::Tar) {
        let note = format!(
            "The image has {} sockets, which a tar cannot hold, so tars were not compared with the image.",
            image.sockets
        );
        report.notes.push(note);
    }
    refuse_idle(&plan, &programs, &comparison.against)?;
    session.progress.plan(&plan.summary(comparison.runs.runs, comparison.runs.warmups));
    report.storage = measure_storage(comparison, &work_dir, session.machine.clock)?;
    let mut verifier = UnpackVerifier { image, first_tar: None };
    let run = PlannedRun { programs, work_dir, plan: &plan, verifier: &mut verifier };
    Ok(measure(run, comparison, session, report))
}

/// Runs `packline info` on the image.
fn inspect(path: &Path, packline: &Program, processes: &ProcessRunner, work_dir: &WorkDir) -> Result<Image, Error> {
    let path = std::path::absolute(path).map_err(|cause| Error::file("find", path, &cause))?;
    let output = work_dir.at("info.json");
    let line = CommandLine::new(&packline.path).with(["info", "--json"]).with([&path]);
    processes.run(&line.stdout(Stdout::File(output.clone())))?;
    let text = std::fs::read(&output).map_err(|cause| Error::file("read", &output, &cause))?;
    image_of(path, &serde_json::from_slice(&text).unwrap_or_default())
}

fn image_of(path: PathBuf, info: &serde_json::Value) -> Result<Image, Error> {
    let number = |value: &serde_json::Value, name: &str| {
        value.as_u64().ok_or_else(|| Error::failed(format!("packline info --json printed no {name}")))
    };
    let flags = number(&info["flags"], "flags")?;
    // Bits 4 and 5 of the superblock's flags: no fragments, and tail ends always packed.
    let tails = match (flags & 0x10 != 0, flags & 0x20 != 0) {
        (true, _) => Tails::NoFragments,
        (false, true) => Tails::Fragments,
        (false, false) => Tails::NoTailPacking,
    };
    let codec = info["codec"].as_str().unwrap_or_default();
    Ok(Image {
        size: size_of(&path)?,
        path,
        codec: Spec::parse(codec).map_or(codec.to_owned(), |codec| codec.to_string()),
        block_size: number(&info["block_size"], "block_size")?,
        tails,
        content_bytes: number(&info["entries"]["content_bytes"], "content_bytes")?,
        sockets: number(&info["entries"]["sockets"], "sockets")?,
    })
}

fn plan(programs: &[Program], settings: &UnpackSettings, image: &Image, work_dir: &WorkDir) -> Plan {
    let mut plan = Plan::default();
    for (group, &task) in settings.tasks.iter().enumerate() {
        for &jobs in &settings.comparison.jobs {
            let mut competitors = Vec::new();
            for (index, program) in programs.iter().enumerate() {
                let output = (task == Task::Unpack).then(|| work_dir.at(&format!("tree-{index}")));
                let memory = settings.comparison.runs.memory;
                match unpack_line(program, jobs, memory, &image.path, output.as_deref()) {
                    Ok(line) => {
                        let codec = image.codec.clone();
                        let block_size = image.block_size;
                        let tails = image.tails;
                        let case = Case { task, codec, block_size, tails, program: program.label.clone(), jobs };
                        competitors.push(Competitor { case, program: index, line, output });
                    }
                    Err(unsupported) => plan.leave_out(&program.label, "", unsupported),
                }
            }
            plan.cases.push(BenchCase { group, competitors });
        }
    }
    plan
}

/// Returns the command line with which `program` unpacks `image` to the directory `tree`, or as a tar to standard output.
fn unpack_line(
    program: &Program,
    jobs: usize,
    memory: Option<u64>,
    image: &Path,
    tree: Option<&Path>,
) -> Result<CommandLine, Unsupported> {
    let line = CommandLine::new(&program.path);
    let count = jobs.to_string();
    if program.kind == ProgramKind::Packline {
        let memory = memory.map(|bytes| ["--mem".to_owned(), bytes.to_string()]);
        let line = line.with(["unpack", "--quiet", "--jobs", &count]).with(memory.into_iter().flatten()).with([image]);
        return Ok(match tree {
            Some(tree) => line.with([tree]),
            None => line.with(["-", "--to", "tar"]).stdout(Stdout::Discarded),
        });
    }
    if memory.is_some() {
        return Err(Unsupported::new("", "its memory cannot be limited"));
    }
    let line = match (program.kind, tree) {
        (ProgramKind::Unsquashfs, Some(tree)) => line.with(["-q", "-n", "-p", &count, "-d"]).with([tree, image]),
        (ProgramKind::Rdsquashfs, Some(tree)) => {
            // Only root can change owners.
            let owners = if rustix::process::geteuid().is_root() { "-qCXTO" } else { "-qCXT" };
            line.with([owners, "-u", "/", "-p"]).with([tree, image])
        }
        (ProgramKind::Sqfs2tar, None) => line.with([image]).stdout(Stdout::Discarded),
        (_, None) => return Err(Unsupported::new("tar", "it does not write tars")),
        (_, Some(_)) => return Err(Unsupported::new("directory", "it writes only tars")),
    };
    if program.kind.is_serial() && jobs != 1 { Err(Unsupported::new(SERIAL.0, SERIAL.1)) } else { Ok(line) }
}

struct UnpackVerifier {
    image: Image,
    /// The digest of the first tar of packline.
    first_tar: Option<blake3::Hash>,
}

impl UnpackVerifier {
    /// Writes the tar once more, because a measured tar is discarded.
    fn check_tar(&mut self, runner: &mut Runner<'_>, run: &Run<'_>) -> Result<(), Error> {
        let tar = runner.work_dir.at("check.tar");
        runner.run_check(&run.competitor.line.clone().stdout(Stdout::File(tar.clone())))?;
        if runner.is_packline(run) {
            let found = digest(&tar)?;
            match self.first_tar.replace(found) {
                Some(first) if first != found => {
                    return Err(runner.wrong(format!("the tar of {} differs from the one with fewer jobs", run.name())));
                }
                Some(_) => return remove(&tar),
                None => {}
            }
        }
        if self.image.sockets == 0 {
            self.compare_tar(runner, run, &tar)?;
        }
        remove(&tar)
    }

    fn compare_tar(&self, runner: &mut Runner<'_>, run: &Run<'_>, tar: &Path) -> Result<(), Error> {
        let packed = runner.work_dir.at("check.sqfs");
        let line = runner.packline().with(["pack", "-c", "lz4", "--quiet", "--force"]).with([tar, &packed]);
        runner.run_check(&line)?;
        let diff = TreeDiff { old: &self.image.path, new: &packed, losses: &[], root: false, implicit_dirs: None };
        diff.check(runner, &run.name())?;
        remove(&packed)
    }

    fn check_tree(&self, runner: &mut Runner<'_>, run: &Run<'_>, tree: &Path) -> Result<(), Error> {
        let losses = runner.programs[run.competitor.program].kind.losses();
        let diff = TreeDiff { old: &self.image.path, new: tree, losses, root: true, implicit_dirs: None };
        diff.check(runner, &run.name())
    }
}

impl Verifier for UnpackVerifier {
    fn prepare(&mut self, runner: &mut Runner<'_>) {
        runner.progress.begin("reading the image");
        read_file(&self.image.path);
    }

    /// Compares the outputs once for each case.
    fn check(&mut self, runner: &mut Runner<'_>, run: &Run<'_>) -> Result<(u64, u64), Error> {
        if run.round == 0 {
            match &run.competitor.output {
                Some(tree) => self.check_tree(runner, run, tree)?,
                None => self.check_tar(runner, run)?,
            }
        }
        Ok((self.image.content_bytes, self.image.size))
    }
}
