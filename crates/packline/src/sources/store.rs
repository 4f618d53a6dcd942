//! Stores the tars and cpio archives of a stack that cannot be read twice, decompressed, in unnamed temporary files, several at a time.

use std::io::Read;
use std::path::{Path, PathBuf};

use packline_archives::decompress::Limits;
#[cfg(feature = "oci")]
use packline_archives::oci::OciLayer;
use packline_archives::{Part, cpio};
use packline_engine::{CancelToken, Config, Fault, Task};
use packline_runtime::memory::MapPlan;
use packline_runtime::{Input as _, Resources, WorkFault, store_stream};

use super::inputs::must_be_unchanged;
use super::planned::Share;
use super::tar::{DECOMPRESSOR_LEAST, TarContent, decompressor};
use crate::error::Error;

/// A tar that is read to its end before its entries are used.
pub(super) struct UnreadTar {
    pub(super) name: String,
    pub(super) content: UnreadContent,
    pub(super) compressed: bool,
}

/// The bytes of a tar that was not read yet.
pub(super) enum UnreadContent {
    Tar(TarContent),
    #[cfg(feature = "oci")]
    Oci(OciLayer),
}

impl UnreadContent {
    /// Whether empty content is an empty tar.
    fn may_be_empty(&self) -> bool {
        match self {
            UnreadContent::Tar(_) => false,
            #[cfg(feature = "oci")]
            UnreadContent::Oci(_) => true,
        }
    }
}

/// A tar that was read to its end.
pub(super) struct StoredTar {
    pub(super) name: String,
    pub(super) tar: Part,
    pub(super) may_be_empty: bool,
}

/// Memory and threads for storing tars.
pub(super) struct StoreShare {
    /// Number of tars that are stored at a time.
    at_once: usize,
    /// The limits of each decompressor.
    limits: Limits,
}

impl StoreShare {
    /// Divides a share of the memory among `count` tars.
    pub(super) fn new(count: usize, share: &Share) -> StoreShare {
        let fits = usize::try_from(share.spare / DECOMPRESSOR_LEAST).unwrap_or(usize::MAX).saturating_add(1);
        let at_once = count.min(share.threads.max(1)).min(fits).max(1);
        let (limits, _) = decompressor(true, share.threads / at_once, share.spare / at_once as u64);
        StoreShare { at_once, limits }
    }
}

/// Stores all tars, in their order.
///
/// # Errors
/// [`Error::Tree`] for the first tar that cannot be read or stored, or that has another digest.
pub(super) fn store(tars: Vec<UnreadTar>, share: StoreShare, resources: &Resources) -> Result<Vec<StoredTar>, Error> {
    if tars.is_empty() {
        return Ok(Vec::new());
    }
    let workers = if resources.workers == 0 { 0 } else { share.at_once };
    let task = Store { limits: share.limits, scratch: resources.scratch.clone(), cancel: resources.cancel.clone() };
    // Layers are stored before the pack begins, on workers of their own.
    let mut own_resources = resources.clone();
    own_resources.engine = Config::default();
    let started = own_resources.map(task, MapPlan { workers, window: usize::MAX });
    let mut map = started.map_err(|fault| Error::workers(Path::new("layers"), fault))?;
    let mut parts = Vec::with_capacity(tars.len());
    let mut keep = |part| {
        parts.push(part);
        Ok(())
    };
    let mut submitted = tars.into_iter().try_for_each(|tar| map.submit(tar, &mut keep));
    submitted = submitted.and_then(|()| map.drain(&mut keep));
    submitted.map_err(of_fault)?;
    Ok(parts)
}

/// Stores tars, and checks the layers of container images.
struct Store {
    limits: Limits,
    scratch: Option<PathBuf>,
    cancel: CancelToken,
}

impl Task for Store {
    type In = UnreadTar;
    type Out = StoredTar;
    type Error = packline_tree::Error;
    type Tool = ();

    fn tool(&self) {}

    fn run(&self, (): &mut (), tar: UnreadTar) -> Result<StoredTar, packline_tree::Error> {
        let UnreadTar { name, content, .. } = tar;
        let may_be_empty = content.may_be_empty();
        let tar = match content {
            UnreadContent::Tar(TarContent::File(file)) => {
                let part = self.store(&name, file.stream())?;
                must_be_unchanged(&name, file.rewritten())?;
                part
            }
            UnreadContent::Tar(TarContent::Stream(stream)) => self.store(&name, stream)?,
            #[cfg(feature = "oci")]
            UnreadContent::Oci(layer) => {
                layer.checked(&self.limits, self.scratch.as_deref(), &|| self.cancel.is_cancelled())?
            }
        };
        Ok(StoredTar { name, tar, may_be_empty })
    }
}

impl Store {
    fn store(&self, name: &str, stream: Box<dyn Read + Send>) -> Result<Part, packline_tree::Error> {
        let directory = self.scratch.as_deref().ok_or_else(|| packline_tree::Error::Input {
            input: name.to_string(),
            what: "a layer that must first be stored in a temporary file".to_string(),
            expected: "a directory for temporary files, or a tar in a plain file".to_string(),
        })?;
        let failed = |cause| packline_tree::Error::Io { path: name.into(), action: "cannot read", cause };
        let stream = Stoppable { stream, cancel: self.cancel.clone() };
        let mut plain = cpio::plain(stream, &self.limits).map_err(failed)?.reader;
        store_stream(&mut plain, directory).and_then(Part::whole).map_err(failed)
    }
}

/// A stream that fails after the work was cancelled.
struct Stoppable {
    stream: Box<dyn Read + Send>,
    cancel: CancelToken,
}

impl Read for Stoppable {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.cancel.is_cancelled() { Err(std::io::Error::other("cancelled")) } else { self.stream.read(buffer) }
    }
}

fn of_fault(fault: Fault<packline_tree::Error>) -> Error {
    match WorkFault::task_error(fault) {
        Ok(error) => Error::Tree(error),
        Err(fault) => {
            let cause = std::io::Error::other(fault);
            Error::Source { path: PathBuf::from("layers"), action: "cannot store", cause }
        }
    }
}
