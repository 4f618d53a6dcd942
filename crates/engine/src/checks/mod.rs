//! The engine under checkers of concurrency: models for loom and shuttle, and annotations for helgrind.

#[cfg(helgrind)]
pub(crate) mod helgrind;
#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, shuttle))]
mod schedules;
