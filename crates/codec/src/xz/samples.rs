//! Blocks of machine code for tests: calls of a few functions between other instructions.

use packline_testkit::Random;

use super::Bcj;

/// A machine, its code, and its number and byte order in ELF headers.
pub(super) struct Machine {
    pub filter: Bcj,
    pub code: fn(usize) -> Vec<u8>,
    number: u16,
    is_big: bool,
}

pub(super) const MACHINES: [Machine; 7] = [
    Machine { filter: Bcj::X86, code: x86, number: 62, is_big: false },
    Machine { filter: Bcj::PowerPc, code: power_pc, number: 20, is_big: true },
    Machine { filter: Bcj::Sparc, code: sparc, number: 43, is_big: true },
    Machine { filter: Bcj::Arm, code: arm, number: 40, is_big: false },
    Machine { filter: Bcj::ArmThumb, code: arm_thumb, number: 40, is_big: false },
    Machine { filter: Bcj::Arm64, code: arm64, number: 183, is_big: false },
    Machine { filter: Bcj::RiscV, code: risc_v, number: 243, is_big: false },
];

/// The code as an ELF file for the machine of a filter.
pub(super) fn elf(filter: Bcj, code: Vec<u8>) -> Vec<u8> {
    let machine = MACHINES.into_iter().find(|machine| machine.filter == filter);
    let (number, is_big) = machine.map_or((0, false), |machine| (machine.number, machine.is_big));
    let mut made = b"\x7fELF\x02".to_vec();
    made.push(1 + u8::from(is_big));
    made.resize(18, 0);
    made.extend(if is_big { number.to_be_bytes() } else { number.to_le_bytes() });
    made.resize(64, 0);
    made.extend(code);
    made
}

pub(super) fn x86(size: usize) -> Vec<u8> {
    let mut random = Random::new(1);
    let mut made = Vec::new();
    while made.len() < size {
        made.extend(random.noise(20).iter().map(|byte| byte & 0x5f));
        let target = u32::from(random.noise(1)[0]) * 64;
        made.push(0xe8);
        made.extend_from_slice(&target.wrapping_sub(made.len() as u32 + 4).to_le_bytes());
    }
    made.truncate(size);
    made
}

pub(super) fn arm64(size: usize) -> Vec<u8> {
    words(size, 0xf940_0000, |target, at| 0x9400_0000 | relative(target, at) >> 2 & 0x3ff_ffff, u32::to_le_bytes)
}

fn arm(size: usize) -> Vec<u8> {
    words(size, 0xe590_0000, |target, at| 0xeb00_0000 | relative(target, at + 8) >> 2 & 0xff_ffff, u32::to_le_bytes)
}

fn power_pc(size: usize) -> Vec<u8> {
    words(size, 0x8001_0000, |target, at| 0x4800_0001 | relative(target, at) & 0x3ff_fffc, u32::to_be_bytes)
}

fn sparc(size: usize) -> Vec<u8> {
    let call = |target, at| 0x4000_0000 | (relative(target, at) as i32 >> 2) as u32 & 0x3fff_ffff;
    words(size, 0xd000_0000, call, u32::to_be_bytes)
}

/// `jal ra`, with the bits of the target in their places.
fn risc_v(size: usize) -> Vec<u8> {
    let call = |target, at| {
        let to = relative(target, at);
        to >> 20 << 31 | (to >> 1 & 0x3ff) << 21 | (to >> 11 & 1) << 20 | (to >> 12 & 0xff) << 12 | 0xef
    };
    words(size, 0x0005_3503, call, u32::to_le_bytes)
}

fn arm_thumb(size: usize) -> Vec<u8> {
    let call = |target, at| {
        let to = relative(target, at + 4) >> 1;
        0xf000 | to >> 11 & 0x7ff | (0xf800 | to & 0x7ff) << 16
    };
    words(size, 0x6800_4600, call, u32::to_le_bytes)
}

fn relative(target: u32, at: u32) -> u32 {
    target.wrapping_sub(at)
}

/// One of eight instructions is a call of one of 32 functions nearby.
fn words(size: usize, plain: u32, call: fn(u32, u32) -> u32, bytes: fn(u32) -> [u8; 4]) -> Vec<u8> {
    let noise = Random::new(2).noise(size / 4);
    let words = noise.iter().zip((0..).step_by(4)).map(|(byte, at)| match byte % 8 {
        0 => call(u32::from(*byte) * 512, at),
        _ => plain | u32::from(*byte),
    });
    words.flat_map(bytes).collect()
}
