//! Decompresses a stream incrementally: blocks of segments, from any encoder of the format.

use std::io::{self, Read};
use std::mem;

use sha1::{Digest, Sha1};

use super::coder::BitDecoder;
use super::encoder::START;
use super::fault::Fault;
use super::header::{Arrays, Header};
use super::machine::FIRST_STEPS;
use super::model::{self, Model};
use super::post::{Post, Program};
use super::source::Source;

/// Optional tag before a block, which helps to find blocks among other data.
const TAG: [u8; 13] = [0x37, 0x6B, 0x53, 0x74, 0xA0, 0x31, 0x83, 0xD3, 0x8C, 0xB2, 0x28, 0xB0, 0xD3];

/// The models of all blocks together may use this many times the memory that one model may use, plus [`MEMORY_PER_BYTE`].
const FREE_MODELS: u64 = 16;

/// Bytes of memory that the models may use in addition for each compressed byte. Initialising a model of 240 MiB takes longer than decoding
/// a few bytes with it.
const MEMORY_PER_BYTE: u64 = 256 * 1024;

/// The next part of the stream.
enum Stage {
    /// A block, or the end if there was one before.
    Block {
        first: bool,
    },
    /// A segment, or the end of the block.
    Segment,
    /// Data of a segment.
    Data,
    /// Remaining output of the program after a segment's end.
    Rest,
    End,
    /// A fault, which is returned once.
    Broken(Option<Fault>),
}

/// Decompresses a ZPAQ stream of level 1 or 2 of the format: any number of blocks of any number of segments, whose contents are
/// concatenated. Names and comments of segments are skipped, checksums are checked.
///
/// The reader uses the memory of the largest model in the stream. The memory of each block is compared with the limit before it is
/// allocated. Programs in the stream run at most 1024 instructions for each byte of input or output, and 16 million more. Attacks with
/// cheap input are bounded too: many nearly empty blocks with large models, and programs that consume input without output, are errors.
///
/// Errors in the stream have the kind [`InvalidData`](io::ErrorKind::InvalidData) and contain a [`CodecError`](crate::CodecError).
pub struct ZpaqReader<R> {
    source: Source<R>,
    /// Limit in bytes of the memory of a model and its programs.
    memory: u64,
    /// Number of blocks so far, and the total memory of their models.
    blocks: u64,
    asked: u64,
    stage: Stage,
    block: Block,
    digest: Sha1,
}

/// State of the current block.
struct Block {
    model: Model,
    uncoder: BitDecoder,
    post: Post,
    /// The arrays of a program stored with the data.
    arrays: Arrays,
    /// Memory limit of such a program, in bytes.
    memory: u64,
    /// Instructions that such a program may run in addition to the number that its input allows.
    steps: u64,
    /// Bytes left in a piece of stored data.
    left: u32,
}

impl<R: Read> ZpaqReader<R> {
    /// A reader whose models use at most `memory` bytes.
    pub fn new(reader: R, memory: usize) -> Self {
        ZpaqReader {
            source: Source::new(reader),
            memory: memory as u64,
            blocks: 0,
            asked: 0,
            stage: Stage::Block { first: true },
            block: Block::none(),
            digest: Sha1::new(),
        }
    }

    /// Decompresses into all of `out`, or less at the end of the stream. Returns the number of bytes.
    pub(super) fn fill(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        let mut made = 0;
        while made < out.len() {
            match self.step(&mut out[made..]) {
                Ok(Some(size)) => made += size,
                Ok(None) => break,
                Err(fault) if made == 0 => {
                    self.stage = Stage::Broken(None);
                    return Err(fault);
                }
                Err(fault) => {
                    self.stage = Stage::Broken(Some(fault));
                    break;
                }
            }
        }
        Ok(made)
    }

