//! The engine under model checkers: loom tries every order of the steps of its primitives, shuttle runs the whole engine under
//! random schedules.

use crate::{environment, shell};

pub fn run() -> Result<(), String> {
    loom()?;
    under("shuttle", "schedules")
}

/// Each run takes half a minute once the models are built.
pub fn loom() -> Result<(), String> {
    under("loom", "models")
}

/// Runs the engine's tests of one module with the locks, atomics and threads of a checker, in a target directory of its own,
/// because everything is compiled for it.
fn under(checker: &str, module: &str) -> Result<(), String> {
    let mut command = shell::cargo();
    command.args(["test", "--release", "--package", "packline-engine", "--lib", module]);
    command.env("RUSTFLAGS", format!("--cfg {checker}"));
    // Linking with optimisation takes longer than it saves.
    command.env("CARGO_PROFILE_RELEASE_LTO", "off");
    shell::run(command.env("CARGO_TARGET_DIR", environment::target_directory().join(checker)))
}
