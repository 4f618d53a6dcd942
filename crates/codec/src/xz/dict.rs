//! Dictionary sizes: in bytes, or as a share of the block.

use std::fmt;

use crate::CodecError;
use crate::parameters::Item;

/// 100 percent, in millionths of a percent.
const WHOLE: u32 = 100_000_000;

/// A share from a millionth of a percent to 100 percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent {
    millionths: u32,
}

impl Percent {
    pub const ALL: Percent = Percent { millionths: WHOLE };

    /// This share of `size` bytes, rounded down.
    pub fn of(self, size: usize) -> usize {
        (size as u128 * u128::from(self.millionths) / u128::from(WHOLE)) as usize
    }

    /// Parses a number with up to six decimals, without the percent sign.
    fn parse(text: &str) -> Option<Percent> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(decimals) || whole.is_empty() || whole.len() > 3 || decimals.len() > 6 {
            return None;
        }
        let millionths: u32 = format!("{whole}{decimals:0<6}").parse().ok()?;
        (1..=WHOLE).contains(&millionths).then_some(Percent { millionths })
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:06}", self.millionths / 1_000_000, self.millionths % 1_000_000);
        write!(f, "{}%", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Maximum dictionary size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DictSize {
    /// As large as a block.
    #[default]
    Block,
    /// A share of a block.
    Share(Percent),
    Bytes(u32),
}

impl DictSize {
    /// Smallest dictionary in bytes. Readers allocate it for metadata blocks anyway.
    pub const MIN: u32 = 8 * 1024;
    /// Largest dictionary in bytes.
    pub const MAX: u32 = 1024 * 1024;

    /// The dictionary for blocks of `block_size` bytes, bytes. `None` unless the format can store the size and readers accept it: 2^n or
    /// 2^n + 2^(n+1), from [`DictSize::MIN`] to [`DictSize::MAX`].
    pub fn resolve(self, block_size: usize) -> Option<u32> {
        let size = match self {
            DictSize::Block => block_size.next_power_of_two().max(Self::MIN as usize),
            DictSize::Share(percent) => percent.of(1 << block_size.max(1).ilog2()),
            DictSize::Bytes(bytes) => bytes as usize,
        };
        let size = u32::try_from(size).ok()?;
        if self == DictSize::Block {
            return Some(size);
        }
        ((Self::MIN..=Self::MAX).contains(&size) && storable(size)).then_some(size)
    }

    pub(crate) fn parse(item: &Item<'_>) -> Result<DictSize, CodecError> {
        let expected = "bytes with K or M, or a share of the block with %";
        let text = item.text(expected)?;
        let size = match text.strip_suffix('%') {
            Some(share) => Percent::parse(share).map(DictSize::Share),
            None => bytes(text).map(DictSize::Bytes),
        };
        let range = format!("{expected}: 2^n or 2^n+2^(n+1), from 8K to 1M, or more than 0% to 100%");
        let size = size.ok_or_else(|| item.wrong(text, range.clone()))?;
        match size {
            DictSize::Bytes(_) if size.resolve(1).is_none() => Err(item.wrong(text, range)),
            DictSize::Share(Percent::ALL) => Ok(DictSize::Block),
            size => Ok(size),
        }
    }
}

impl fmt::Display for DictSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DictSize::Block => write!(f, "{}", Percent::ALL),
            DictSize::Share(percent) => write!(f, "{percent}"),
            DictSize::Bytes(bytes) if bytes % 1024 == 0 => write!(f, "{}K", bytes / 1024),
            DictSize::Bytes(bytes) => write!(f, "{bytes}"),
        }
    }
}

/// Whether the size is 2^n or 2^n + 2^(n+1).
fn storable(size: u32) -> bool {
    let odd = size >> size.trailing_zeros().min(31);
    odd == 1 || odd == 3
}

/// Parses a number of bytes with an optional suffix.
fn bytes(text: &str) -> Option<u32> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 10),
        b'm' | b'M' => (&text[..text.len() - 1], 20),
        _ => (text, 0),
    };
    digits.parse::<u32>().ok()?.checked_mul(1 << shift)
}
