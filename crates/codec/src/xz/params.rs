//! The parameters of xz.

use super::{LzmaModel, NAME};
use crate::CodecError;
use crate::parameters::{Choice, Set, find};
use crate::parameters::{ListWriter, items};

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
    /// Filters to try on each block, besides no filter; the smallest result is kept.
    pub filters: Set<Bcj>,
    /// Whether the content of a block decides about the filter and `lc`, `lp` and `pb`, without trying. The candidates are the filters of
    /// [`XzParams::AUTO`], and [`Bcj::Arm64`] and [`Bcj::RiscV`] if they are named.
    pub auto: bool,
}

impl XzParams {
    pub const DEFAULT_LEVEL: u32 = 6;
    /// The filters that `auto` includes. All kernels read them. [`Bcj::Ia64`] is left out because many kernels lack it now.
    pub const AUTO: [Bcj; 5] = [Bcj::X86, Bcj::PowerPc, Bcj::Arm, Bcj::ArmThumb, Bcj::Sparc];

    /// The size in bytes of the largest dictionary of blocks of up to `block_size` bytes. A decoder needs as much memory.
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
                Self::AUTO.into_iter().for_each(|filter| params.filters.insert(filter));
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
            return Err(conflict("auto cannot be used with level=max, which tries the named filters".to_owned()));
        }
        let usual = LzmaModel::new(0);
        let [mine, default] = [&self.model, &usual].map(|model| [model.lc, model.lp, model.pb]);
        if self.auto && mine != default {
            let [lc, lp, pb] = mine;
            return Err(conflict(format!(
                "auto cannot be used with lc={lc},lp={lp},pb={pb}: auto chooses lc, lp and pb"
            )));
        }
        if self.auto && self.filters.contains(Bcj::Ia64) {
            return Err(conflict("auto cannot be used with ia64, which is tried only without auto".to_owned()));
        }
        Ok(())
    }

    pub(crate) fn print(&self) -> String {
        let mut printed = ListWriter::default();
        self.model.print(&mut printed, Self::DEFAULT_LEVEL);
        printed.flag("auto", self.auto);
        let named = self.filters.iter().filter(|filter| !(self.auto && Self::AUTO.contains(filter)));
        named.for_each(|filter| printed.flag(filter.name(), true));
        printed.list()
    }
}

impl Default for XzParams {
    fn default() -> Self {
        XzParams { model: LzmaModel::new(Self::DEFAULT_LEVEL), filters: Set::EMPTY, auto: false }
    }
}

/// Returns the error for parameters that exclude each other.
fn conflict(found: String) -> CodecError {
    CodecError::Conflict { codec: NAME, found, expected: String::new() }
}
