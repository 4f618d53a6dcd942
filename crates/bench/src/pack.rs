//! `bench pack`: a tree packed by everyone, what they made compared.

use std::path::{Path, PathBuf};

use packline::bench::Input;

use super::check::{Compare, compare};
use super::child::{Runner, digest};
use super::contest::{Arena, Found, Referee, Run};
use super::input::{Source, cannot, name_of, size_of};
use super::interruption::Interruption;
use super::outcome::Outcome;
use super::pack_lines::decompress_line;
use super::plan::{Choice, Contest, Plan, SAID, is_ours, pack_plan};
use super::program::{Kind, PACKERS, Program, peers};
use super::progress::Doing;
use super::report::{blank, floor_of_peaks, losses, measure_place, ours};
use super::scratch::{Scratch, clear};
use super::settings::Settings;
use super::synthetic::Synthetic;
use super::unlisted::Unlisted;
use crate::failure::Failure;
use crate::io::Io;
use crate::shown::Escape;

/// What must be known of wall times, where the place is a medium.
const SYNCED: &str = "packline ends when its image is on the medium (fsync); most others end before.";

/// Measures, and fills the report.
///
/// # Errors
/// Something fails before anything is measured.
pub fn run(settings: &Settings, io: &mut Io, interruption: &Interruption) -> Result<Outcome, Failure> {
    let scratch = Scratch::new(&settings.place, &io.temporaries)?;
    let (source, input) = source(settings, &scratch)?;
    let usual = match source {
        Source::Tar { .. } => [Kind::Mksquashfs, Kind::Tar2sqfs],
        Source::Directory { .. } => [Kind::Mksquashfs, Kind::Gensquashfs],
    };
    let (peers, missing) = peers(settings.against.as_deref(), PACKERS, &usual)?;
    let programs = [vec![ours(io)?], peers].concat();
    let choice = Choice {
        codecs: settings.codecs.clone(),
        block_sizes: settings.block_sizes.clone(),
        tails: settings.tails.clone(),
        jobs: settings.jobs.clone(),
        memory: settings.memory,
    };
    let plan = pack_plan(&programs, &choice, &source, &scratch.at(""));
    let mut report = blank(settings, io, &programs, input);
    report.notes.extend(missing.into_iter().chain(plan.notes()).chain(losses(&programs)));
    if programs.len() > 1 {
        report.notes.push(SYNCED.to_owned());
    }
    refuse_idle(&plan, &programs, settings)?;
    settings.print_plan(&plan.summary(settings.runs, settings.warmups), io);
    report.storage = measure_place(settings, &scratch)?;
    let runner = Runner::new(interruption, scratch.at("log"));
    let (warmups, runs, keep) = (settings.warmups, settings.runs, settings.keep);
    let planned = plan.runs(runs, warmups);
    let doing = Doing::new(io, planned, settings.bar, settings.quiet);
    let (interruption, found) = (interruption.clone(), Found::default());
    let mut arena = Arena { programs, runner, interruption, scratch, doing, warmups, runs, keep, found };
    let ended = arena.hold(&plan.contests, &mut Packing::new(source));
    let outcome = Outcome::of(report, arena, ended, planned);
    Ok(outcome.with_notes(|report| floor_of_peaks(&report.measured, (io.host.peak_memory)())))
}

/// The input that was named, or one made here.
fn source(settings: &Settings, scratch: &Scratch) -> Result<(Source, Input), Failure> {
    if let Some(synthetic) = Synthetic::named(&settings.input)? {
        let path = scratch.at("synthetic.tar");
        synthetic.write(&path).map_err(|cause| cannot("write", &path, &cause))?;
        let source = Source::open(&path)?;
        let input = source.described(settings.input.to_string_lossy().into_owned())?;
        return Ok((source, input));
    }
    let source = Source::open(&settings.input)?;
    let input = source.described(name_of(source.path()))?;
    Ok((source, input))
}

/// A peer that was named, and takes part in nothing, is a mistake.
pub fn refuse_idle(plan: &Plan, programs: &[Program], settings: &Settings) -> Result<(), Failure> {
    let all = settings.against.as_ref().is_none_or(|text| text == "all");
    match programs.iter().enumerate().find(|(index, _)| !all && !plan.has(*index)) {
        Some((_, idle)) => {
            let about = |note: &String| note.starts_with(&format!("{} takes no part", idle.label));
            let reasons: Vec<String> = plan.notes().filter(about).collect();
            Err(Failure::usage(format!("--against: {}", reasons.join(" "))))
        }
        None => Ok(()),
    }
}

/// Judges what packers made.
struct Packing {
    source: Source,
    /// Of a tar.
    unlisted: Option<Unlisted>,
    /// The digest of the source, once something had to be compared with it.
    source_digest: Option<blake3::Hash>,
    first: Option<First>,
}

