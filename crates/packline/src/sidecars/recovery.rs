//! Writes recovery data for files, compares it with a file, and repairs the file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_image::Output;
use packline_recovery::{Error as Fault, Examined, PacketLocation, Protected, RecoverySet, Redundancy, Shape, Summary};
#[cfg(feature = "pln")]
use packline_runtime::escape::Escape;
use packline_runtime::{FileInput, Input, Observer, OutputFile, Resources, Temporaries, WriteBehind, must_differ};
#[cfg(feature = "pln")]
use packline_runtime::{ScratchError, unnamed_temp_file};

use crate::container::opened_file::OpenedFile;
use crate::error::Error;
use crate::pack::outputs::open_output;

/// The usual name of the recovery data of a file.
pub use packline_runtime::recovery_beside as sidecar_of;

/// A file that is to be protected.
#[non_exhaustive]
pub struct ProtectRequest {
    /// The file.
    pub source: PathBuf,
    /// The destination of the recovery data.
    pub target: Output,
    /// How many recovery shards there are.
    pub redundancy: Redundancy,
    /// Workers and memory. They do not affect the output.
    pub resources: Resources,
    /// Registers temporary files for removal on exit.
    pub temporaries: Temporaries,
}

impl ProtectRequest {
    /// A request that uses all processors and has no memory limit.
    pub fn new(source: impl Into<PathBuf>, target: Output, redundancy: Redundancy) -> ProtectRequest {
        let resources = Resources::default();
        let temporaries = Temporaries::default();
        ProtectRequest { source: source.into(), target, redundancy, resources, temporaries }
    }
}

/// A file that is to be repaired.
#[non_exhaustive]
pub struct RepairRequest {
    /// The file.
    pub source: PathBuf,
    /// The file with the recovery data; `None` if it is in the same file, after the protected bytes.
    pub recovery: Option<PathBuf>,
    /// The destination of the repaired file; `None` to replace the damaged file after the repaired file was verified.
    pub target: Option<Output>,
    /// Workers and memory. They do not affect the output.
    pub resources: Resources,
    /// Registers temporary files for removal on exit.
    pub temporaries: Temporaries,
    /// Whether a file is replaced that was changed after its recovery data was written, perhaps on purpose.
    pub revert: bool,
}

impl RepairRequest {
    /// Replaces the file, with recovery data in it; with all processors, no memory limit.
    pub fn new(source: impl Into<PathBuf>) -> RepairRequest {
        let resources = Resources::default();
        let temporaries = Temporaries::default();
        RepairRequest { source: source.into(), recovery: None, target: None, resources, temporaries, revert: false }
    }
}

/// How a file compares with its recovery data.
#[derive(Debug, Clone)]
pub struct RecoveryState {
    /// Shards of the file, and recovery shards.
    pub shape: Shape,
    /// BLAKE3 of the protected bytes.
    pub blake3: [u8; 32],
    /// The shards.
    pub examined: Examined,
    /// Whether all recovery data is intact and at its position.
    pub recovery_is_whole: bool,
    /// Whether the file was missing.
    pub is_missing: bool,
    /// Whether the file was changed after the file with its recovery data was written. Then the recovery data belongs to an earlier state of
    /// the file, unless the file is intact.
    pub changed_later: bool,
}

impl RecoveryState {
    /// Whether the file and its recovery data are unchanged since the recovery data was written.
    pub fn is_whole(&self) -> bool {
        self.examined.is_whole() && self.recovery_is_whole
    }

    /// Whether a repair would replace content that was perhaps written on purpose.
    pub fn would_revert(&self) -> bool {
        self.changed_later && !self.examined.is_whole() && self.examined.can_be_repaired()
    }
}

