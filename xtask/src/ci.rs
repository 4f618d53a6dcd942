//! Everything that CI checks, in the order in which a mistake shows soonest.

use crate::arguments::Arguments;
use crate::{fuzz, golden, models, shell, tidy};

/// Runs all checks; stops at the first that fails. One profile for all, so that nothing is compiled twice.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&["fuzz-seconds"])?;
    shell::run(shell::cargo().args(["fmt", "--all", "--check"]))?;
    tidy::run(&Arguments::default())?;
    shell::run(shell::cargo().args(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))?;
    shell::run(shell::cargo().args(["test", "--workspace"]))?;
    golden::run(&Arguments::default())?;
    models::loom()?;
    fuzz::each_target(arguments.number("fuzz-seconds", 30)?)
}
