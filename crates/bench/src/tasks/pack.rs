//! Measures packing: all programs pack one tree, and their outputs are compared.

use std::path::{Path, PathBuf};

use packline_runtime::escape::Escape;

use crate::benchmark::Outcome;
use crate::inputs::source::{Source, name_of, size_of};
use crate::programs::command_line::CommandLine;
use crate::programs::pack_commands::decompress_line;
use crate::programs::program::{PACKERS, Program, ProgramKind};
use crate::report::Input;
use crate::runs::facts::{empty_report, least_peak, losses, measure_storage};
use crate::runs::plan::{PACK_SUMMARY, Plan, pack_plan};
use crate::runs::process::digest;
use crate::runs::runner::{Run, Runner, Verifier};
use crate::runs::work_dir::{WorkDir, remove};
use crate::settings::{Comparison, PackSettings, PackSource};
use crate::tree_diff::{ImplicitDirs, TreeDiff};
use crate::{Against, Error, Session, Setting};

/// The note that wall times on a medium are not quite comparable.
const SYNCED: &str =
    "packline ends after the image has been written to the disk (fsync). Most other programs end before that.";

/// # Errors
/// Returns an error if something fails before the first run.
pub fn run(settings: &PackSettings, session: &mut Session<'_>) -> Result<Outcome, Error> {
    let comparison = &settings.comparison;
    let work_dir = WorkDir::new(&comparison.work_dir, &session.temporaries)?;
    let (source, input) = source(&settings.source, &work_dir)?;
    let usual = match source {
        Source::Tar { .. } => [ProgramKind::Mksquashfs, ProgramKind::Tar2sqfs],
        Source::Directory { .. } => [ProgramKind::Mksquashfs, ProgramKind::Gensquashfs],
    };
    let (competitors, missing) = comparison.against.find(PACKERS, &usual)?;
    let programs = [vec![Program::packline(session.machine.program()?)], competitors].concat();
    let plan = pack_plan(&programs, settings, &source, &work_dir.at(""));
    let mut report = empty_report(&comparison.runs, &session.machine, &programs, input);
    report.notes.extend(missing.into_iter().chain(plan.notes()).chain(losses(&programs)));
    if programs.len() > 1 {
        report.notes.push(SYNCED.to_owned());
    }
    refuse_idle(&plan, &programs, &comparison.against)?;
    session.progress.plan(&plan.summary(comparison.runs.runs, comparison.runs.warmups));
    report.storage = measure_storage(comparison, &work_dir, session.machine.clock)?;
    let mut verifier = PackVerifier::new(source);
    let run = PlannedRun { programs, work_dir, plan: &plan, verifier: &mut verifier };
    Ok(measure(run, comparison, session, report))
}

/// A plan and everything that is needed to run it.
pub struct PlannedRun<'a> {
    pub programs: Vec<Program>,
    pub work_dir: WorkDir,
    pub plan: &'a Plan,
    pub verifier: &'a mut dyn Verifier,
}

/// Runs a plan and adds the results to the report.
pub fn measure(
    run: PlannedRun<'_>,
    settings: &Comparison,
    session: &mut Session<'_>,
    report: crate::Report,
) -> Outcome {
    let PlannedRun { programs, work_dir, plan, verifier } = run;
    let planned = plan.runs(settings.runs.runs + settings.runs.warmups);
    session.progress.start(planned);
    let peak_memory = session.machine.peak_memory;
    let mut runner = Runner::new(programs, work_dir, settings, session);
    let ended = runner.run(plan, verifier);
    let mut outcome = Outcome::of(report, runner, ended, planned);
    outcome.report.notes.extend(least_peak(&outcome.report.measured, peak_memory()));
    outcome
}

/// Returns the input of the user, or a generated input.
fn source(source: &PackSource, work_dir: &WorkDir) -> Result<(Source, Input), Error> {
    match source {
        PackSource::Path(path) => {
            let source = Source::open(path)?;
            let input = source.described(name_of(source.path()))?;
            Ok((source, input))
        }
        PackSource::Synthetic(synthetic) => {
            let path = work_dir.at("synthetic.tar");
            synthetic.write(&path).map_err(|cause| Error::file("write", &path, &cause))?;
            let source = Source::open(&path)?;
            let input = source.described(synthetic.name.clone())?;
            Ok((source, input))
        }
    }
}

/// Returns an error if a named competitor takes part in no case.
pub fn refuse_idle(plan: &Plan, programs: &[Program], against: &Against) -> Result<(), Error> {
    let named = matches!(against, Against::Named(_));
    match programs.iter().enumerate().find(|(index, _)| named && !plan.has(*index)) {
        Some((_, idle)) => {
            let about = |note: &String| note.starts_with(&format!("{} takes no part", idle.label));
            let reasons: Vec<String> = plan.notes().filter(about).collect();
            Err(Error::setting(Setting::Against, reasons.join(" ")))
        }
        None => Ok(()),
    }
}

struct PackVerifier {
    source: Source,
    /// The implicit directories, if the source is a tar.
    implicit_dirs: Option<ImplicitDirs>,
    /// The digest of the source, calculated at its first use.
    source_digest: Option<blake3::Hash>,
    reference: Option<Reference>,
}