/// Writes recovery data for a file. When this returns `Ok`, the recovery data is complete and has its name.
///
/// # Errors
/// [`Error`], with the name of the file.
pub fn protect(request: ProtectRequest, observer: &mut dyn Observer) -> Result<Protected, Error> {
    let ProtectRequest { source, target, redundancy, resources, temporaries } = request;
    let opened = OpenedFile::open(&source)?;
    if let Output::File { path, .. } = &target {
        must_differ(&source, path)?;
    }
    let names = ErrorPaths { source: &source, recovery: &source, output: &name_of(&target) };
    let mut output = open_output(target, &resources, &temporaries)?;
    // It can have all of the content.
    output.limit_access(&opened.attributes()?)?;
    let mut sink = output.sink()?;
    let input: Arc<dyn Input> = Arc::new(opened);
    let protected =
        packline_recovery::protect(&input, redundancy, PacketLocation::Sidecar, &mut sink, &resources, observer);
    let made = protected.map_err(|cause| names.error(cause))?;
    sink.flush().map_err(|cause| names.error(Fault::Output(cause)))?;
    output.finish(observer)?;
    Ok(made)
}

/// Compares a file with its recovery data, which is in the file if `recovery` is `None`.
///
/// # Errors
/// [`Error`], with the name of the file, also if too little of the recovery data is intact.
pub fn examine(
    source: &OpenedFile,
    recovery: Option<&Path>,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<RecoveryState, Error> {
    let input: Arc<dyn Input> = Arc::new(source.clone());
    Repair::new(source.path(), Some(input), recovery, resources, observer).map(|repair| repair.state())
}

/// Repairs a file. The result equals the protected file: recovery data inside the file is written again. An intact file is unchanged, or
/// copied if there is a target. A missing file is rebuilt, if its recovery data is in a separate file and suffices. Returns the state before
/// the repair.
///
/// # Errors
/// [`Error`], with the name of the file, which is unchanged. [`Error::ChangedLater`] for a file that would be replaced although it
/// was changed after its recovery data was written, unless [`RepairRequest::revert`].
pub fn repair(request: RepairRequest, observer: &mut dyn Observer) -> Result<RecoveryState, Error> {
    let RepairRequest { source, recovery, target, resources, temporaries, revert } = request;
    let opened = open_unless_missing(&source, recovery.is_some())?;
    let input = opened.clone().map(|opened| Arc::new(opened) as Arc<dyn Input>);
    let repair = Repair::new(&source, input, recovery.as_deref(), &resources, observer)?;
    let state = repair.state();
    let in_place = target.is_none();
    // Recovery data in a separate file is not repaired here.
    let is_done =
        state.examined.is_whole() && (state.recovery_is_whole || repair.set.location() == PacketLocation::Sidecar);
    if in_place && is_done {
        return Ok(state);
    }
    if let (true, Some(recovery)) = (in_place && !revert && state.would_revert(), &recovery) {
        return Err(Error::ChangedLater { path: source, recovery: recovery.clone() });
    }
    let about = opened.map(|opened| opened.attributes()).transpose()?;
    if in_place && about.as_ref().is_some_and(|about| !about.about().is_file()) {
        let what = "is not a regular file and cannot be replaced".into();
        let expected = "another output".into();
        return Err(Error::Target { path: source.clone(), what, expected });
    }
    let target = target.unwrap_or(Output::File { path: source.clone(), force: about.is_some() });
    let name = name_of(&target);
    if let (Output::File { path, .. }, false) = (&target, in_place) {
        must_differ(&source, path)?;
        recovery.iter().try_for_each(|recovery| must_differ(recovery, path))?;
    }
    let mut output = open_output(target, &resources, &temporaries)?;
    if let (true, Some(stamp)) = (in_place, repair.input.stamp()) {
        output.replaces_input(stamp)?;
        output.keeps_side_files();
    }
    repair.write(&output, (&name, &resources), observer)?;
    if let Some(about) = about.filter(|about| about.about().is_file()) {
        output.take_attributes(&about)?;
    }
    output.finish(observer)?;
    Ok(state)
}

/// Reads a recovery file: its parameters, and whether it is intact.
///
/// # Errors
/// [`Error`] if it cannot be read, or too little of it is intact.
pub fn recovery_info(file: &OpenedFile, resources: &Resources) -> Result<RecoverySet, Error> {
    let names = ErrorPaths::of(file.path());
    RecoverySet::sidecar(Arc::new(file.clone()), resources).map_err(|cause| names.error(cause))
}

/// The recovery data at the end of a file, according to its last bytes and the first packet.
///
/// # Errors
/// [`Error`] if the file cannot be read.
pub fn recovery_at_end(file: &OpenedFile) -> Result<Option<Summary>, Error> {
    let stripped =
        packline_recovery::strip(Arc::new(file.clone())).map_err(|cause| refused(file.path(), "cannot read", cause))?;
    Ok(stripped.recovery)
}

/// Returns a repaired and verified copy of the protected bytes of `file`, in an unnamed temporary file. Returns `None` if the file has not
/// enough recovery data, or if there is no directory for the copy. The observer is warned of the damage.
///
/// # Errors
/// [`Error`], with the name of the file.
#[cfg(feature = "pln")]
pub(crate) fn repaired_copy(
    path: &Path,
    file: &Arc<dyn Input>,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Option<Arc<dyn Input>>, Error> {
    let names = ErrorPaths::of(path);
    let Some(directory) = resources.scratch.as_deref() else { return Ok(None) };
    let Ok(set) = RecoverySet::appended(Arc::clone(file), resources) else { return Ok(None) };
    let examined = packline_recovery::examine(file, &set, resources, observer).map_err(|cause| names.error(cause))?;
    let shards = set.shape().shards();
    let name = path.escaped();
    let Examined { lost, repairable, .. } = examined;
    if !examined.can_be_repaired() {
        observer.warning(&format!(
            "{name}: {lost} of {shards} shards are lost, and its recovery data repairs {repairable}"
        ));
        return Ok(None);
    }
    let copied = copy(file, &set, &examined, directory, resources, observer).map_err(|cause| names.error(cause))?;
    observer.warning(&format!("{name}: is damaged, and is read from a repaired copy ({lost} of {shards} shards lost)"));
    Ok(Some(copied))
}

#[cfg(feature = "pln")]
fn copy(
    file: &Arc<dyn Input>,
    set: &RecoverySet,
    examined: &Examined,
    directory: &Path,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Arc<dyn Input>, Fault> {
    let refused = |cause| Fault::Output(ScratchError::wrap(directory, cause));
    let copy = unnamed_temp_file(directory).map_err(refused)?;
    let mut sink = WriteBehind::new(copy.try_clone().map_err(refused)?, None, Arc::default()).in_scratch(directory);
    packline_recovery::repair(file, set, examined, &mut sink, resources, observer)?;
    sink.flush().map_err(Fault::Output)?;
    let copy: Arc<dyn Input> = Arc::new(FileInput::new(copy).map_err(refused)?);
    packline_recovery::prove(&copy, set, resources, observer)?;
    Ok(copy)
}

/// Whether a regular file was modified after another one. Damage to a disk does not change the time of a file.
pub fn is_later(file: &Path, other: &Path) -> bool {
    let modified = |path: &Path| {
        let about = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
        about.and_then(|about| about.modified().ok())
    };
    modified(file).zip(modified(other)).is_some_and(|(file, other)| file > other)
}

/// Opens a file. Returns `None` for a missing file whose recovery data is in another file.
fn open_unless_missing(path: &Path, has_sidecar: bool) -> Result<Option<OpenedFile>, Error> {
    match OpenedFile::open(path) {
        Err(Error::Source { cause, .. }) if has_sidecar && cause.kind() == std::io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

/// A file and its recovery data.
struct Repair<'n> {
    names: ErrorPaths<'n>,
    input: Arc<dyn Input>,
    set: RecoverySet,
    examined: Examined,
    is_missing: bool,
    changed_later: bool,
}

impl<'n> Repair<'n> {
    /// `input`: the file; `None` if it is missing.
    fn new(
        source: &'n Path,
        input: Option<Arc<dyn Input>>,
        recovery: Option<&'n Path>,
        resources: &Resources,
        observer: &mut dyn Observer,
    ) -> Result<Repair<'n>, Error> {
        let names = ErrorPaths { source, recovery: recovery.unwrap_or(source), output: source };
        let is_missing = input.is_none();
        let input = input.unwrap_or_else(|| Arc::new(Vec::new()));
        let read_set = match recovery {
            Some(recovery) => RecoverySet::sidecar(Arc::new(OpenedFile::open(recovery)?), resources),
            None => RecoverySet::appended(Arc::clone(&input), resources),
        };
        let set = read_set.map_err(|cause| names.error(cause))?;
        let examination = packline_recovery::examine(&input, &set, resources, observer);
        let examined = examination.map_err(|cause| names.error(cause))?;
        let changed_later = recovery.is_some_and(|recovery| is_later(source, recovery));
        Ok(Repair { names, input, set, examined, is_missing, changed_later })
    }

    fn state(&self) -> RecoveryState {
        RecoveryState {
            shape: self.set.shape(),
            blake3: self.set.blake3(),
            examined: self.examined.clone(),
            recovery_is_whole: self.set.is_whole(),
            is_missing: self.is_missing,
            changed_later: self.changed_later,
        }
    }

    /// Writes the repaired file and verifies it. The file does not have its name yet.
    fn write(
        &self,
        output: &OutputFile,
        (name, resources): (&Path, &Resources),
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let names = ErrorPaths { output: name, ..self.names };
        let mut sink = output.sink()?;
        let written = self.repaired(output, &mut sink, resources, observer).and_then(|repaired| {
            if self.set.location() == PacketLocation::Appended {
                let shape = self.set.shape();
                packline_recovery::protect_again(
                    &repaired,
                    shape,
                    PacketLocation::Appended,
                    &mut sink,
                    resources,
                    observer,
                )?;
            }
            sink.flush().map_err(Fault::Output)
        });
        written.map_err(|cause| names.error(cause))
    }

    fn repaired(
        &self,
        output: &OutputFile,
        sink: &mut WriteBehind,
        resources: &Resources,
        observer: &mut dyn Observer,
    ) -> Result<Arc<dyn Input>, Fault> {
        packline_recovery::repair(&self.input, &self.set, &self.examined, sink, resources, observer)?;
        sink.flush().map_err(Fault::Output)?;
        let file = output.file().map_err(|cause| Fault::Output(std::io::Error::other(cause)))?;
        let repaired: Arc<dyn Input> = Arc::new(FileInput::new(file).map_err(Fault::Output)?);
        packline_recovery::prove(&repaired, &self.set, resources, observer)?;
        Ok(repaired)
    }
}

/// The files that an error can concern.
#[derive(Clone, Copy)]
pub(crate) struct ErrorPaths<'n> {
    pub(crate) source: &'n Path,
    pub(crate) recovery: &'n Path,
    pub(crate) output: &'n Path,
}

impl<'n> ErrorPaths<'n> {
    /// Uses one path for all three files.
    pub(crate) fn of(path: &'n Path) -> ErrorPaths<'n> {
        ErrorPaths { source: path, recovery: path, output: path }
    }

    pub(crate) fn error(&self, cause: Fault) -> Error {
        match cause {
            Fault::Input(cause) => refused(self.source, "cannot read", cause),
            Fault::Packets(cause) => refused(self.recovery, "cannot read", cause),
            Fault::Output(cause) => Error::Output { path: self.output.to_path_buf(), action: "cannot write", cause },
            Fault::Memory(fault) => Error::Memory(fault),
            Fault::NoData | Fault::TableLost { .. } => Error::stream(self.recovery, cause),
            cause => Error::stream(self.source, cause),
        }
    }
}

fn name_of(target: &Output) -> PathBuf {
    match target {
        Output::File { path, .. } | Output::Stream(path, _) => path.clone(),
    }
}

fn refused(path: &Path, action: &'static str, cause: std::io::Error) -> Error {
    Error::Source { path: path.to_path_buf(), action, cause }
}
