//! The parameters of xz.

use super::{LzmaModel, NAME};
use crate::CodecError;
use crate::item::{Printed, items};
use crate::set::{Choice, Set, find};

const KNOWN: &str =
    "level, extreme, dictsize, lc, lp, pb, x86, powerpc, ia64, arm, armthumb, sparc, arm64, riscv, auto";

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
    /// Whether one of the filters or none is chosen by what a block holds, and `lc`, `lp` and `pb` too, instead of trying. The filters are then
    /// x86 and arm64 at most.
    pub auto: bool,
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
            if item.key == "auto" {
                item.flag()?;
                params.auto = true;
                params.filters.insert(Bcj::X86);
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
        params.check()?;
        Ok(params)
    }

    /// Checks ranges, because callers may set the fields directly.
    pub(crate) fn check(&self) -> Result<(), CodecError> {
        self.model.check(NAME)?;
        if self.auto && self.model.is_max() {
            let expected = "auto, or max, which tries the filters named".to_owned();
            return Err(CodecError::Conflict { codec: NAME, found: "auto with level=max".to_owned(), expected });
        }
        let usual = LzmaModel::new(0);
        let [mine, default] = [&self.model, &usual].map(|model| [model.lc, model.lp, model.pb]);
        if self.auto && mine != default {
            let found = format!("auto with lc={},lp={},pb={}", mine[0], mine[1], mine[2]);
            return Err(CodecError::Conflict {
                codec: NAME,
                found,
                expected: "auto, which chooses these, or these".to_owned(),
            });
        }
        let tried = self.filters.iter().find(|filter| !matches!(filter, Bcj::X86 | Bcj::Arm64));
        if let Some(filter) = tried.filter(|_| self.auto) {
            let found = format!("auto with {}", filter.name());
            let expected = "auto with arm64 or no filter: the others are only tried, without auto".to_owned();
            return Err(CodecError::Conflict { codec: NAME, found, expected });
        }
        Ok(())
    }

    pub(crate) fn print(&self) -> String {
        let mut printed = Printed::default();
        self.model.print(&mut printed, Self::DEFAULT_LEVEL);
        printed.flag("auto", self.auto);
        let named = self.filters.iter().filter(|filter| !(self.auto && *filter == Bcj::X86));
        named.for_each(|filter| printed.flag(filter.name(), true));
        printed.list()
    }
}

impl Default for XzParams {
    fn default() -> Self {
        XzParams { model: LzmaModel::new(Self::DEFAULT_LEVEL), filters: Set::EMPTY, auto: false }
    }
}
