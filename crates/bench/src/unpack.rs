//! `bench unpack`: an image made a directory and a tar by everyone, what they made compared with it.

use std::path::{Path, PathBuf};

use packline::bench::{Case, Input, Tails, Task};
use packline::codec::Spec;

use super::check::{Compare, compare};
use super::child::{Runner, digest};
use super::contest::{Arena, Found, Referee, Run};
use super::input::{cannot, name_of, size_of, warm_file};
use super::interruption::Interruption;
use super::line::{Line, Printed};
use super::outcome::Outcome;
use super::pack::refuse_idle;
use super::pack_lines::{Lack, SERIAL};
use super::plan::{Contest, Entrant, Plan, is_ours};
use super::program::{Kind, Program, UNPACKERS, peers};
use super::progress::Doing;
use super::report::{blank, floor_of_peaks, losses, measure_place, ours};
use super::scratch::{Scratch, clear};
use super::settings::Settings;
use crate::failure::Failure;
use crate::io::Io;

/// What is to be known of the image.
struct Image {
    path: PathBuf,
    size: u64,
    codec: String,
    block_size: u64,
    tails: Tails,
    content_bytes: u64,
    /// Sockets in it, which no tar can hold.
    sockets: u64,
}

/// Measures, and fills the report.
///
/// # Errors
/// Something fails before anything is measured.
pub fn run(settings: &Settings, io: &mut Io, interruption: &Interruption) -> Result<Outcome, Failure> {
    let (peers, missing) = peers(settings.against.as_deref(), UNPACKERS, UNPACKERS)?;
    let programs = [vec![ours(io)?], peers].concat();
    let scratch = Scratch::new(&settings.place, &io.temporaries)?;
    let runner = Runner::new(interruption, scratch.at("log"));
    let image = look_at(&settings.input, &programs[0], &runner, &scratch)?;
    let plan = plan(&programs, settings, &image, &scratch);
    let input = Input { name: name_of(&image.path), bytes: image.size };
    let mut report = blank(settings, io, &programs, input);
    report.notes.extend(missing.into_iter().chain(plan.notes()).chain(losses(&programs)));
    if image.sockets > 0 && settings.tasks.contains(&Task::Tar) {
        let note = format!(
            "The image holds {} sockets, which no tar can hold: tars were not compared with it.",
            image.sockets
        );
        report.notes.push(note);
    }
    refuse_idle(&plan, &programs, settings)?;
    settings.print_plan(&plan.summary(settings.runs, settings.warmups), io);
    report.storage = measure_place(settings, &scratch)?;
    let (warmups, runs, keep) = (settings.warmups, settings.runs, settings.keep);
    let planned = plan.runs(runs, warmups);
    let doing = Doing::new(io, planned, settings.bar, settings.quiet);
    let (interruption, found) = (interruption.clone(), Found::default());
    let mut arena = Arena { programs, runner, interruption, scratch, doing, warmups, runs, keep, found };
    let ended = arena.hold(&plan.contests, &mut Unpacking { image, first_tar: None });
    let outcome = Outcome::of(report, arena, ended, planned);
    Ok(outcome.with_notes(|report| floor_of_peaks(&report.measured, (io.host.peak_memory)())))
}

/// Asks `packline info` about the image.
fn look_at(path: &Path, ours: &Program, runner: &Runner, scratch: &Scratch) -> Result<Image, Failure> {
    let whole = std::path::absolute(path).map_err(|cause| cannot("find", path, &cause))?;
    let said = scratch.at("info.json");
    runner.run(&Line::new(&ours.path).with(["info", "--json"]).with([&whole]).printing(Printed::To(said.clone())))?;
    let text = std::fs::read(&said).map_err(|cause| cannot("read", &said, &cause))?;
    image_of(whole, &serde_json::from_slice(&text).unwrap_or_default())
}

fn image_of(path: PathBuf, said: &serde_json::Value) -> Result<Image, Failure> {
    let number = |value: &serde_json::Value, name: &str| {
        value.as_u64().ok_or_else(|| Failure::failed(format!("packline info --json did not say {name}")))
    };
    let flags = number(&said["flags"], "flags")?;
    // Bits 4 and 5 of the superblock's flags: no fragments, and tail ends always packed.
    let tails = match (flags & 0x10 != 0, flags & 0x20 != 0) {
        (true, _) => Tails::NoFragments,
        (false, true) => Tails::Fragments,
        (false, false) => Tails::NoTailPacking,
    };
    let codec = said["codec"].as_str().unwrap_or_default();
    Ok(Image {
        size: size_of(&path)?,
        path,
        codec: Spec::parse(codec).map_or(codec.to_owned(), |codec| codec.to_string()),
        block_size: number(&said["block_size"], "block_size")?,
        tails,
        content_bytes: number(&said["entries"]["content_bytes"], "content_bytes")?,
        sockets: number(&said["entries"]["sockets"], "sockets")?,
    })
}

