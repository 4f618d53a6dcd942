//! Writes a source to an output through the SquashFS writer.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use packline_cache::Lookup;
use packline_codec::METADATA_BLOCK_SIZE;
use packline_runtime::WriteBehind;
use packline_squashfs::{FileHints, Options, Sink, Start, Summary, Writer};
use packline_tree::{Meta, Source};

use crate::base::Bases;
use crate::memory::Plan;
use crate::observed_source::ObservedSource;
use crate::request::Hints;
use crate::{Error, Resources};

/// The output and its writer.
pub(crate) struct Job {
    /// The output's name in messages.
    pub(crate) display_path: PathBuf,
    /// Byte of the output at which the image begins.
    pub(crate) offset: u64,
    /// The source's name in messages.
    pub(crate) input: String,
    pub(crate) options: Options,
    pub(crate) root: Meta,
    pub(crate) defaults: Meta,
    pub(crate) hints: Option<Hints>,
    pub(crate) resources: Resources,
    pub(crate) plan: Plan,
    /// Whether what was written is read back.
    pub(crate) verify: bool,
    pub(crate) lookup: Lookup,
    pub(crate) bases: Bases,
}

/// Bytes that the encoders of one worker take, and its scratch: a block in, a block out.
///
/// # Errors
/// [`packline_squashfs::Error::Codec`] if the codec cannot work with the block size.
pub(crate) fn tool_memory(options: &Options, verify: bool, lookup: &Lookup) -> Result<u64, packline_squashfs::Error> {
    options.codec.validate(options.block_size as usize)?;
    let block = options.block_size as usize;
    let codec = &options.codec;
    let encoders = codec.footprint(block).encoder + codec.footprint(METADATA_BLOCK_SIZE).encoder;
    let encoders = encoders + lookup.encoder_memory(codec, block);
    // A decoder takes their place when what was written is read back.
    let decoder = if verify { codec.footprint(block.max(METADATA_BLOCK_SIZE)).decoder } else { 0 };
    Ok((encoders.max(decoder) + 2 * block) as u64)
}

/// The sink of an image, which the writer and what is made beside the image use in turn.
pub(crate) type SharedSink = Rc<RefCell<WriteBehind>>;

/// Writes one image. All is written to `sink` when this returns, but may not be flushed.
///
/// # Errors
/// [`Error::Image`] with the output's name, for whatever the source, the codec, the format or the sink refuses; [`Error::Read`] for an image
/// whose data does not match its record.
pub(crate) fn write(job: Job, sink: Box<dyn Sink>, source: &mut ObservedSource<'_>) -> Result<Summary, Error> {
    let path = job.display_path.clone();
    let named = |cause| Error::Image { path: path.clone(), cause: Box::new(cause) };
    let (bases, resources) = (job.bases.clone(), job.resources.clone());
    let writer = write_contents(job, sink, source).map_err(named)?;
    bases.compare_checked(&resources)?;
    source.finishing();
    writer.finish_with(source.observer()).map_err(named)
}

fn write_contents(
    job: Job,
    sink: Box<dyn Sink>,
    source: &mut ObservedSource<'_>,
) -> Result<Writer, packline_squashfs::Error> {
    let config = job.resources.engine.sized(job.plan.workers, job.plan.window, &job.resources.cancel);
    let Job { root, defaults, input, verify, lookup, .. } = job;
    let start = Start { root, defaults, input, memory: job.plan.shared, verify, lookup };
    let mut writer = Writer::new(sink, job.options, config, start)?;
    let mut hints = job.hints;
    while let Some(entry) = source.next_entry()? {
        let asked = hints.as_mut().map_or(FileHints::default(), |hints| hints(&entry));
        writer.add(&entry, asked, source)?;
    }
    Ok(writer)
}
