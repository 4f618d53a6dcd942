//! The components of a model: each predicts the next bit from contexts or from earlier components' predictions, and adapts.

mod direct;
mod history;
mod matching;
mod mixing;
mod rows;

pub(in crate::zpaq) use direct::{Cm, Sse};
pub(in crate::zpaq) use history::{Icm, Isse};
pub(in crate::zpaq) use matching::Match;
pub(in crate::zpaq) use mixing::{Mix, Mix2, blend, dot, train};
