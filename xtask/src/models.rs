//! The engine's hand-overs under model checkers: loom, which tries every order of their steps, and shuttle, which runs the whole
//! engine under schedules drawn by chance.

use crate::arguments::Arguments;
use crate::{environment, shell};

/// Both.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&[])?;
    loom()?;
    under("shuttle", "schedules")
}

/// Half a minute of models, once they are built.
pub fn loom() -> Result<(), String> {
    under("loom", "models")
}

/// Runs the engine's tests of one module with its locks, atomics and threads from a model checker. In a directory of its own,
/// since everything is compiled for it.
fn under(checker: &str, module: &str) -> Result<(), String> {
    let mut command = shell::cargo();
    command.args(["test", "--release", "--package", "packline-engine", "--lib", module]);
    command.env("RUSTFLAGS", format!("--cfg {checker}"));
    shell::run(command.env("CARGO_TARGET_DIR", environment::target_directory().join(checker)))
}