    /// Advances by one stage, or by as much data as fits. Returns `None` at the end.
    fn step(&mut self, out: &mut [u8]) -> Result<Option<usize>, Fault> {
        match &mut self.stage {
            Stage::Block { first } => {
                let first = *first;
                self.start_block(first)?;
            }
            Stage::Segment => self.start_segment()?,
            Stage::Data => return self.data(out).map(Some),
            Stage::Rest => return self.rest(out).map(Some),
            Stage::End => return Ok(None),
            Stage::Broken(fault) => return Err(fault.take().unwrap_or(Fault::Bad("failed before"))),
        }
        Ok(Some(0))
    }

    fn start_block(&mut self, first: bool) -> Result<(), Fault> {
        let Some(mut byte) = self.source.next()? else {
            self.stage = Stage::End;
            return if first { Err(Fault::Bad("ends too early")) } else { Ok(()) };
        };
        if byte == TAG[0] {
            self.expect(&TAG[1..])?;
            byte = self.source.byte()?;
        }
        if byte != START[0] {
            return Err(Fault::Bad("not a block"));
        }
        self.expect(&START[1..3])?;
        let level = self.source.byte()?;
        if !(1..=2).contains(&level) || self.source.byte()? != START[4] {
            return Err(Fault::Bad("uses a later version of the format"));
        }
        self.block = Block::none();
        self.block = self.read_header(level)?;
        self.stage = Stage::Segment;
        Ok(())
    }

    fn read_header(&mut self, level: u8) -> Result<Block, Fault> {
        let size = u16::from_le_bytes([self.source.byte()?, self.source.byte()?]);
        let bytes = (0..size).map(|_| self.source.byte()).collect::<Result<Vec<u8>, Fault>>()?;
        let header = Header::parse(&bytes)?;
        if level == 1 && header.components.is_empty() {
            return Err(Fault::Bad("stored data, which level 1 of the format does not allow"));
        }
        let needed = model::memory(&header);
        self.account(needed)?;
        // This limits the unearned instructions of all blocks together.
        let steps = FIRST_STEPS / self.blocks;
        let model = Model::of_header(&bytes, &header, self.memory, steps)?;
        let memory = self.memory - needed;
        Ok(Block { model, uncoder: BitDecoder::new(), post: Post::Open, arrays: header.post, memory, steps, left: 0 })
    }

    /// Counts a block whose model needs `needed` bytes.
    fn account(&mut self, needed: u64) -> Result<(), Fault> {
        self.blocks += 1;
        self.asked = self.asked.saturating_add(needed);
        let most =
            self.memory.saturating_mul(FREE_MODELS).saturating_add(self.source.taken().saturating_mul(MEMORY_PER_BYTE));
        if needed <= self.memory && self.asked > most {
            return Err(Fault::Bad("many small blocks with large models"));
        }
        Ok(())
    }

    fn expect(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        for &expected in bytes {
            if self.source.byte()? != expected {
                return Err(Fault::Bad("not a block"));
            }
        }
        Ok(())
    }

    fn start_segment(&mut self) -> Result<(), Fault> {
        match self.source.byte()? {
            1 => {}
            255 => {
                self.block = Block::none();
                self.stage = Stage::Block { first: false };
                return Ok(());
            }
            _ => return Err(Fault::Bad("neither a segment nor the end of a block")),
        }
        for _ in ["name", "comment"] {
            while self.source.byte()? != 0 {}
        }
        if self.source.byte()? != 0 {
            return Err(Fault::Bad("a segment whose reserved byte is not zero"));
        }
        self.digest = Sha1::new();
        self.stage = Stage::Data;
        Ok(())
    }

    fn data(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        if matches!(self.block.post, Post::Open) {
            self.block.open(&mut self.source)?;
        }
        let (size, ended) = self.block.data(&mut self.source, out)?;
        self.digest.update(&out[..size]);
        if ended {
            self.stage = Stage::Rest;
        }
        Ok(size)
    }

