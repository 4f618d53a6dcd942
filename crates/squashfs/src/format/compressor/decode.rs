//! Decodes the compressor options that `super` encodes.
//!
//! Decoders do not need the options. Options that the kernel rejects are rejected. A level or window that does not exist is only left out of the
//! text.

use packline_codec::{
    Bcj, Choice, DictSize, GzipParams, Lz4Params, LzmaParams, LzoAlgorithm, LzoParams, Set, Spec, Strategy, XzParams,
    ZstdParams,
};
use packline_volume::ReadAt;

use crate::BlockSize;
use crate::format::compressor::LZ4_LEGACY;
use crate::format::layout::{ByteOrder, Layout};
use crate::format::superblock::{SUPERBLOCK_BYTES, Superblock, flags};
use crate::format::wire::STORED;
use crate::read::ReadError;

/// Maximum length of any compressor's options, bytes: further bytes are ignored.
const LONGEST: usize = 64;

/// The compressor options of an image.
#[derive(Clone, Copy)]
pub(crate) struct StoredOptions<'o> {
    pub(crate) superblock: &'o Superblock,
    pub(crate) layout: &'o Layout,
    pub(crate) read: ReadAt<'o>,
}

impl StoredOptions<'_> {
    /// The codec of an image, with its options.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] for options that are too short or that the kernel rejects, [`ReadError::Unsupported`] for another version of lz4, and
    /// errors of reading.
    pub(crate) fn codec(&self) -> Result<Spec, ReadError> {
        let mut codec = default(self.superblock.compressor);
        if !self.exist() {
            return Ok(codec);
        }
        let bytes = self.bytes()?;
        match &mut codec {
            Spec::Gzip(params) => gzip(params, &self.options(&bytes, 8)?),
            Spec::Xz(params) => xz(params, &self.options(&bytes, 8)?, self.superblock.block_size)?,
            Spec::Lzo(params) => lzo(params, &self.options(&bytes, 8)?),
            Spec::Lz4(params) => lz4(params, &self.options(&bytes, 8)?)?,
            Spec::Zstd(params) => zstd(params, &self.options(&bytes, 4)?),
            // The codec has no options, or no number in SquashFS.
            Spec::None | Spec::Lzma(_) | Spec::Bzip2(_) | Spec::Huff0 | Spec::Zle => {}
        }
        Ok(codec)
    }

    /// Invalid options that decoders ignore, and their valid values.
    ///
    /// # Errors
    /// As [`StoredOptions::codec`].
    pub(crate) fn oddities(&self) -> Result<Vec<(String, &'static str)>, ReadError> {
        let superblock = self.superblock;
        if !self.exist() {
            let missing = superblock.compressor == 5;
            return Ok(missing.then(|| ("no compressor options".to_string(), "those of lz4")).into_iter().collect());
        }
        let bytes = self.bytes()?;
        if superblock.compressor == 2 {
            return Ok(vec![(format!("compressor options of {} bytes", bytes.len()), "none, lzma has no options")]);
        }
        let Ok(options) = self.options(&bytes, if superblock.compressor == 6 { 4 } else { 8 }) else {
            return Ok(vec![]);
        };
        let within = |what: &str, number: u32, least: u32, most: u32, expected: &'static str| {
            (!(least..=most).contains(&number)).then(|| (format!("compressor option: {what} {number}"), expected))
        };
        let bits = |what: &str, bits: u32, known: usize, expected: &'static str| {
            (bits >> known != 0).then(|| (format!("compressor option: {what} {bits:#x}"), expected))
        };
        let found = match superblock.compressor {
            1 => vec![
                within("gzip level", options.word(0), 1, GzipParams::MAX_ZLIB_LEVEL, "1 to 9"),
                within("gzip window", options.half(4).into(), 8, GzipParams::DEFAULT_WINDOW, "8 to 15"),
                bits("gzip strategies", options.half(6).into(), Strategy::ALL.len(), "five bits"),
            ],
            3 => vec![
                within("lzo algorithm", options.word(0), 0, LzoAlgorithm::ALL.len() as u32 - 1, "0 to 4"),
                within("lzo level", options.word(4), 0, 9, "0 to 9"),
            ],
            4 => vec![bits("xz filters", options.word(4), Bcj::ALL.len(), "one bit for each known filter")],
            5 => vec![bits("lz4 flags", options.word(4), 1, "0 or 1")],
            6 => vec![within("zstd level", options.word(0), 1, ZstdParams::MAX_LEVEL.cast_unsigned(), "1 to 22")],
            _ => vec![],
        };
        Ok(found.into_iter().flatten().collect())
    }

    /// Start of the data area: after the superblock and the options.
    ///
    /// # Errors
    /// As [`StoredOptions::codec`].
    pub(crate) fn data_start(&self) -> Result<u64, ReadError> {
        if !self.exist() {
            return Ok(self.layout.superblock_bytes());
        }
        Ok(SUPERBLOCK_BYTES + 2 + u64::from(self.header()? & !STORED))
    }

    /// Returns the bytes of the options, if the image has options.
    ///
    /// # Errors
    /// As [`StoredOptions::codec`].
    pub(crate) fn stored(&self) -> Result<Option<Vec<u8>>, ReadError> {
        self.exist().then(|| self.bytes()).transpose()
    }

    fn exist(&self) -> bool {
        !self.layout.is_old() && self.superblock.flags & flags::OPTIONS != 0
    }

    fn header(&self) -> Result<u16, ReadError> {
        let mut header = [0; 2];
        (self.read)(SUPERBLOCK_BYTES, &mut header)?;
        Ok(self.layout.header_order.half(header))
    }

    /// Reads the bytes of the options: one stored metadata block after the superblock.
    fn bytes(&self) -> Result<Vec<u8>, ReadError> {
        let header = self.header()?;
        let length = header & !STORED;
        let end = SUPERBLOCK_BYTES + 2 + u64::from(length);
        if header & STORED == 0 || length == 0 || end > self.superblock.inode_table {
            let what = format!("compressor options with header {header:#06x}");
            let expected = format!("a stored metadata block that ends before {}", self.superblock.inode_table);
            return Err(ReadError::corrupt(SUPERBLOCK_BYTES, what, expected));
        }
        let mut bytes = vec![0; usize::from(length).min(LONGEST)];
        (self.read)(SUPERBLOCK_BYTES + 2, &mut bytes)?;
        Ok(bytes)
    }

    fn options<'b>(&self, bytes: &'b [u8], least: usize) -> Result<Options<'b>, ReadError> {
        if bytes.len() >= least {
            return Ok(Options { bytes, order: self.layout.order });
        }
        Err(fault(format!("compressor options of {} bytes", bytes.len()), &format!("{least} at least")))
    }
}