fn plan(programs: &[Program], settings: &Settings, image: &Image, scratch: &Scratch) -> Plan {
    let mut plan = Plan::default();
    for (group, &task) in settings.tasks.iter().enumerate() {
        for &jobs in &settings.jobs {
            let mut entrants = Vec::new();
            for (index, program) in programs.iter().enumerate() {
                let made = (task == Task::Unpack).then(|| scratch.at(&format!("tree-{index}")));
                match unpack_line(program, jobs, settings.memory, &image.path, made.as_deref()) {
                    Ok(line) => {
                        let (codec, block_size, tails) = (image.codec.clone(), image.block_size, image.tails);
                        let case = Case { task, codec, block_size, tails, program: program.label.clone(), jobs };
                        entrants.push(Entrant { case, program: index, line, made });
                    }
                    Err(lack) => plan.leave_out(&program.label, "", lack),
                }
            }
            plan.contests.push(Contest { group, entrants });
        }
    }
    plan
}

/// The line that makes `program` unpack `image`: to the directory `tree`, or as a tar to standard output.
fn unpack_line(
    program: &Program,
    jobs: usize,
    memory: Option<u64>,
    image: &Path,
    tree: Option<&Path>,
) -> Result<Line, Lack> {
    let line = Line::new(&program.path);
    let count = jobs.to_string();
    if program.kind == Kind::Packline {
        let memory = memory.map(|bytes| ["--mem".to_owned(), bytes.to_string()]);
        let line = line.with(["unpack", "--quiet", "--jobs", &count]).with(memory.into_iter().flatten()).with([image]);
        return Ok(match tree {
            Some(tree) => line.with([tree]),
            None => line.with(["-", "--to", "tar"]).printing(Printed::Discarded),
        });
    }
    if memory.is_some() {
        return Err(Lack::new("", "its memory cannot be limited"));
    }
    let line = match (program.kind, tree) {
        (Kind::Unsquashfs, Some(tree)) => line.with(["-q", "-n", "-p", &count, "-d"]).with([tree, image]),
        (Kind::Rdsquashfs, Some(tree)) => {
            // Whoever is not root cannot give files away.
            let owners = if rustix::process::geteuid().is_root() { "-qCXTO" } else { "-qCXT" };
            line.with([owners, "-u", "/", "-p"]).with([tree, image])
        }
        (Kind::Sqfs2tar, None) => line.with([image]).printing(Printed::Discarded),
        (_, None) => return Err(Lack::new("tar", "it makes no tars")),
        (_, Some(_)) => return Err(Lack::new("directory", "it makes only tars")),
    };
    if program.kind.is_serial() && jobs != 1 { Err(Lack::new(SERIAL.0, SERIAL.1)) } else { Ok(line) }
}

/// Judges what was unpacked.
struct Unpacking {
    image: Image,
    /// The digest of the first tar that we made.
    first_tar: Option<blake3::Hash>,
}

impl Unpacking {
    /// Makes the tar once more, since a measured one goes nowhere.
    fn judge_tar(&mut self, arena: &mut Arena<'_>, run: &Run<'_>) -> Result<(), Failure> {
        let tar = arena.scratch.at("check.tar");
        arena.help(&run.entrant.line.clone().printing(Printed::To(tar.clone())))?;
        if is_ours(&arena.programs[run.entrant.program]) {
            let found = digest(&tar)?;
            match self.first_tar.replace(found) {
                Some(first) if first != found => {
                    return Err(arena.wrong(format!("{} made another tar than with fewer jobs", run.shown())));
                }
                Some(_) => return clear(&tar),
                None => {}
            }
        }
        if self.image.sockets == 0 {
            self.compare_tar(arena, run, &tar)?;
        }
        clear(&tar)
    }

    fn compare_tar(&self, arena: &mut Arena<'_>, run: &Run<'_>, tar: &Path) -> Result<(), Failure> {
        let packed = arena.scratch.at("check.sqfs");
        let line = arena.ours().with(["pack", "-c", "lz4", "--quiet", "--force"]).with([tar, &packed]);
        arena.help(&line)?;
        let compared = Compare { old: &self.image.path, new: &packed, lost: &[], root: false, unlisted: None };
        compare(arena, compared, &run.shown())?;
        clear(&packed)
    }

    fn judge_tree(&self, arena: &mut Arena<'_>, run: &Run<'_>, made: &Path) -> Result<(), Failure> {
        let lost = arena.programs[run.entrant.program].kind.loses();
        let compared = Compare { old: &self.image.path, new: made, lost, root: true, unlisted: None };
        compare(arena, compared, &run.shown())
    }
}

impl Referee for Unpacking {
    fn open(&mut self, arena: &mut Arena<'_>, _: &Contest) -> Result<(), Failure> {
        arena.doing.begin("reading the image");
        warm_file(&self.image.path);
        Ok(())
    }

    /// Everything is looked at once a contest.
    fn judge(&mut self, arena: &mut Arena<'_>, run: &Run<'_>) -> Result<(u64, u64), Failure> {
        if run.round == 0 {
            match &run.entrant.made {
                Some(made) => self.judge_tree(arena, run, made)?,
                None => self.judge_tar(arena, run)?,
            }
        }
        Ok((self.image.content_bytes, self.image.size))
    }
}
