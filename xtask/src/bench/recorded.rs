//! Runs of `packline bench` whose reports are kept, dated.

use super::binary;
use crate::arguments::Arguments;
use crate::{clock, corpus, shell};
use std::path::PathBuf;
use std::process::Command;

/// What is meant for this command; all other options go to `packline bench`.
const OWN: [&str; 4] = ["input", "name", "out", "binary"];
/// The value of an option that takes none.
const YES: &str = "yes";

/// `bench pack`, `bench unpack`, `bench codec`: writes `DATE-NAME.csv`, `.md` and `.html`.
pub fn run(what: &str, arguments: &Arguments) -> Result<(), String> {
    let input = arguments.path("input").unwrap_or_else(corpus::archive);
    if !input.exists() {
        return Err(format!("{}: no input (make it with `cargo xtask corpus debian-root`)", input.display()));
    }
    let mut command = Command::new(binary(arguments)?);
    command.args(["bench", what]).arg(input).args(forwarded(arguments)).arg("--force");
    for (option, path) in reports(what, arguments) {
        command.arg(option).arg(path);
    }
    shell::run(&mut command)
}

fn reports(what: &str, arguments: &Arguments) -> [(&'static str, PathBuf); 3] {
    let place = arguments.path("out").unwrap_or_else(|| shell::root().join("bench/results"));
    let name = format!("{}-{}", clock::today(), arguments.text("name").unwrap_or(what));
    [("--csv", "csv"), ("--markdown", "md"), ("--html", "html")]
        .map(|(option, suffix)| (option, place.join(format!("{name}.{suffix}"))))
}

/// Options of `packline bench`, as words.
fn forwarded(arguments: &Arguments) -> Vec<String> {
    let mut words = Vec::new();
    for (key, value) in arguments.options().filter(|(key, _)| !OWN.contains(key)) {
        words.push(format!("--{key}"));
        if value != YES {
            words.push(value.to_owned());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_benchmark_go_to_it() {
        let line = "pack --runs 5 --name big --no-storage yes --out x --codec lz4,zstd:level=3";
        let arguments = Arguments::parse(line.split(' ').map(str::to_owned)).unwrap();
        assert_eq!(forwarded(&arguments), ["--codec", "lz4,zstd:level=3", "--no-storage", "--runs", "5"]);
        let [csv, ..] = reports("pack", &arguments);
        assert!(csv.1.starts_with("x") && csv.1.to_string_lossy().ends_with("-big.csv"), "{csv:?}");
    }
}
