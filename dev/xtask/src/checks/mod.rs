//! Checks that are more than a run of the tests: fuzz targets, one hash over a matrix of runs, model checkers, race checkers.

pub mod concurrency;
pub mod fuzz;
pub mod matrix;
