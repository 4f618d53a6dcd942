//! The memory of encoders and decoders.

use crate::bzip2;
use crate::gzip;
use crate::lz4;
use crate::lzo::LzoEncoder;
use crate::names::METADATA_BLOCK_SIZE;
use crate::xz::{self, DictSize, Settings};
use crate::zstd;
use crate::{Footprint, GzipParams, Huff0Decoder, Huff0Encoder, LzmaModel, Spec};

/// Allowance for allocator overhead and small structures of each codec.
const SLACK: usize = 4 * 1024;

/// Upper bounds of the memory of one encoder and one decoder, bytes.
pub(crate) fn of(spec: &Spec, block_size: usize) -> Footprint {
    Footprint { encoder: SLACK + encoder(spec, block_size), decoder: SLACK + decoder(spec, block_size) }
}

fn encoder(spec: &Spec, block_size: usize) -> usize {
    match spec {
        Spec::None | Spec::Zle => 0,
        Spec::Gzip(params) => deflate(params, block_size),
        Spec::Xz(params) => {
            let spare = if params.filters.is_empty() { 0 } else { block_size };
            spare + lzma(&params.model, block_size)
        }
        Spec::Lzma(params) => lzma(&params.model, block_size),
        Spec::Zstd(params) => zstd::encoder_memory(params, block_size),
        Spec::Lz4(params) => lz4::state_size(params.hc),
        Spec::Lzo(params) => LzoEncoder::memory(params),
        Spec::Huff0 => Huff0Encoder::MEMORY,
        Spec::Bzip2(params) => bzip2::encoder_memory(params, block_size),
    }
}

/// libdeflate 1.26 by level: hash chains up to 9, binary trees and the parser's cost table above.
fn libdeflate(level: u32) -> usize {
    match level {
        1 => 300 << 10,
        2..=9 => 1 << 20,
        _ => 10 << 20,
    }
}

fn deflate(params: &GzipParams, block_size: usize) -> usize {
    let levels = gzip::contexts(params.level, block_size).into_iter().flatten();
    let libdeflate = if params.uses_libdeflate() { levels.map(libdeflate).sum() } else { 0 };
    // zlib's zconf.h: (1 << (windowBits + 2)) + (1 << (memLevel + 9)), plus its state.
    let strategies = params.zlib_strategies().len();
    let zlib = if strategies == 0 { 0 } else { (1 << (params.window.max(9) + 2)) + (1 << 17) + 16 * 1024 };
    let spare = if strategies + usize::from(libdeflate > 0) > 1 { block_size } else { 0 };
    libdeflate + zlib + spare
}

/// Memory missing from liblzma's own estimate: probabilities of the encoder and the state of the stream.
const LZMA_STATE: usize = 64 * 1024;

fn lzma(model: &LzmaModel, block_size: usize) -> usize {
    let dict_size = model.dict_size.resolve(block_size).unwrap_or(DictSize::MAX);
    LZMA_STATE + xz::encoder_memory(&Settings::new(model, dict_size), dict_size)
}

fn decoder(spec: &Spec, block_size: usize) -> usize {
    let dict = |model: &LzmaModel| model.dict_size.resolve(block_size).unwrap_or(DictSize::MAX) as usize;
    match spec {
        Spec::Xz(params) => fixed_decoder(spec) + dict(&params.model).max(METADATA_BLOCK_SIZE),
        Spec::Lzma(params) => fixed_decoder(spec) + dict(&params.model).max(METADATA_BLOCK_SIZE),
        _ => fixed_decoder(spec),
    }
}

/// Memory of a decoder that does not depend on its input.
pub(crate) fn fixed_decoder(spec: &Spec) -> usize {
    match spec {
        Spec::None | Spec::Zle | Spec::Lz4(_) | Spec::Lzo(_) => 0,
        Spec::Huff0 => Huff0Decoder::MEMORY,
        Spec::Bzip2(_) => bzip2::decoder_memory(),
        Spec::Gzip(_) => 16 * 1024,
        // liblzma's own estimate: a fixed amount and the dictionary.
        Spec::Xz(_) | Spec::Lzma(_) => 96 * 1024,
        Spec::Zstd(_) => zstd::decoder_memory(),
    }
}
