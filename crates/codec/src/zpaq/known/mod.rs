//! The three models that lrzip writes, as code instead of a program: the same guesses as [`General`](super::general::General)
//! makes of their headers, sooner.

mod chain;
mod max;
mod mid;
mod min;

pub(super) use max::Max;
pub(super) use mid::Mid;
pub(super) use min::Min;

/// The headers of the three models, without the size before them.
pub(super) const HEADERS: [&[u8]; 3] = [&min::HEADER, &mid::HEADER, &max::HEADER];
