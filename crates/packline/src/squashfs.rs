//! Writes a source to an output through the SquashFS writer.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use packline_cache::Lookup;
use packline_codec::METADATA_BLOCK_SIZE;
use packline_engine::Config;
use packline_runtime::{OutputFile, WriteBehind};
use packline_squashfs::{FileHints, Options, Sink, Start, Summary, Writer};
use packline_tree::{Meta, Source};

use crate::base::Bases;
use crate::memory::Plan;
use crate::observed_source::ObservedSource;
use crate::pack::pool;
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

/// Takes the bytes of an image while they are written, for another output.
pub(crate) trait Beside {
    /// A sink that passes all on to the image's. `config` has the workers that write the image.
    fn around(&mut self, image: &SharedSink, path: &Path, config: Config) -> Result<Box<dyn Sink>, Error>;
    /// The image is whole.
    fn complete(&mut self, image: &SharedSink, path: &Path) -> Result<(), Error>;
}

/// Writes one image.
///
/// # Errors
/// [`Error::Image`] with the output's name, for whatever the source, the codec, the format or the sink refuses.
pub(crate) fn write(
    mut job: Job,
    output: &OutputFile,
    source: &mut ObservedSource<'_>,
    mut beside: Option<&mut (dyn Beside + '_)>,
) -> Result<Summary, Error> {
    let display_path = job.display_path.clone();
    let sink = Rc::new(RefCell::new(output.sink_at(job.offset)?));
    let outer: Box<dyn Sink> = match &mut beside {
        Some(beside) => {
            let workers = pool(&job.resources, job.plan.workers, &display_path)?;
            job.resources.engine.pool = Some(workers);
            let config = job.resources.engine.sized(job.plan.workers, 0, &job.resources.cancel);
            beside.around(&sink, &display_path, config)?
        }
        None => Box::new(sink.clone()),
    };
    let written = write_to(job, outer, source);
    let written = written.map_err(|cause| Error::Image { path: display_path.clone(), cause: Box::new(cause) })?;
    beside.map_or(Ok(()), |beside| beside.complete(&sink, &display_path))?;
    sink.borrow_mut().flush().map_err(|cause| Error::Output { path: display_path, action: "cannot write", cause })?;
    Ok(written)
}

fn write_to(
    job: Job,
    sink: Box<dyn Sink>,
    source: &mut ObservedSource<'_>,
) -> Result<Summary, packline_squashfs::Error> {
    let config = job.resources.engine.sized(job.plan.workers, job.plan.window, &job.resources.cancel);
    let Job { root, defaults, input, verify, lookup, .. } = job;
    let start = Start { root, defaults, input, memory: job.plan.shared, verify, lookup };
    let mut writer = Writer::new(sink, job.options, config, start)?;
    let mut hints = job.hints;
    while let Some(entry) = source.next_entry()? {
        let asked = hints.as_mut().map_or(FileHints::default(), |hints| hints(&entry));
        writer.add(&entry, asked, source)?;
    }
    source.finishing();
    writer.finish_with(source.observer())
}
