//! The parameters of xz.

use super::{LzmaModel, NAME};
use crate::CodecError;
use crate::item::{Printed, items};
use crate::set::{Choice, Set, find};

const KNOWN: &str = "level, extreme, dictsize, lc, lp, pb, x86, powerpc, ia64, arm, armthumb, sparc, arm64, riscv";

/// A filter that makes branch targets in machine code absolute, so that they repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bcj {
    /// x86, 32 and 64 bits.
    X86,
    /// PowerPC, big endian.
    PowerPc,
    Ia64,
    /// ARM, 32-bit instructions, little endian.
    Arm,
    /// ARM Thumb, little endian.
    ArmThumb,
    Sparc,
    /// ARM, 64 bits. Supported by Linux since 6.12.
    Arm64,
    /// RISC-V. Supported by Linux since 6.12.
    RiscV,
}

impl Choice for Bcj {
    const ALL: &'static [Self] =
        &[Bcj::X86, Bcj::PowerPc, Bcj::Ia64, Bcj::Arm, Bcj::ArmThumb, Bcj::Sparc, Bcj::Arm64, Bcj::RiscV];

    fn name(self) -> &'static str {
        match self {
            Bcj::X86 => "x86",
            Bcj::PowerPc => "powerpc",
            Bcj::Ia64 => "ia64",
            Bcj::Arm => "arm",
            Bcj::ArmThumb => "armthumb",
            Bcj::Sparc => "sparc",
            Bcj::Arm64 => "arm64",
            Bcj::RiscV => "riscv",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XzParams {
    pub model: LzmaModel,
    /// Filters to try on each block besides none; the smallest result is kept.
    pub filters: Set<Bcj>,
}

impl XzParams {
    pub const DEFAULT_LEVEL: u32 = 6;

    /// The largest dictionary of blocks of up to `block_size` bytes, bytes: the memory that a decoder needs.
    pub fn dict_size(&self, block_size: usize) -> Result<u32, CodecError> {
        self.model.dict_size(NAME, block_size)
    }

    pub(crate) fn parse(list: &str) -> Result<Self, CodecError> {
        let mut params = XzParams::default();
        for item in items(NAME, list) {
            if params.model.take(&item)? {
                continue;
            }
            let filter = match item.key {
                "bcj" => item.choice()?,
                name => find(name).ok_or_else(|| item.unknown(KNOWN))?,
            };
            if item.key != "bcj" {
                item.flag()?;
            }
            params.filters.insert(filter);
        }
        params.model.check(NAME)?;
        Ok(params)
    }

    pub(crate) fn print(&self) -> String {
        let mut printed = Printed::default();
        self.model.print(&mut printed, Self::DEFAULT_LEVEL);
        self.filters.iter().for_each(|filter| printed.flag(filter.name(), true));
        printed.list()
    }
}

impl Default for XzParams {
    fn default() -> Self {
        XzParams { model: LzmaModel::new(Self::DEFAULT_LEVEL), filters: Set::EMPTY }
    }
}
