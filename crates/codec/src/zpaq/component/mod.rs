//! The components of a model: each predicts the next bit from contexts or from earlier components' predictions, and adapts.

mod direct;
mod history;
mod matching;
mod mixing;
mod rows;

pub(super) use direct::{Cm, Sse};
pub(super) use history::{Icm, Isse};
pub(super) use matching::Match;
pub(super) use mixing::{Mix, Mix2, blend, dot, train};
