//! The encoders of the branch filters (xz `doc/xz-file-format.txt`, section 5.3.2). A filter makes the target of a branch absolute, counted
//! from the start of the block.

use liblzma_sys as sys;

use super::Bcj;

/// A filter of the library. It takes the position of the first byte, and the bytes; it returns how many bytes it processed.
type Library = unsafe extern "C" fn(u32, *mut u8, usize) -> usize;

impl Bcj {
    /// The filter's number in a block header.
    pub(crate) fn id(self) -> u8 {
        match self {
            Bcj::X86 => 4,
            Bcj::PowerPc => 5,
            Bcj::Ia64 => 6,
            Bcj::Arm => 7,
            Bcj::ArmThumb => 8,
            Bcj::Sparc => 9,
            Bcj::Arm64 => 10,
            Bcj::RiscV => 11,
        }
    }

    pub(crate) fn encode(self, block: &mut [u8]) {
        match self {
            Bcj::X86 => by_library(sys::lzma_bcj_x86_encode, block),
            Bcj::Arm64 => by_library(sys::lzma_bcj_arm64_encode, block),
            Bcj::RiscV => by_library(sys::lzma_bcj_riscv_encode, block),
            Bcj::PowerPc => each_word(block, |word, at| power_pc(u32::from_be_bytes(word), at).to_be_bytes()),
            Bcj::Sparc => each_word(block, |word, at| sparc(u32::from_be_bytes(word), at).to_be_bytes()),
            Bcj::Arm => each_word(block, |word, at| arm(u32::from_le_bytes(word), at).to_le_bytes()),
            Bcj::ArmThumb => arm_thumb(block),
            Bcj::Ia64 => {
                for (index, bundle) in block.as_chunks_mut().0.iter_mut().enumerate() {
                    ia64(index, bundle);
                }
            }
        }
    }
}

fn by_library(filter: Library, block: &mut [u8]) {
    // SAFETY: the pointer is valid for reads and writes of the length given.
    let _: usize = unsafe { filter(0, block.as_mut_ptr(), block.len()) };
}

/// Changes each complete word of four bytes. `change` also gets the position.
fn each_word(block: &mut [u8], change: impl Fn([u8; 4], u32) -> [u8; 4]) {
    for (word, at) in block.as_chunks_mut().0.iter_mut().zip((0..).step_by(4)) {
        *word = change(*word, at);
    }
}

/// Changes a branch with link, relative, whose target is 24 bits of words.
fn power_pc(word: u32, at: u32) -> u32 {
    const TARGET: u32 = 0x03ff_fffc;
    if word & !TARGET != 0x4800_0001 {
        return word;
    }
    word & !TARGET | word.wrapping_add(at) & TARGET
}

/// Changes a call whose 30 bits of words are the sign extension of 23.
fn sparc(word: u32, at: u32) -> u32 {
    if !matches!(word >> 22, 0x100 | 0x1ff) {
        return word;
    }
    let target = word.wrapping_add(at >> 2);
    let sign = (target >> 22 & 1).wrapping_neg();
    0x4000_0000 | sign << 22 & 0x3fff_ffff | target & 0x003f_ffff
}

/// Changes an unconditional branch with link. The target is 24 bits of words, counted from the second instruction after it.
fn arm(word: u32, at: u32) -> u32 {
    const TARGET: u32 = 0x00ff_ffff;
    if word >> 24 != 0xeb {
        return word;
    }
    word & !TARGET | word.wrapping_add((at + 8) >> 2) & TARGET
}

/// Changes branches with link in two halves, each with eleven bits of the target.
fn arm_thumb(block: &mut [u8]) {
    let mut at = 0;
    while let Some([one, two, three, four]) = block.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        let is_branch = *two & 0xf8 == 0xf0 && *four & 0xf8 == 0xf8;
        at += 2;
        if !is_branch {
            continue;
        }
        let half = |high: u8, low: u8| u32::from(high & 7) << 8 | u32::from(low);
        let relative = half(*two, *one) << 11 | half(*four, *three);
        // The position four bytes after the start of this instruction, in halves.
        let target = relative.wrapping_add((at as u32 + 2) >> 1);
        *one = (target >> 11) as u8;
        *two = 0xf0 | (target >> 19 & 7) as u8;
        *three = target as u8;
        *four = 0xf8 | (target >> 8 & 7) as u8;
        at += 2;
    }
}

/// Bytes of three instructions of IA-64.
const BUNDLE: usize = 16;

/// By the template of a bundle: which of its three instructions may be branches.
const IA64_BRANCHES: [u8; 32] =
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 6, 6, 0, 0, 7, 7, 4, 4, 0, 0, 4, 4, 0, 0];

/// Changes the calls in a bundle.
fn ia64(index: usize, bundle: &mut [u8; BUNDLE]) {
    /// The bits of the target in an instruction: 20 bits, and the highest bit apart from them.
    const TARGET: u128 = 0x8f_ffff << 13;
    let mut bits = u128::from_le_bytes(*bundle);
    let branches = IA64_BRANCHES[bits as usize & 31];
    for slot in (0..3).filter(|slot| branches >> slot & 1 != 0) {
        let shift = 5 + 41 * slot;
        let instruction = bits >> shift;
        if instruction >> 37 & 15 != 5 || instruction >> 9 & 7 != 0 {
            continue;
        }
        let relative = (instruction >> 13 & 0xf_ffff | instruction >> 16 & 0x10_0000) as u32;
        let target = u128::from(relative.wrapping_add(index as u32));
        let placed = (target & 0xf_ffff) << 13 | (target & 0x10_0000) << 16;
        bits = bits & !(TARGET << shift) | placed << shift;
    }
    *bundle = bits.to_le_bytes();
}
