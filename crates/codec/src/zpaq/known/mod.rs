//! The three models that lrzip writes, compiled instead of interpreted: the same predictions as [`General`](super::general::General) from
//! their headers, but faster.

mod chain;
mod max;
mod mid;
mod min;

pub(super) use max::Max;
pub(super) use mid::Mid;
pub(super) use min::Min;

/// The headers of the three models, without the size before them.
pub(super) const HEADERS: [&[u8]; 3] = [&min::HEADER, &mid::HEADER, &max::HEADER];
