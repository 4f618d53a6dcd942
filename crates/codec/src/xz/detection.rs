//! Detects which branch filter suits a block.
//!
//! A filter helps where one function is called from many places: the relative targets differ and the absolute targets are equal. Each
//! filter therefore runs on a copy of the block. The words that it changes are counted by whether they repeat an earlier word, before and
//! after the filter. This needs no table of instructions and no header, which blocks from the middle of a file do not have.
//!
//! If an ELF file begins in the block, the filters of other machines are left out.

use super::Bcj;
use crate::Set;
use crate::bytes::{eight, four, slot};

/// Hash bits of the tables of words that occurred before.
const BITS: u32 = 12;
/// Number of repeated words that a filter must add. The filter takes four bytes of a block header, and a few more words may be chance.
const LEAST: i64 = 8;
/// Bytes of a block per repeated word that a filter must add. Data that is not code also has some words that look like branches.
const BYTES: usize = 4096;

/// Memory in bytes while a filter is chosen, without a copy of the block.
pub(super) const MEMORY: usize = 2 * (size_of::<u32>() << BITS);

/// Returns the filter out of `among` that suits a block. `spare` is at least as long as the block.
pub(super) fn filter(block: &[u8], among: Set<Bcj>, spare: &mut [u8]) -> Option<Bcj> {
    let machine = machine(block);
    let least = LEAST.max((block.len() / BYTES) as i64);
    let mut best = (least, None);
    for filter in among.iter().filter(|filter| machine.is_none_or(|filters| filters.contains(filter))) {
        let gain = gain(block, filter, &mut spare[..block.len()]);
        if gain > best.0 {
            best = (gain, Some(filter));
        }
    }
    best.1
}

/// Returns the filters for the machine of the ELF file that `block` starts with. `None` if it is not an ELF file, or no filter is for its
/// machine.
fn machine(block: &[u8]) -> Option<&'static [Bcj]> {
    let header: &[u8; 20] = block.first_chunk()?;
    if !header.starts_with(b"\x7fELF") {
        return None;
    }
    let order = header[5];
    let machine = [header[18], header[19]];
    // The machine numbers of elf.h: `EM_386` and others.
    match (order, u16::from_le_bytes(machine), u16::from_be_bytes(machine)) {
        (1, 3 | 62, _) => Some(&[Bcj::X86]),
        (1, 40, _) => Some(&[Bcj::Arm, Bcj::ArmThumb]),
        (1, 183, _) => Some(&[Bcj::Arm64]),
        (1, 243, _) => Some(&[Bcj::RiscV]),
        (2, _, 20 | 21) => Some(&[Bcj::PowerPc]),
        (2, _, 2 | 18 | 43) => Some(&[Bcj::Sparc]),
        _ => None,
    }
}

/// Returns how many more words repeat after filtering than before. Only words that the filter changes count.
fn gain(block: &[u8], filter: Bcj, filtered: &mut [u8]) -> i64 {
    filtered.copy_from_slice(block);
    filter.encode(filtered);
    let [mut before, mut after] = [(); 2].map(|()| Words::new());
    let unit = filter.unit();
    let mut at = 0;
    let mut gain = 0;
    while at + 8 <= block.len() {
        let differing = eight(block, at) ^ eight(filtered, at);
        if differing == 0 {
            at += 8;
            continue;
        }
        at += (differing.trailing_zeros() / 8) as usize;
        at -= at % unit;
        gain += i64::from(after.repeats(four(filtered, at))) - i64::from(before.repeats(four(block, at)));
        at += 4;
    }
    gain
}

/// Words that occurred: the latest word of each hash.
struct Words(Vec<u32>);

impl Words {
    fn new() -> Words {
        Words(vec![0; 1 << BITS])
    }

    /// Whether a word occurred before. Remembers the word.
    fn repeats(&mut self, word: u32) -> bool {
        std::mem::replace(&mut self.0[slot(u64::from(word), BITS)], word) == word
    }
}

impl Bcj {
    /// A changed word starts at a multiple of this number of bytes.
    fn unit(self) -> usize {
        match self {
            Bcj::X86 => 1,
            Bcj::ArmThumb | Bcj::RiscV => 2,
            _ => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use packline_testkit::Random;

    use super::super::samples::{self, Machine};
    use super::*;

    fn all() -> Set<Bcj> {
        samples::MACHINES.into_iter().map(|machine| machine.filter).collect()
    }

    fn detected(block: &[u8], among: Set<Bcj>) -> Option<Bcj> {
        filter(block, among, &mut vec![0; block.len()])
    }

    #[test]
    fn detects_the_filter_of_code() {
        for Machine { filter, code, .. } in samples::MACHINES {
            for size in [16_000, 128 << 10, 1 << 20] {
                assert_eq!(detected(&code(size), all()), Some(filter), "{size}");
            }
        }
    }

    #[test]
    fn chooses_no_filter_for_data() {
        let mut random = Random::new(3);
        let numbers = (0..30_000u32).flat_map(u32::to_le_bytes).collect();
        let wide = (0..30_000u32).flat_map(|number| (0xeb00_0000 | number).to_le_bytes()).collect();
        let few = vec![0xe8; 7];
        for block in [
            random.prose(50_000),
            vec![0; 50_000],
            vec![0xff; 50_000],
            random.noise(1 << 20),
            vec![],
            vec![1; 4],
            numbers,
            wide,
            few,
        ] {
            assert_eq!(detected(&block, all()), None);
        }
    }

    #[test]
    fn chooses_only_named_filters() {
        for Machine { filter, code, .. } in samples::MACHINES {
            let others = all().iter().filter(|other| *other != filter).collect();
            let file = samples::elf(filter, code(50_000));
            assert_eq!(detected(&file, others), None);
        }
    }

    #[test]
    fn elf_header_excludes_other_machines() {
        for Machine { filter, code, .. } in samples::MACHINES {
            assert_eq!(detected(&samples::elf(filter, code(50_000)), all()), Some(filter));
            let other = if filter == Bcj::Sparc { Bcj::X86 } else { Bcj::Sparc };
            assert_eq!(detected(&samples::elf(other, code(50_000)), all()), None);
        }
        assert_eq!(machine(b"\x7fELF\x02\x01"), None);
    }
}
