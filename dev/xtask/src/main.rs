//! The project's own commands: `cargo xtask COMMAND`.

mod bare;
mod bench;
mod c_library;
mod checks;
mod ci;
mod clients;
mod clock;
mod corpus;
mod environment;
mod generate;
mod golden;
mod guide;
mod messages;
mod metadata;
mod options;
mod package;
mod platform;
mod platforms;
mod python;
mod release;
mod remote_cache;
mod scale;
mod shell;
mod soak;
mod tidy;

use checks::{concurrency, fuzz, matrix, publish};
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// The project's own commands
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Run everything that CI checks: format, lints, tests, tidy, golden outputs, models
    Ci,
    /// Check that each feature compiles without the others, the ones that CI leaves out too
    Features,
    /// Check the rules on files, crates and documents
    Tidy,
    /// Check the links between documents, and build the book of the guide and all other documents
    Guide,
    /// List the texts of errors and warnings with their places in the sources
    Messages(messages::Options),
    /// Compare output bytes with the hashes in dev/xtask/golden.txt
    Golden(golden::Options),
    /// Build the fuzz targets with libFuzzer, and run them
    Fuzz {
        /// The target to run [default: all]
        target: Option<String>,
        /// Seconds for each target
        #[arg(long, value_name = "N", default_value_t = fuzz::SECONDS)]
        seconds: u32,
    },
    /// Run README's commands on a bare machine (a minimal Debian with gcc and Rust), as root and as a user
    Bare(bare::Options),
    /// Run the engine's models under loom (every order of steps) and shuttle (random schedules)
    Models,
    /// Run the engine's stress test under race checkers: valgrind's helgrind, ThreadSanitizer, miri
    Races {
        /// [default: all]
        #[arg(value_name = "CHECKER")]
        checkers: Vec<concurrency::Checker>,
    },
    /// Run programs that call squashfs-tools or erofs-utils with the drop-ins instead, and compare their files and output
    Clients(clients::Options),
    /// Compare hashes over workers, memory budgets and the serial reference, on a large input
    Matrix(matrix::Options),
    /// Attack a release build at random: damage, signals, changing sources, concurrent runs
    Soak(soak::Options),
    /// Check that time and memory grow linearly with the input
    Scale(scale::Options),
    /// Pack with a block cache on a bazel-remote, as several machines
    RemoteCache(remote_cache::Options),
    /// Make a data set for benchmarks
    Corpus(corpus::Options),
    /// Run a benchmark
    #[command(subcommand)]
    Bench(bench::Benchmark),
    /// Build packages of the program
    #[command(subcommand)]
    Package(package::Package),
    /// Package each crate for the registry, compile the packages, and compare the interfaces with the last version (needs cargo-semver-checks)
    Publishable,
    /// Make all files of a release: binaries, packages, source archive, list of crates, recipes, sums
    Release(release::Options),
    /// Build the C library, and install it with its header and its file for pkg-config
    InstallLibrary(c_library::Options),
    /// Make the header of the C library from its sources, with cbindgen
    CHeader,
    /// Build for other processors, run the golden outputs there under emulation, and compare them
    Platforms(platforms::Options),
    /// Check that the program compiles with exactly the oldest Rust that the manifests promise
    OldestRust,
    /// Build a wheel of the Python package, install it in a virtual environment, and run its tests
    Python(python::Options),
    /// Write a generated tar to standard output
    Generate {
        kind: generate::Kind,
        /// Number of files; bytes for sparse, megabytes for bulk
        count: u64,
    },
    /// Write the hostile images that tests use, and a README with a line for each
    Zoo {
        /// Directory for the images
        directory: PathBuf,
    },
}

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            shell::print_error(&format!("xtask: {cause}"));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), String> {
    match command {
        Command::Ci => ci::run(),
        Command::Features => ci::each_feature(),
        Command::Tidy => tidy::run(),
        Command::Guide => guide::run(),
        Command::Messages(options) => messages::run(&options),
        Command::Golden(options) => golden::run(&options),
        Command::Fuzz { target: None, seconds } => fuzz::each_target(seconds),
        Command::Fuzz { target: Some(name), seconds } => fuzz::single_target(&name, seconds),
        Command::Bare(options) => bare::run(&options),
        Command::Models => concurrency::models(),
        Command::Races { checkers } => concurrency::races(&checkers),
        Command::Clients(options) => clients::run(&options),
        Command::Matrix(options) => matrix::run(&options),
        Command::Soak(options) => soak::run(&options),
        Command::Scale(options) => scale::run(&options),
        Command::RemoteCache(options) => remote_cache::run(&options),
        Command::Corpus(options) => corpus::run(&options),
        Command::Bench(benchmark) => benchmark.run(),
        Command::Package(package) => package.run(),
        Command::Publishable => publish::run(),
        Command::Release(options) => release::run(&options),
        Command::InstallLibrary(options) => c_library::install(&options),
        Command::CHeader => c_library::make_header(),
        Command::Platforms(options) => platforms::run(&options),
        Command::OldestRust => ci::oldest_rust(),
        Command::Python(options) => python::run(&options),
        Command::Generate { kind, count } => generate::tar(kind, count),
        Command::Zoo { directory } => generate::zoo(&directory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn options_are_consistent() {
        Command::command().debug_assert();
    }
}
