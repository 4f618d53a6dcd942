//! The engine's stress run under checkers of races, each of which sees what the others do not: helgrind of valgrind, which also
//! knows in what order locks are taken; ThreadSanitizer, which knows the language's own order; and miri, which interprets.

use crate::arguments::Arguments;
use crate::{environment, shell};
use packline_testkit::tools;
use std::path::PathBuf;
use std::process::Command;

/// One checker.
struct Checker {
    name: &'static str,
    /// What is missing for it, and the way to get it.
    missing: fn() -> Option<&'static str>,
    /// An error if it finds something.
    run: fn() -> Result<(), String>,
}

const CHECKERS: [Checker; 3] = [
    Checker { name: "helgrind", missing: no_valgrind, run: helgrind },
    Checker { name: "thread", missing: no_sources, run: thread_sanitizer },
    Checker { name: "miri", missing: no_miri, run: miri },
];

/// Items that each sends down every line: less than a minute of work each.
const HELGRIND_ITEMS: &str = "400";
const THREAD_ITEMS: &str = "5000";
const MIRI_ITEMS: &str = "8";

/// `races [CHECKER]...`: those named, or all. Nothing is run unless all can be.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&[])?;
    let wanted = wanted(&arguments.operands)?;
    if let Some((checker, way_out)) = wanted.iter().find_map(|checker| Some((checker.name, (checker.missing)()?))) {
        return Err(format!("{checker} cannot be run: {way_out}; or name those that can, of {:?}", names()));
    }
    for checker in &wanted {
        (checker.run)().map_err(|cause| format!("{}: {cause}", checker.name))?;
        shell::say(&format!("{}: no race found", checker.name));
    }
    Ok(())
}

fn names() -> [&'static str; 3] {
    CHECKERS.map(|checker| checker.name)
}

fn wanted(operands: &[String]) -> Result<Vec<Checker>, String> {
    if let Some(unknown) = operands.iter().find(|operand| !names().contains(&operand.as_str())) {
        return Err(format!("{unknown} is no checker (expected some of {:?})", names()));
    }
    let named = |checker: &Checker| operands.is_empty() || operands.iter().any(|operand| operand == checker.name);
    Ok(CHECKERS.into_iter().filter(named).collect())
}

fn no_valgrind() -> Option<&'static str> {
    tools::find("valgrind").is_none().then_some("valgrind is not installed (apt-get install valgrind)")
}

fn no_sources() -> Option<&'static str> {
    let sources = |sysroot: &str| PathBuf::from(sysroot.trim()).join("lib/rustlib/src/rust/library/std").is_dir();
    let found = nightly("rustc", &["--print", "sysroot"]).is_ok_and(|sysroot| sources(&sysroot));
    (!found).then_some(
        "the sources of a nightly toolchain are missing (rustup toolchain install nightly --component rust-src)",
    )
}

fn no_miri() -> Option<&'static str> {
    let found = nightly("cargo", &["miri", "--version"]).is_ok();
    (!found).then_some("miri is missing (rustup toolchain install nightly --component miri --component rust-src)")
}

/// What a program of the nightly toolchain says.
fn nightly(program: &str, words: &[&str]) -> Result<String, String> {
    shell::output(Command::new(program).arg("+nightly").args(words))
}

/// A cargo command on the stress run, in a directory of its own, since everything is compiled anew for each checker.
fn stress(words: &[&str], checker: &str, flags: &str) -> Command {
    let mut command = shell::cargo();
    command.args(words).args(["--package", "packline-engine", "--example", "stress"]);
    command.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", place(checker));
    command
}

fn place(checker: &str) -> PathBuf {
    environment::target_directory().join(checker)
}

/// The engine tells helgrind of its locks and atomics (`crates/engine/src/told.rs`); each thing of the standard library's that
/// helgrind mistakes is named with a reason in `crates/engine/tests/helgrind.supp`.
fn helgrind() -> Result<(), String> {
    shell::run(&mut stress(&["build"], "helgrind", "--cfg helgrind"))?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=helgrind", "--fair-sched=yes", "--error-limit=no", "--error-exitcode=9"]);
    command.arg("--suppressions=crates/engine/tests/helgrind.supp");
    shell::run(command.arg(place("helgrind").join("debug/examples/stress")).arg(HELGRIND_ITEMS))
}

/// The standard library is compiled with it, or its locks would not be seen.
fn thread_sanitizer() -> Result<(), String> {
    let about = nightly("rustc", &["-vV"])?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or_else(|| format!("rustc -vV says no host: {about}"))?;
    let words = ["+nightly", "run", "-Zbuild-std", "--target", host];
    shell::run(stress(&words, "thread", "-Zsanitizer=thread").args(["--", THREAD_ITEMS]))
}

/// Under a few schedules, each of which also lets loads of atomics see older values wherever the language allows it.
fn miri() -> Result<(), String> {
    let mut command = stress(&["+nightly", "miri", "run"], "miri", "");
    shell::run(command.env("MIRIFLAGS", "-Zmiri-many-seeds=0..2").args(["--", MIRI_ITEMS]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(operands: &[&str]) -> Result<Vec<&'static str>, String> {
        let operands: Vec<String> = operands.iter().map(ToString::to_string).collect();
        Ok(wanted(&operands)?.iter().map(|checker| checker.name).collect())
    }

    #[test]
    fn all_unless_some_are_named() {
        assert_eq!(chosen(&[]).unwrap(), ["helgrind", "thread", "miri"]);
        assert_eq!(chosen(&["miri", "helgrind"]).unwrap(), ["helgrind", "miri"]);
        assert!(chosen(&["drd"]).unwrap_err().contains("expected some of"));
    }

    #[test]
    fn what_is_missing_comes_with_the_way_to_get_it() {
        let said: Vec<&str> = CHECKERS.iter().filter_map(|checker| (checker.missing)()).collect();
        assert!(said.iter().all(|way_out| way_out.contains("install")), "{said:?}");
    }
}