/// Returns the codec of a number that passed the superblock's check.
fn default(number: u16) -> Spec {
    match number {
        2 => Spec::Lzma(LzmaParams::default()),
        3 => Spec::Lzo(LzoParams::default()),
        4 => Spec::Xz(XzParams::default()),
        5 => Spec::Lz4(Lz4Params::default()),
        6 => Spec::Zstd(ZstdParams::default()),
        _ => Spec::Gzip(GzipParams::default()),
    }
}

/// Options that are long enough for the compressor.
struct Options<'o> {
    bytes: &'o [u8],
    order: ByteOrder,
}

impl Options<'_> {
    fn half(&self, at: usize) -> u16 {
        self.order.half([self.bytes[at], self.bytes[at + 1]])
    }

    fn word(&self, at: usize) -> u32 {
        let bytes = &self.bytes[at..at + 4];
        self.order.word([bytes[0], bytes[1], bytes[2], bytes[3]])
    }
}

/// Level u32, window u16, strategies u16.
fn gzip(params: &mut GzipParams, options: &Options<'_>) {
    let level = options.word(0);
    let window = u32::from(options.half(4));
    if (1..=GzipParams::MAX_ZLIB_LEVEL).contains(&level) {
        params.level = level;
    }
    if (8..=GzipParams::DEFAULT_WINDOW).contains(&window) {
        params.window = window;
    }
    params.strategies = set::<Strategy>(u32::from(options.half(6)));
}

/// Dictionary size u32, filters u32.
fn xz(params: &mut XzParams, options: &Options<'_>, block_size: BlockSize) -> Result<(), ReadError> {
    let size = options.word(0);
    let lowest = size & size.wrapping_neg();
    // 2^n, or 2^n + 2^(n+1), as the kernel requires.
    if size == 0 || size != lowest && u64::from(size) != u64::from(lowest) * 3 {
        return Err(fault(format!("xz dictionary of {size} bytes"), "2^n or 2^n + 2^(n+1)"));
    }
    params.model.dict_size = if size == u32::from(block_size) { DictSize::Block } else { DictSize::Bytes(size) };
    params.filters = set::<Bcj>(options.word(4));
    // Appended files need not try all of these.
    params.auto =
        XzParams::AUTO.iter().all(|filter| params.filters.contains(*filter)) && !params.filters.contains(Bcj::Ia64);
    Ok(())
}

/// Algorithm u32, level u32.
fn lzo(params: &mut LzoParams, options: &Options<'_>) {
    if let Some(algorithm) = LzoAlgorithm::ALL.get(options.word(0) as usize) {
        params.algorithm = *algorithm;
    }
    if (1..=9).contains(&options.word(4)) {
        params.level = options.word(4);
    }
}

