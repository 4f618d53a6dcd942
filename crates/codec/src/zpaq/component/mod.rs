//! The components of a model: each guesses the next bit, by what it saw or from the guesses of those before it, and learns.

mod direct;
mod history;
mod matching;
mod mixing;
mod rows;

pub(super) use direct::{Cm, Sse};
pub(super) use history::{Icm, Isse};
pub(super) use matching::Match;
pub(super) use mixing::{Mix, Mix2, blend, dot, train};