/// The first image of packline in a group. packline's other images must be identical, and the images of competitors must hold the same tree.
struct Reference {
    group: usize,
    digest: blake3::Hash,
    path: PathBuf,
    content_bytes: u64,
    made_by: String,
}

impl PackVerifier {
    fn new(source: Source) -> PackVerifier {
        let implicit_dirs = match &source {
            Source::Tar { path, .. } => Some(ImplicitDirs::of(path)),
            Source::Directory { .. } => None,
        };
        PackVerifier { source, implicit_dirs, source_digest: None, reference: None }
    }

    /// Checks an image of packline. Returns the bytes of content.
    fn check_packline(&mut self, runner: &mut Runner<'_>, run: &Run<'_>, output: &Path) -> Result<u64, Error> {
        let found = digest(output)?;
        if let Some(reference) = self.reference.as_ref().filter(|reference| reference.group == run.group) {
            if found == reference.digest {
                return Ok(reference.content_bytes);
            }
            let what = format!("{} and {} wrote different images of the same input", reference.made_by, run.name());
            return Err(runner.wrong(format!("{what}: {} and {}", reference.path.escaped(), output.escaped())));
        }
        let content_bytes = content_bytes(&runner.work_dir.at(PACK_SUMMARY))?;
        // The next run removes the output, but this link keeps the file.
        let path = runner.work_dir.at("first.sqfs");
        remove(&path)?;
        std::fs::hard_link(output, &path).map_err(|cause| Error::file("link", &path, &cause))?;
        self.reference = Some(Reference { group: run.group, digest: found, path, content_bytes, made_by: run.name() });
        Ok(content_bytes)
    }

    fn check_competitor(&mut self, runner: &mut Runner<'_>, run: &Run<'_>, output: &Path) -> Result<(), Error> {
        let program = runner.programs[run.competitor.program].clone();
        if let Some(line) = decompress_line(&program, output, &runner.work_dir.at("back")) {
            return self.check_stream(runner, run, &line);
        }
        if program.kind == ProgramKind::Mkdwarfs {
            return self.check_dwarfs(runner, run, &program, output);
        }
        let (root, Some(reference)) = (self.has_root(), &self.reference) else { return Ok(()) };
        let implicit_dirs = self.implicit_dirs.as_mut();
        let losses = program.kind.losses();
        TreeDiff { old: &reference.path, new: output, losses, root, implicit_dirs }.check(runner, &run.name())
    }

    /// Whether the source has attributes of its root. A tar need not have them.
    fn has_root(&self) -> bool {
        matches!(self.source, Source::Directory { .. })
    }

    fn check_stream(&mut self, runner: &mut Runner<'_>, run: &Run<'_>, line: &CommandLine) -> Result<(), Error> {
        let back = runner.work_dir.at("back");
        runner.run_check(line)?;
        let expected = match self.source_digest {
            Some(known) => known,
            None => *self.source_digest.insert(digest(self.source.path())?),
        };
        if digest(&back)? != expected {
            let source = self.source.path().escaped();
            return Err(runner.wrong(format!("{}: its output does not decompress to {source}", run.name())));
        }
        remove(&back)
    }

    fn check_dwarfs(
        &mut self,
        runner: &mut Runner<'_>,
        run: &Run<'_>,
        program: &Program,
        output: &Path,
    ) -> Result<(), Error> {
        let back = runner.work_dir.at("back");
        std::fs::create_dir(&back).map_err(|cause| Error::file("make", &back, &cause))?;
        let extractor = program.path.with_file_name("dwarfsextract");
        let line = CommandLine::new(&extractor).with([Path::new("-i"), output]).with([Path::new("-o"), &back]);
        runner.run_check(&line)?;
        let old = self.source.path();
        let losses = program.kind.losses();
        TreeDiff { old, new: &back, losses, root: true, implicit_dirs: None }.check(runner, &run.name())?;
        remove(&back)
    }
}

impl Verifier for PackVerifier {
    fn prepare(&mut self, runner: &mut Runner<'_>) {
        runner.progress.begin("reading the input");
        self.source.read_ahead();
    }

    /// Compares the output of a competitor once for each case.
    fn check(&mut self, runner: &mut Runner<'_>, run: &Run<'_>) -> Result<(u64, u64), Error> {
        let output = run.competitor.output.clone().unwrap_or_default();
        let size = size_of(&output)?;
        if runner.is_packline(run) {
            return Ok((self.check_packline(runner, run, &output)?, size));
        }
        if run.round == 0 {
            self.check_competitor(runner, run, &output)?;
        }
        Ok((self.reference.as_ref().map_or(0, |reference| reference.content_bytes), size))
    }
}

/// Reads the bytes of content from the summary of `pack --json`.
fn content_bytes(path: &Path) -> Result<u64, Error> {
    let text = std::fs::read(path).map_err(|cause| Error::file("read", path, &cause))?;
    let summary: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    summary["content_bytes"].as_u64().ok_or_else(|| Error::failed("packline pack --json printed no content_bytes"))
}