    /// Returns the program's remaining output after a segment's data, then reads the end of the segment.
    fn rest(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        let size = match &mut self.block.post {
            Post::Program(program) => program.read(out)?,
            _ => 0,
        };
        self.digest.update(&out[..size]);
        if size == 0 {
            self.end_segment()?;
        }
        Ok(size)
    }

    fn end_segment(&mut self) -> Result<(), Fault> {
        self.stage = Stage::Segment;
        match self.source.byte()? {
            254 => Ok(()),
            253 => {
                let sum = (0..20).map(|_| self.source.byte()).collect::<Result<Vec<u8>, Fault>>()?;
                let made = mem::take(&mut self.digest).finalize();
                if made[..] == sum[..] { Ok(()) } else { Err(Fault::Bad("its data has a wrong checksum")) }
            }
            _ => Err(Fault::Bad("a segment without an end")),
        }
    }
}

impl Block {
    fn none() -> Self {
        let arrays = Arrays { h_bits: 0, m_bits: 0 };
        Block {
            model: Model::Stored,
            uncoder: BitDecoder::new(),
            post: Post::Open,
            arrays,
            memory: 0,
            steps: 0,
            left: 0,
        }
    }

    /// The next coded byte; `None` at the end of a segment.
    #[inline]
    fn byte<R: Read>(&mut self, source: &mut Source<R>) -> Result<Option<u8>, Fault> {
        match &mut self.model {
            Model::Stored => self.stored(source),
            Model::Min(model) => self.uncoder.byte(source, &mut **model),
            Model::Mid(model) => self.uncoder.byte(source, &mut **model),
            Model::Max(model) => self.uncoder.byte(source, &mut **model),
            Model::General(model) => self.uncoder.byte(source, &mut **model),
        }
    }

    fn stored<R: Read>(&mut self, source: &mut Source<R>) -> Result<Option<u8>, Fault> {
        if self.left == 0 {
            self.left = source.word()?;
        }
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        source.byte().map(Some)
    }

    /// Reads the post-processing type of a block's first segment.
    fn open<R: Read>(&mut self, source: &mut Source<R>) -> Result<(), Fault> {
        let mut byte = || self.byte(source)?.ok_or(Fault::Bad("a segment without a first byte"));
        match byte()? {
            0 => self.post = Post::Pass,
            1 => {
                let size = u16::from_le_bytes([byte()?, byte()?]);
                let program = (0..size).map(|_| byte()).collect::<Result<Vec<u8>, Fault>>()?;
                if program.is_empty() {
                    return Err(Fault::Bad("an empty program"));
                }
                self.post = Post::Program(Box::new(Program::new(program, self.arrays, self.memory, self.steps)?));
            }
            _ => return Err(Fault::Bad("uses a later version of the format")),
        }
        Ok(())
    }

    /// Decodes into `out`. Returns the bytes written, and whether the segment's coded data ended.
    fn data<R: Read>(&mut self, source: &mut Source<R>, out: &mut [u8]) -> Result<(usize, bool), Fault> {
        let mut made = 0;
        while made < out.len() {
            let (size, ended) = self.piece(source, &mut out[made..])?;
            made += size;
            if ended {
                return Ok((made, true));
            }
        }
        Ok((made, false))
    }

    /// Returns one byte, or the program's output for one byte.
    #[inline]
    fn piece<R: Read>(&mut self, source: &mut Source<R>, out: &mut [u8]) -> Result<(usize, bool), Fault> {
        if let Post::Program(program) = &mut self.post {
            let size = program.read(out)?;
            if size > 0 {
                return Ok((size, false));
            }
        }
        let byte = self.byte(source)?;
        if let Post::Program(program) = &mut self.post {
            program.write(byte)?;
            return Ok((0, byte.is_none()));
        }
        let Some(byte) = byte else {
            return Ok((0, true));
        };
        out[0] = byte;
        Ok((1, false))
    }
}

impl<R: Read> Read for ZpaqReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.fill(out).map_err(|fault| fault.into_io(self.source.taken(), self.memory))
    }
}
