//! Encoding with AVX-512: codes of 32 symbols are looked up and joined four by four in registers.

use std::arch::x86_64::*;

use super::{Codes, Tail};

/// Number of symbols processed at a time.
const SYMBOLS: usize = 32;
/// Output space needed for a group: 44 bytes for codes of 11 bits, 1 for held bits, and the unused bytes of the last word.
const SPACE: usize = 64;

/// Encodes groups of symbols, starting at the end of `src`, while `SYMBOLS` symbols and `SPACE` bytes remain. Returns the remaining
/// symbols.
#[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2")]
pub(super) fn encode_groups<'a>(src: &'a [u8], codes: &Codes, out: &mut [u8], tail: &mut Tail) -> &'a [u8] {
    let (first, groups) = src.as_rchunks::<SYMBOLS>();
    let Some((beginning, last)) = groups.split_last().map(|(last, others)| (others, last)) else { return src };
    let table = Table::new(codes);
    let mut left = groups.len();
    let eights = _mm512_set1_epi64(if codes.dense { 0 } else { 56 });
    // Joining is one group ahead of writing, so that neither waits for the other.
    let mut words = table.words(last);
    let mut ahead = beginning.iter().rev();
    while let Some(to) = out.get_mut(tail.size..tail.size + SPACE).and_then(|out| out.first_chunk_mut()) {
        let next = ahead.next().unwrap_or(last);
        let next_words = table.words(next);
        words.write(to, tail, eights);
        words = next_words;
        left -= 1;
        if left == 0 {
            break;
        }
    }
    &src[..first.len() + left * SYMBOLS]
}

struct Words {
    /// Joined codes of four symbols each, the last ones in the lowest lane.
    fours: __m512i,
    /// Bits of each element of `fours`.
    lengths: __m512i,
    /// Joined codes of eight symbols each, at even places; unused if one is longer than 56 bits.
    eights: __m512i,
    /// Bits of each element of `eights`.
    eight_lengths: __m512i,
}

impl Words {
    /// Writes eight symbols at a time if none of the joined codes is longer than `longest` bits, otherwise four.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2")]
    fn write(&self, to: &mut [u8; SPACE], tail: &mut Tail, longest: __m512i) {
        let mut writer = BitWriter { to, done: 0, held: tail.held, bits: tail.bits };
        if _mm512_cmpgt_epi64_mask(self.eight_lengths, longest) & 0x55 == 0 {
            let words = values(self.eights);
            let lengths = values(self.eight_lengths);
            for place in [6, 4, 2, 0] {
                writer.put(words[place], lengths[place]);
            }
        } else {
            let words = values(self.fours);
            let lengths = values(self.lengths);
            for place in (0..8).rev() {
                writer.put(words[place], lengths[place]);
            }
        }
        *tail = Tail { size: tail.size + writer.done, held: writer.held, bits: writer.bits };
    }
}

/// Writes the words of a group, which take at most 44 bytes.
struct BitWriter<'a> {
    to: &'a mut [u8; SPACE],
    done: usize,
    held: u64,
    bits: u32,
}

impl BitWriter<'_> {
    #[inline(always)]
    fn put(&mut self, word: u64, length: u64) {
        self.held |= word << self.bits;
        // SAFETY: a group is 32 codes of at most 11 bits, with up to 7 bits from before, so that `done` is at most 44.
        unsafe { self.to.as_mut_ptr().add(self.done).cast::<u64>().write_unaligned(self.held.to_le()) };
        self.bits += length as u32;
        self.done += (self.bits >> 3) as usize;
        self.held >>= self.bits & !7;
        self.bits &= 7;
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn values(register: __m512i) -> [u64; 8] {
    let mut values = [0; 8];
    // SAFETY: the array has 64 bytes.
    unsafe { _mm512_storeu_epi64(values.as_mut_ptr().cast(), register) };
    values
}

/// The codes of all symbols in eight registers: 12 bits of code, and the length above them.
struct Table([__m512i; 8]);

impl Table {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new(codes: &Codes) -> Self {
        let words = codes.words();
        let mut table = [_mm512_setzero_si512(); 8];
        for (register, words) in table.iter_mut().zip(words.as_chunks::<SYMBOLS>().0) {
            // SAFETY: 32 words are 64 bytes.
            *register = unsafe { _mm512_loadu_epi16(words.as_ptr().cast()) };
        }
        Table(table)
    }

    /// The joined codes of 32 symbols.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2")]
    fn words(&self, symbols: &[u8; SYMBOLS]) -> Words {
        let found = self.look_up(symbols);
        let code = _mm512_and_si512(found, _mm512_set1_epi16(0xfff));
        let length = _mm512_srli_epi16::<12>(found);
        // The later symbol of two neighbours is in the higher place here and in the lower place in the stream.
        let low = _mm512_and_si512(code, _mm512_set1_epi32(0xffff));
        let pairs = _mm512_sllv_epi32(low, _mm512_srli_epi32::<16>(length));
        let pairs = _mm512_or_si512(pairs, _mm512_srli_epi32::<16>(code));
        let length = _mm512_madd_epi16(length, _mm512_set1_epi16(1));
        let low = _mm512_and_si512(pairs, _mm512_set1_epi64(0xffff_ffff));
        let further = _mm512_srli_epi64::<32>(length);
        let fours = _mm512_or_si512(_mm512_sllv_epi64(low, further), _mm512_srli_epi64::<32>(pairs));
        let lengths = _mm512_and_si512(_mm512_add_epi64(length, further), _mm512_set1_epi64(0xff));
        let further = _mm512_unpackhi_epi64(lengths, lengths);
        let eights = _mm512_or_si512(_mm512_sllv_epi64(fours, further), _mm512_unpackhi_epi64(fours, fours));
        Words { fours, lengths, eights, eight_lengths: _mm512_add_epi64(lengths, further) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn look_up(&self, symbols: &[u8; SYMBOLS]) -> __m512i {
        // SAFETY: the array has 32 bytes.
        let index = _mm512_cvtepu8_epi16(unsafe { _mm256_loadu_si256(symbols.as_ptr().cast()) });
        let Table(table) = self;
        // Six bits of an index choose one of 64 codes; the two bits above choose the registers.
        let [a, b, c, d] = [0, 2, 4, 6].map(|at: usize| (table[at], table[at + 1]));
        let odd = _mm512_test_epi16_mask(index, _mm512_set1_epi16(0x40));
        let high = _mm512_test_epi16_mask(index, _mm512_set1_epi16(0x80));
        let below = _mm512_mask_blend_epi16(
            odd,
            _mm512_permutex2var_epi16(a.0, index, a.1),
            _mm512_permutex2var_epi16(b.0, index, b.1),
        );
        let above = _mm512_mask_blend_epi16(
            odd,
            _mm512_permutex2var_epi16(c.0, index, c.1),
            _mm512_permutex2var_epi16(d.0, index, d.1),
        );
        _mm512_mask_blend_epi16(high, below, above)
    }
}
