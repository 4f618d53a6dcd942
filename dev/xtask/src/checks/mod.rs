//! Checks that are more than a run of the tests: fuzz targets, one hash over a matrix of runs, model checkers, race
//! checkers, packages of the crates.

pub mod concurrency;
pub mod fuzz;
pub mod matrix;
pub mod publish;
