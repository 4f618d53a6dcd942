//! The three models that lrzip writes, compiled instead of interpreted. Their predictions are those of [`General`](super::general::General)
//! with their headers, but computed faster.

mod chain;
mod max;
mod mid;
mod min;

pub(in crate::zpaq) use max::Max;
pub(in crate::zpaq) use mid::Mid;
pub(in crate::zpaq) use min::Min;

/// The headers of the three models, without the size before them.
pub(in crate::zpaq) const HEADERS: [&[u8]; 3] = [&min::HEADER, &mid::HEADER, &max::HEADER];
