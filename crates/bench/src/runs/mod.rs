//! The plan of a benchmark, the runs of the plan, and the facts about them that every report has.

pub mod facts;
mod pipes;
pub mod plan;
pub mod process;
pub mod runner;
pub mod work_dir;
