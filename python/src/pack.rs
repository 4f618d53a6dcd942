//! `packline.pack`.

use packline::{Error, Packer, Tree};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{PathArgument, option_values};
use crate::failure::raise;
use crate::operation::{Control, PyCancelToken, Reporter, run};
use crate::sources::SourceArgument;
use crate::stream::PyStream;

/// The result of pack().
#[pyclass(name = "Packed", module = "packline", frozen, get_all)]
pub struct PyPacked {
    /// squashfs or erofs.
    container: &'static str,
    /// Bytes of content in the image.
    content_bytes: u64,
    /// Size of the image in bytes.
    output_bytes: u64,
    /// Number of blocks that were copied from a base.
    copied_blocks: u64,
    /// Number of threads.
    workers: usize,
    /// Number of errors after which the pack continued.
    errors: u64,
    /// Number of warnings.
    warnings: u64,
}

#[pymethods]
impl PyPacked {
    fn __repr__(&self) -> String {
        let PyPacked { container, content_bytes, output_bytes, .. } = self;
        format!("<packline.Packed {container}: {content_bytes} bytes in {output_bytes}>")
    }
}

impl From<packline::Packed> for PyPacked {
    fn from(packed: packline::Packed) -> PyPacked {
        PyPacked {
            container: packed.container.name(),
            content_bytes: packed.content_bytes,
            output_bytes: packed.output_bytes,
            copied_blocks: packed.copied_blocks,
            workers: packed.workers,
            errors: packed.errors,
            warnings: packed.warnings,
        }
    }
}

/// Where an image is written to.
enum Target {
    Path(std::path::PathBuf),
    Stream(PyStream),
}

/// Pack a source into an image.
///
/// source is the path of a directory, a tar or an image; an open Image; a Tree or a dict of contents; or a list of these, of which later ones
/// overlay earlier ones. target is a path, or a file object that can read, write and seek. Its ending chooses the container. progress is called
/// with a Progress about 20 times a second. The documentation lists the other options.
///
/// >>> packline.pack({"etc/hostname": b"box"}, "tree.sqfs", codec="zstd", level=19).content_bytes
/// 3
#[pyfunction]
#[pyo3(signature = (
    source, target, *, codec = None, level = None, progress = None, cancel = None, workers = None, **options
))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn pack(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    target: &Bound<'_, PyAny>,
    codec: Option<String>,
    level: Option<i32>,
    progress: Option<Py<PyAny>>,
    cancel: Option<Py<PyCancelToken>>,
    workers: Option<usize>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyPacked> {
    let mut settings = settings(py, options)?;
    settings.extend(codec_of(codec.as_deref(), level).map(|codec| ("codec".to_string(), codec)));
    let target = target_of(target)?;
    // The tree is taken last, so that a wrong option leaves it complete.
    let source = SourceArgument::new(source)?;
    let control = Control { progress, cancel, workers };
    run(py, &control, move |resources, reporter| write(source, target, &settings, resources, reporter))
        .map(PyPacked::from)
}

fn write(
    source: SourceArgument,
    target: Target,
    settings: &[(String, String)],
    resources: packline::Resources,
    reporter: &mut Reporter<'_>,
) -> Result<packline::Packed, Error> {
    let mut packer = Packer::new(source.open(&resources)?).resources(resources);
    for (name, value) in settings {
        packer = packer.set(name, value)?;
    }
    let packer = packer.observe(reporter);
    match target {
        Target::Path(path) => packer.write_to(path),
        Target::Stream(mut stream) => packer.write_into(&mut stream),
    }
}

fn target_of(target: &Bound<'_, PyAny>) -> PyResult<Target> {
    if target.hasattr("write")? {
        return Ok(Target::Stream(PyStream::new(target)));
    }
    target.extract().map(|path: PathArgument| Target::Path(path.into_host()))
}

/// The options as `Packer::set` takes them, all of them checked.
fn settings(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    let mut settings = Vec::new();
    for (name, value) in options.into_iter().flat_map(|options| options.iter()) {
        let name: String = name.extract()?;
        if value.is_none() {
            continue;
        }
        let name = name.replace('_', "-");
        for value in option_values(&name, &value)? {
            Packer::new(Tree::new()).set(&name, &value).map_err(|error| raise(py, error))?;
            settings.push((name.clone(), value));
        }
    }
    Ok(settings)
}

/// A codec with a level, as one text.
fn codec_of(codec: Option<&str>, level: Option<i32>) -> Option<String> {
    match (codec, level) {
        (codec, None) => codec.map(str::to_string),
        (None, Some(level)) => Some(format!("zstd:level={level}")),
        (Some(codec), Some(level)) => {
            let separator = if codec.contains(':') { ',' } else { ':' };
            Some(format!("{codec}{separator}level={level}"))
        }
    }
}
