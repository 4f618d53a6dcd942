//! Texts of `NAME:help`.

use crate::names;

pub(crate) fn text(name: &str) -> Option<String> {
    let text = match name {
        names::NONE => NONE.to_owned(),
        names::GZIP => GZIP.to_owned(),
        names::XZ => format!("{XZ}{MODEL}{FILTERS}"),
        names::LZMA => format!("{LZMA}{MODEL}"),
        names::ZSTD => ZSTD.to_owned(),
        names::LZ4 => LZ4.to_owned(),
        names::LZ4HC => LZ4HC.to_owned(),
        names::LZO => LZO.to_owned(),
        names::BZIP2 => BZIP2.to_owned(),
        names::HUFF0 => HUFF0.to_owned(),
        names::ZLE => ZLE.to_owned(),
        _ => return None,
    };
    Some(text)
}

const NONE: &str = "\
none: blocks are stored as they are; no parameters
";

pub(crate) const SLACK: &str = "\
slack: trailing zeros of a record are not stored; no parameters
  slack+CODEC        the rest is compressed by CODEC, such as slack+lz4 or slack+zstd:level=3
";

const BZIP2: &str = "\
bzip2: one bzip2 stream per block
  level=1..9         sorts up to level * 100,000 bytes together (default 9); also compression-level=
";

const HUFF0: &str = "\
huff0: entropy coding of bytes, without matches: Huff0 blocks of up to 128 KiB; no parameters
";

const ZLE: &str = "\
zle: run-length coding of zeros, as in OpenZFS; no parameters
";

const GZIP: &str = "\
gzip: DEFLATE in a zlib wrapper; any reader reads all of these
  level=1..12        effort (default 9); 10 to 12 are slow and about 2 % smaller
  window=8..15       window of 2^N bytes (default 15); 8 means 9; others than 15 use zlib, up to level 9
  engine=auto        libdeflate where possible, zlib for other windows and strategies (default)
  engine=libdeflate  libdeflate alone: window 15, strategy default
  engine=zlib        zlib alone, as other packers do: levels to 9, about four times slower
strategies: each one named is tried on each block and the smallest result is kept; without any, default
  default            data of all kinds
  filtered           fewer short matches, for numbers that vary little
  huffman            no matches; also huffman_only
  rle                matches at distance 1 only; also run_length_encoded
  fixed              the format's fixed codes
also accepted: compression-level=, window-size=, strategy=
";

const XZ: &str = "\
xz: LZMA2 in .xz streams with a CRC-32
  level=0..9         effort (default 6); also preset=
";

const LZMA: &str = "\
lzma: LZMA in the legacy .lzma format; current Linux kernels do not read it in SquashFS
  level=0..9         effort (default 5); also preset=
";

const MODEL: &str = "\
  extreme            search longer for a little less; also e
  dictsize=SIZE      bytes with K or M, or a share of the block size with % (default 100%): 8K to 1M, and
                     2^n or 2^n+2^(n+1) bytes, such as 75% or 48K; also dict-size=
  lc=0..4            literal context bits (default 3); lc and lp together at most 4
  lp=0..4            literal position bits (default 0)
  pb=0..4            position bits (default 2)
";

const FILTERS: &str = "\
filters for machine code: each block is compressed without and with each filter named, and the smallest
result is kept; metadata is compressed without
  x86 powerpc ia64 arm armthumb sparc
  arm64 riscv        Linux reads these since 6.12
also accepted: bcj=FILTER
";

const ZSTD: &str = "\
zstd: one frame per block
  level=1..22        effort (default 15); also compression-level=
  level=-131072..-1  faster than 1, and larger
";

const LZ4: &str = "\
lz4: raw blocks
  hc                 compress slower and better; readers are as fast
  level=1..12        effort of hc (default 12); also compression-level=
  acceleration=1..65537  without hc: faster and larger (default 1)
";

const LZ4HC: &str = "\
lz4hc: raw LZ4 blocks, compressed slower and better: the same as lz4:hc
  level=1..12        effort (default 12); also compression-level=
";

const LZO: &str = "\
lzo: raw LZO1X blocks
  algorithm=NAME     lzo1x_1, lzo1x_1_11, lzo1x_1_12, lzo1x_1_15 or lzo1x_999 (default)
  level=1..9         with lzo1x_999 only (default 8); also compression-level=
All of these write the same format. Those called lzo1x_1 are fast and take the first match they find (the last
two digits are the size of their table); lzo1x_999 searches for the shortest encoding of a block.
";
