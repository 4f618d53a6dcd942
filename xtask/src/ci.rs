//! Everything that CI checks, the quickest checks first.

use crate::{fuzz, golden, models, shell, tidy};

/// Stops at the first failure. All checks use one profile, so that nothing is compiled twice.
pub fn run(fuzz_seconds: u32) -> Result<(), String> {
    shell::run(shell::cargo().args(["fmt", "--all", "--check"]))?;
    tidy::run()?;
    shell::run(shell::cargo().args(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))?;
    shell::run(shell::cargo().args(["test", "--workspace"]))?;
    golden::run(&golden::Options::default())?;
    models::loom()?;
    fuzz::each_target(fuzz_seconds)
}
