//! Writes and applies deltas between files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_delta::{DeltaOptions, Head, Made, Patched, Side};
use packline_image::Output;
use packline_runtime::{FileAttributes, Input, Observer, OutputFile, Resources, Temporaries, must_differ};

use crate::container::opened_file::OpenedFile;
use crate::container::scratch::stored;
use crate::error::Error;
use crate::pack::outputs::open_output;

/// A request to write a delta.
#[non_exhaustive]
pub struct DeltaRequest {
    /// The old file, which is needed to apply the delta.
    pub old: PathBuf,
    /// The new file, which the delta rebuilds.
    pub new: PathBuf,
    /// The destination of the delta.
    pub target: Output,
    /// Options that affect the delta's bytes.
    pub options: DeltaOptions,
    /// Workers and memory. They do not affect the output.
    pub resources: Resources,
    /// Registers temporary files for removal on exit.
    pub temporaries: Temporaries,
}

impl DeltaRequest {
    /// Uses the default effort, all processors, no memory limit.
    pub fn new(old: impl Into<PathBuf>, new: impl Into<PathBuf>, target: Output) -> DeltaRequest {
        let options = DeltaOptions::default();
        let resources = Resources::default();
        DeltaRequest {
            old: old.into(),
            new: new.into(),
            target,
            options,
            resources,
            temporaries: Temporaries::default(),
        }
    }
}

/// A request to apply a delta.
#[non_exhaustive]
pub struct PatchRequest {
    /// The old file.
    pub old: PathBuf,
    /// The delta. A stream is stored first, in [`Resources::scratch`], because the delta is read at any offset.
    pub delta: crate::container::input::Input,
    /// The destination of the new file.
    pub target: Output,
    /// Workers and memory. They do not affect the output.
    pub resources: Resources,
    /// Registers temporary files for removal on exit.
    pub temporaries: Temporaries,
}

impl PatchRequest {
    /// A request that uses all processors and has no memory limit.
    pub fn new(old: impl Into<PathBuf>, delta: crate::container::input::Input, target: Output) -> PatchRequest {
        let resources = Resources::default();
        let temporaries = Temporaries::default();
        PatchRequest { old: old.into(), delta, target, resources, temporaries }
    }
}

/// Writes a delta. When this returns `Ok`, the delta is complete and has its name.
///
/// # Errors
/// [`Error`], with the name of the file.
pub fn delta(request: DeltaRequest, observer: &mut dyn Observer) -> Result<Made, Error> {
    let DeltaRequest { old, new, target, options, resources, temporaries } = request;
    let opened_old = OpenedFile::open(&old)?;
    let opened_new = OpenedFile::open(&new)?;
    let access = opened_old.attributes()?.common_with(&opened_new.attributes()?);
    let inputs: [Arc<dyn Input>; 2] = [Arc::new(opened_old), Arc::new(opened_new)];
    let inputs = FilePair { names: [&old, &new], inputs, side: Side::New, access };
    inputs.run(target, &resources, &temporaries, observer, |[old, new], sink, observer| {
        packline_delta::delta(old, new, sink, &options, &resources, observer)
    })
}

/// Rebuilds the new file from the old file and a delta. When this returns `Ok`, the new file was compared with its hash and has its name.
///
/// # Errors
/// [`Error`], with the name of the file.
pub fn patch(request: PatchRequest, observer: &mut dyn Observer) -> Result<Patched, Error> {
    let PatchRequest { old, delta, target, resources, temporaries } = request;
    let opened_old = OpenedFile::open(&old)?;
    let mut access = opened_old.attributes()?;
    let (delta, opened_delta): (_, Arc<dyn Input>) = match delta {
        crate::container::input::Input::File(path) => {
            let opened = OpenedFile::open(&path)?;
            access = access.common_with(&opened.attributes()?);
            (path, Arc::new(opened))
        }
        crate::container::input::Input::Opened(file) => {
            access = access.common_with(&file.attributes()?);
            (file.path().to_path_buf(), Arc::new(file))
        }
        crate::container::input::Input::At(name, input) => (PathBuf::from(name), input),
        crate::container::input::Input::Stream(name, mut stream) => {
            let path = PathBuf::from(name);
            let stored = stored(&path, &mut stream, &resources)?;
            (path, stored)
        }
    };
    let inputs =
        FilePair { names: [&old, &delta], inputs: [Arc::new(opened_old), opened_delta], side: Side::Delta, access };
    inputs.run(target, &resources, &temporaries, observer, |[old, delta], sink, observer| {
        packline_delta::patch(old, delta, sink, &resources, observer)
    })
}

