//! The project's own commands: `cargo xtask NAME`.

mod arguments;
mod bench;
mod ci;
mod clock;
mod corpus;
mod environment;
mod fuzz;
mod generate;
mod golden;
mod matrix;
mod models;
mod races;
mod scale;
mod shell;
mod tidy;
mod zoo;

use arguments::Arguments;
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask NAME

  ci                             everything that CI checks: format, lints, tests, tidy, fuzz targets in short
  tidy                           rules on files, crates and documents
  fuzz [TARGET] [--seconds N]    build and run the fuzz targets, N seconds each (30)
  corpus list                    the data sets for benchmarks: names, sizes, sources
  corpus NAME [--out DIR] [--strict yes] [--pin yes]
                                 makes one, or finds it made; strict: fails if packages have moved on since they were pinned
  bench pack|unpack|codec [--input PATH] [--name NAME] [--out DIR] [--binary PROGRAM] [OPTIONS of packline bench]
                                 packline bench, with its reports kept as bench/results/DATE-NAME.{csv,md,html}; an
                                 option without a value is written --option yes
  bench longrange FILE [--level N] [--least N] [--jobs LIST] [--runs N] [--offsets yes]
                                 the long-range stage alone: MB/s with each number of workers, what it finds, memory
  bench mount --input FILE [--runs N] [--codecs LIST] [--block SIZE] [--jobs N] [--out DIR] [--peer PROGRAM]
                                 a large file read through a mount, ours against squashfuse
  bench schedule [--input DIR] [--source DIR] [--runs N] [--jobs N] [--files N] [--percent N] [--only LIST] [--ways LIST]
                 [--place DIR] [--out DIR]
                                 the plain queue against the scheduler: what is known to go wrong with queues, in this process
  bench slack [--seconds N] [--sizes LIST] [--codecs LIST] [--jobs N] [--place DIR] [--out DIR]
                                 files round the size of a record, in .pln files: open, write, fsync, close in a loop
  bench stream --input FILE [--runs N] [--jobs N] [--codecs LIST] [--peers LIST] [--place DIR] [--out DIR] [--binary PROGRAM]
                                 one file made a .pln file and back, beside lz4, zstd, pigz, xz and lrzip
  bench instructions [--out DIR] [--binary PROGRAM]
                                 instructions of a small workload, counted by valgrind; results go to bench/results
  bench compare [OLD NEW] [--in DIR] [--fail yes]
                                 what got slower: two results, or the last two of each name in bench/results
  scale [--peers yes] [--part NAME]
                                 n and 10n of everything that could be quadratic, and the memory of it
  matrix [--input TAR] [--codecs LIST]
                                 one hash over workers, budgets and the serial reference, on a large input
  models                         the engine's hand-overs under loom and shuttle: every order of steps, and schedules by chance
  races [helgrind|thread|miri]   the engine's stress run under checkers of races: valgrind's helgrind, ThreadSanitizer, miri
  golden [--record yes] [--only TEXT] [--binary PROGRAM]
                                 hashes of outputs, beside those in xtask/golden.txt; only: of command lines with this text in them
  generate NAME COUNT            a generated tar on standard output
  zoo DIR                        the hostile images that tests use, and a README with a line for each
";

type Step = fn(&Arguments) -> Result<(), String>;

const COMMANDS: [(&str, Step); 12] = [
    ("bench", bench::run),
    ("ci", ci::run),
    ("corpus", corpus::run),
    ("fuzz", fuzz::run),
    ("generate", generate::run),
    ("golden", golden::run),
    ("matrix", matrix::run),
    ("models", models::run),
    ("races", races::run),
    ("scale", scale::run),
    ("tidy", tidy::run),
    ("zoo", zoo::run),
];

fn main() -> ExitCode {
    let mut words = environment::arguments();
    let name = words.next().unwrap_or_default();
    let Some((_, step)) = COMMANDS.iter().find(|(known, _)| *known == name) else {
        shell::complain(USAGE);
        return ExitCode::from(2);
    };
    match Arguments::parse(words).and_then(|arguments| step(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            shell::complain(&format!("xtask {name}: {cause}"));
            ExitCode::FAILURE
        }
    }
}
