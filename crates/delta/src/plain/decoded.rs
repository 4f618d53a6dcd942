//! The plain form of a file with an image. Blocks are decoded when they are read.

use super::form::{Block, ByteOrigin, Form};
use packline_codec::{CodecError, Decoder, METADATA_BLOCK_SIZE, Spec};
use packline_runtime::{Input, InputChange, Spares};
use packline_squashfs::{BlockSize, METADATA_HEADER};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The number of decoded blocks that are cached for each worker.
const CACHED_FOR_WORKER: usize = 4;

/// A decoded block and its number.
type Kept = (usize, Arc<Vec<u8>>);

/// Reads the plain form at any offset, on any thread. Blocks are decoded when they are needed, and a few decoded blocks are cached.
pub(crate) struct DecodedInput {
    input: Arc<dyn Input>,
    form: Arc<Form>,
    codec: Spec,
    block_size: BlockSize,
    decoders: Spares<BlockDecoder>,
    /// The blocks used last, the latest first.
    kept: Mutex<Vec<Kept>>,
    /// Upper bound for the cached blocks.
    most: AtomicUsize,
}

impl DecodedInput {
    /// Returns the plain form, with a cache for one worker.
    pub(crate) fn new(input: &Arc<dyn Input>, form: &Arc<Form>, codec: &Spec, block_size: BlockSize) -> DecodedInput {
        let input = Arc::clone(input);
        let form = Arc::clone(form);
        let codec = codec.clone();
        let decoders = Spares::default();
        let most = AtomicUsize::new(CACHED_FOR_WORKER);
        DecodedInput { input, form, codec, block_size, decoders, kept: Mutex::default(), most }
    }

    /// Sets the size of the cache for this many workers.
    pub(crate) fn set_workers(&self, workers: usize) {
        self.most.store(CACHED_FOR_WORKER * workers.max(1), Ordering::Relaxed);
    }

    /// Memory for each worker in bytes.
    pub(crate) fn worker_memory(&self) -> u64 {
        (BlockDecoder::memory(&self.codec, self.block_size) + (CACHED_FOR_WORKER + 2) * self.block_size.bytes()) as u64
    }

    fn block(&self, number: usize) -> io::Result<Arc<Vec<u8>>> {
        if let Some(kept) = self.cached(number) {
            return Ok(kept);
        }
        let block = self.form.all().get(number).ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut stored = vec![0; block.stored as usize];
        self.input.read_at(block.at, &mut stored)?;
        let mut decoder = self.decoder()?;
        let mut plain = Vec::new();
        let decoded = decoder.decode(block, &stored, &mut plain).filter(|()| plain.len() == block.plain() as usize);
        self.decoders.give(decoder);
        let changed = || io::Error::new(io::ErrorKind::InvalidData, "a block of the image changed");
        decoded.ok_or_else(changed)?;
        let plain = Arc::new(plain);
        self.cache(number, &plain);
        Ok(plain)
    }

    fn decoder(&self) -> io::Result<BlockDecoder> {
        match self.decoders.take() {
            Some(decoder) => Ok(decoder),
            None => BlockDecoder::new(&self.codec, self.block_size).map_err(io::Error::other),
        }
    }

    fn cached(&self, number: usize) -> Option<Arc<Vec<u8>>> {
        let mut kept = lock(&self.kept);
        let index = kept.iter().position(|(other, _)| *other == number)?;
        kept[..=index].rotate_right(1);
        kept.first().map(|(_, plain)| Arc::clone(plain))
    }

    fn cache(&self, number: usize, plain: &Arc<Vec<u8>>) {
        let mut kept = lock(&self.kept);
        kept.truncate(self.most.load(Ordering::Relaxed) - 1);
        kept.insert(0, (number, Arc::clone(plain)));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Input for DecodedInput {
    fn size(&self) -> u64 {
        self.form.plain()
    }

    fn read_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            let done = match self.form.at(offset, self.input.size()) {
                ByteOrigin::Raw { length: 0, .. } => return Err(io::ErrorKind::UnexpectedEof.into()),
                ByteOrigin::Raw { at, length } => {
                    let now = length.min(buffer.len() as u64) as usize;
                    self.input.read_at(at, &mut buffer[..now])?;
                    now
                }
                ByteOrigin::Block { number, offset } => {
                    let block = self.block(number)?;
                    let rest = block.get(offset as usize..).ok_or(io::ErrorKind::InvalidData)?;
                    let now = rest.len().min(buffer.len());
                    buffer[..now].copy_from_slice(&rest[..now]);
                    now
                }
            };
            offset += done as u64;
            buffer = &mut buffer[done..];
        }
        Ok(())
    }

    fn change(&self) -> io::Result<InputChange> {
        self.input.change()
    }
}

/// Additional memory of a decoder in bytes, because other encoders may state larger dictionaries than packline's.
const DECODER_SLACK: usize = 8 << 20;

/// Decoders for data blocks and for metadata blocks.
pub(crate) struct BlockDecoder {
    data: Box<dyn Decoder>,
    metadata: Box<dyn Decoder>,
    block_size: BlockSize,
}

impl BlockDecoder {
    pub(crate) fn new(codec: &Spec, block_size: BlockSize) -> Result<BlockDecoder, CodecError> {
        let data = codec.decoder(block_size.bytes(), decoder_memory(codec, block_size.bytes()))?;
        let metadata = codec.decoder(METADATA_BLOCK_SIZE, decoder_memory(codec, METADATA_BLOCK_SIZE))?;
        Ok(BlockDecoder { data, metadata, block_size })
    }

    /// Memory of the decoders in bytes.
    pub(crate) fn memory(codec: &Spec, block_size: BlockSize) -> usize {
        decoder_memory(codec, block_size.bytes()) + decoder_memory(codec, METADATA_BLOCK_SIZE)
    }

    /// Decodes the stored bytes of a block, and replaces the content of `out`. Returns `None` if the bytes cannot be decoded.
    pub(crate) fn decode(&mut self, block: &Block, stored: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let (decoder, most, payload) = if block.is_metadata() {
            (&mut self.metadata, METADATA_BLOCK_SIZE, stored.get(METADATA_HEADER..)?)
        } else {
            (&mut self.data, self.block_size.bytes(), stored)
        };
        out.resize(most, 0);
        let length = decoder.decompress(payload, out).ok().filter(|length| *length > 0)?;
        out.truncate(length);
        Some(())
    }
}

fn decoder_memory(codec: &Spec, most: usize) -> usize {
    2 * codec.footprint(most).decoder + DECODER_SLACK
}