/// Reads the description of a delta.
///
/// # Errors
/// [`Error`] if the file cannot be read or is not a delta.
pub fn delta_info(delta: &OpenedFile) -> Result<Head, Error> {
    let path = delta.path();
    Head::read(delta).map_err(|cause| fault(path, path, path, cause))
}

/// The old file, and the new one or the delta.
struct FilePair<'n> {
    names: [&'n Path; 2],
    inputs: [Arc<dyn Input>; 2],
    /// The role of the second file.
    side: Side,
    /// Attributes that the output takes from both files.
    access: FileAttributes,
}

impl FilePair<'_> {
    /// Does the work. The output gets its name at the end.
    fn run<T>(
        &self,
        target: Output,
        resources: &Resources,
        temporaries: &Temporaries,
        observer: &mut dyn Observer,
        work: impl FnOnce(
            &[Arc<dyn Input>; 2],
            &mut dyn packline_runtime::Sink,
            &mut dyn Observer,
        ) -> Result<T, packline_delta::Error>,
    ) -> Result<T, Error> {
        let name = match &target {
            Output::File { path, .. } | Output::Stream(path, _) => path.clone(),
        };
        if let Output::File { path, .. } = &target {
            self.names.iter().try_for_each(|input| must_differ(input, path))?;
        }
        let mut output = open_output(target, resources, temporaries)?;
        output.limit_access(&self.access)?;
        let done = self.write(&output, &name, observer, work)?;
        output.finish(observer)?;
        Ok(done)
    }

    fn write<T>(
        &self,
        output: &OutputFile,
        name: &Path,
        observer: &mut dyn Observer,
        work: impl FnOnce(
            &[Arc<dyn Input>; 2],
            &mut dyn packline_runtime::Sink,
            &mut dyn Observer,
        ) -> Result<T, packline_delta::Error>,
    ) -> Result<T, Error> {
        let mut sink = output.sink()?;
        let [old, other] = self.names;
        let done = work(&self.inputs, &mut sink, observer);
        let done = done.map_err(|cause| match &cause {
            packline_delta::Error::Input { side, .. } | packline_delta::Error::Changed(side) if *side == self.side => {
                fault(other, other, name, cause)
            }
            _ => fault(old, other, name, cause),
        })?;
        sink.flush().map_err(|cause| Error::Output { path: name.to_path_buf(), action: "cannot write", cause })?;
        Ok(done)
    }
}

/// Adds the faulty file to an error: the input, the delta, or the output.
fn fault(read: &Path, delta: &Path, output: &Path, cause: packline_delta::Error) -> Error {
    use packline_delta::Error as Delta;
    match cause {
        Delta::Input { cause, .. } => Error::Source { path: read.to_path_buf(), action: "cannot read", cause },
        Delta::Output(cause) => Error::Output { path: output.to_path_buf(), action: "cannot write", cause },
        Delta::Memory(fault) => Error::Memory(fault),
        Delta::Codec(cause) => Error::Codec(cause),
        Delta::OtherOld { what, expected } => {
            let what = format!("is not the file that the delta was made for: {what}");
            Error::Target { path: read.to_path_buf(), what, expected }
        }
        Delta::Corrupt { .. } | Delta::NotDelta | Delta::Unsupported { .. } => Error::stream(delta, cause),
        cause => Error::stream(read, cause),
    }
}