/// Version u32, flags u32, and in newer images four more bytes.
fn lz4(params: &mut Lz4Params, options: &Options<'_>) -> Result<(), ReadError> {
    let version = options.word(0);
    if version != LZ4_LEGACY {
        return Err(ReadError::unsupported(format!("lz4 version {version}"), "version 1, raw blocks"));
    }
    params.hc = options.word(4) & 1 != 0;
    Ok(())
}

/// Level u32.
fn zstd(params: &mut ZstdParams, options: &Options<'_>) {
    let level = options.word(0).cast_signed();
    if (1..=ZstdParams::MAX_LEVEL).contains(&level) {
        params.level = level;
    }
}

/// Returns the choices whose bits are set, in the order of the format.
fn set<T: Choice>(bits: u32) -> Set<T> {
    T::ALL.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 != 0).map(|(_, choice)| *choice).collect()
}

fn fault(what: String, expected: &str) -> ReadError {
    ReadError::corrupt(SUPERBLOCK_BYTES + 2, what, expected)
}

#[cfg(test)]
mod tests {
    use packline_runtime::TaskError;

    use super::*;
    use crate::format::compressor::{compressor_id, options_block};
    use crate::format::superblock::tests::sound;

    /// Describes the codec of a superblock with this options block.
    fn stated(compressor: u16, block: &[u8]) -> Result<String, String> {
        let superblock = Superblock { compressor, flags: flags::OPTIONS, inode_table: 1000, ..sound() };
        let read = |at: u64, buffer: &mut [u8]| {
            let at = (at - SUPERBLOCK_BYTES) as usize;
            let bytes = block.get(at..at + buffer.len());
            buffer.copy_from_slice(bytes.ok_or_else(|| ReadError::internal("read past the block".into()))?);
            Ok(())
        };
        let options = StoredOptions { superblock: &superblock, layout: &Layout::CURRENT, read: &read };
        options.codec().map(|codec| codec.to_string()).map_err(|fault| fault.to_string())
    }

    #[test]
    fn reads_options_of_the_packer() {
        for text in [
            "gzip:level=6",
            "gzip:window=10,huffman,fixed",
            "zstd:level=22",
            "lzo:level=3",
            "lzo:algorithm=lzo1x_1",
            "xz:x86,arm64",
            "xz:auto",
            "xz:auto,arm64",
            "xz:x86,powerpc,ia64,arm,armthumb,sparc",
            "xz:dictsize=64K",
            "lz4",
            "lz4:hc",
        ] {
            let spec: Spec = text.parse().unwrap();
            let id = compressor_id(&spec).unwrap();
            let block = options_block(&crate::Options::new(spec)).unwrap();
            assert_eq!(stated(id, &block).unwrap(), text);
        }
    }

    #[test]
    fn an_image_without_options_has_the_defaults() {
        let nothing = |_: u64, _: &mut [u8]| Err(ReadError::internal("nothing is to be read".into()));
        for (compressor, name) in [(1, "gzip"), (2, "lzma"), (3, "lzo"), (4, "xz"), (5, "lz4"), (6, "zstd")] {
            let superblock = Superblock { compressor, flags: 0, ..sound() };
            let options = StoredOptions { superblock: &superblock, layout: &Layout::CURRENT, read: &nothing };
            assert_eq!(options.codec().unwrap().to_string(), name);
        }
    }

    #[test]
    fn rejects_options_that_the_kernel_rejects() {
        for (compressor, block, part) in [
            (4, &b"\x08\x80\0\0\x05\0\0\0\0\0"[..], "xz dictionary of 327680 bytes"),
            (4, b"\x08\x80\0\0\0\0\0\0\0\0", "xz dictionary of 0 bytes"),
            (4, b"\x04\x80\0\0\x02\0", "compressor options of 4 bytes"),
            (5, b"\x08\x80\x02\0\0\0\0\0\0\0", "lz4 version 2"),
            (6, b"\x08\0\x02\0\0\0", "header 0x0008"),
            (6, b"\0\x80", "header 0x8000"),
            (1, b"\xff\xff", "header 0xffff"),
        ] {
            let message = stated(compressor, block).unwrap_err();
            assert!(message.contains(part), "{part}: {message}");
        }
    }

    #[test]
    fn accepts_options_that_decoding_ignores() {
        assert_eq!(stated(1, b"\x08\x80\x63\0\0\0\x63\0\0\0").unwrap(), "gzip");
        assert_eq!(stated(6, b"\x04\x80\x63\0\0\0").unwrap(), "zstd");
        assert_eq!(stated(3, b"\x08\x80\x63\0\0\0\x63\0\0\0").unwrap(), "lzo");
        assert_eq!(stated(5, b"\x0c\x80\x01\0\0\0\x02\0\0\0\x09\0\0\0").unwrap(), "lz4");
        assert_eq!(stated(4, b"\x08\x80\0\0\x03\0\0\0\0\0").unwrap(), "xz:dictsize=192K");
    }
}