/// What we made first of a group: everything else of the group must be it, or hold the same.
struct First {
    group: usize,
    digest: blake3::Hash,
    path: PathBuf,
    content_bytes: u64,
    by: String,
}

impl Packing {
    fn new(source: Source) -> Packing {
        let unlisted = match &source {
            Source::Tar { path, .. } => Some(Unlisted::of(path)),
            Source::Directory { .. } => None,
        };
        Packing { source, unlisted, source_digest: None, first: None }
    }

    /// Bytes of content.
    fn judge_ours(&mut self, arena: &mut Arena<'_>, run: &Run<'_>, made: &Path) -> Result<u64, Failure> {
        let found = digest(made)?;
        if let Some(first) = self.first.as_ref().filter(|first| first.group == run.group) {
            if found == first.digest {
                return Ok(first.content_bytes);
            }
            let what = format!("{} and {} made different images of the same", first.by, run.shown());
            return Err(arena.wrong(format!("{what}: {} and {}", first.path.escaped(), made.escaped())));
        }
        let content_bytes = content_bytes(&arena.scratch.at(SAID))?;
        // Under another name it is not in the way of the next run.
        let path = arena.scratch.at("first.sqfs");
        clear(&path)?;
        std::fs::hard_link(made, &path).map_err(|cause| cannot("link", &path, &cause))?;
        self.first = Some(First { group: run.group, digest: found, path, content_bytes, by: run.shown() });
        Ok(content_bytes)
    }

    /// A peer's work is compared once a contest.
    fn judge_peer(&mut self, arena: &mut Arena<'_>, run: &Run<'_>, made: &Path) -> Result<(), Failure> {
        let program = arena.programs[run.entrant.program].clone();
        if let Some(line) = decompress_line(&program, made, &arena.scratch.at("back")) {
            return self.judge_stream(arena, run, &line);
        }
        if program.kind == Kind::Mkdwarfs {
            return self.judge_dwarfs(arena, run, &program, made);
        }
        let (root, Some(first)) = (self.has_root(), &self.first) else { return Ok(()) };
        let unlisted = self.unlisted.as_mut();
        let compared = Compare { old: &first.path, new: made, lost: program.kind.loses(), root, unlisted };
        compare(arena, compared, &run.shown())
    }

    /// Whether the source says what its root is like; a tar need not.
    fn has_root(&self) -> bool {
        matches!(self.source, Source::Directory { .. })
    }

    fn judge_stream(&mut self, arena: &mut Arena<'_>, run: &Run<'_>, line: &super::line::Line) -> Result<(), Failure> {
        let back = arena.scratch.at("back");
        arena.help(line)?;
        let expected = match self.source_digest {
            Some(known) => known,
            None => *self.source_digest.insert(digest(self.source.path())?),
        };
        if digest(&back)? != expected {
            let what = format!("{}: what it made does not become {} again", run.shown(), self.source.path().escaped());
            return Err(arena.wrong(what));
        }
        clear(&back)
    }

    fn judge_dwarfs(
        &mut self,
        arena: &mut Arena<'_>,
        run: &Run<'_>,
        program: &Program,
        made: &Path,
    ) -> Result<(), Failure> {
        let back = arena.scratch.at("back");
        std::fs::create_dir(&back).map_err(|cause| cannot("make", &back, &cause))?;
        let extractor = program.path.with_file_name("dwarfsextract");
        let line = super::line::Line::new(&extractor).with([Path::new("-i"), made]).with([Path::new("-o"), &back]);
        arena.help(&line)?;
        let (old, lost) = (self.source.path(), program.kind.loses());
        compare(arena, Compare { old, new: &back, lost, root: true, unlisted: None }, &run.shown())?;
        clear(&back)
    }
}

impl Referee for Packing {
    fn open(&mut self, arena: &mut Arena<'_>, _: &Contest) -> Result<(), Failure> {
        arena.doing.begin("reading the input");
        self.source.warm();
        Ok(())
    }

    fn judge(&mut self, arena: &mut Arena<'_>, run: &Run<'_>) -> Result<(u64, u64), Failure> {
        let made = run.entrant.made.clone().unwrap_or_default();
        let size = size_of(&made)?;
        if is_ours(&arena.programs[run.entrant.program]) {
            return Ok((self.judge_ours(arena, run, &made)?, size));
        }
        if run.round == 0 {
            self.judge_peer(arena, run, &made)?;
        }
        Ok((self.first.as_ref().map_or(0, |first| first.content_bytes), size))
    }
}

/// Bytes of content, as `pack --json` prints them.
fn content_bytes(path: &Path) -> Result<u64, Failure> {
    let text = std::fs::read(path).map_err(|cause| cannot("read", path, &cause))?;
    let said: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    said["content_bytes"].as_u64().ok_or_else(|| Failure::failed("packline pack --json did not say content_bytes"))
}
