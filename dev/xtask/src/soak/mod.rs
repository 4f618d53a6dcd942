//! Random attacks on a release build. Each round has its own seed, so a finding can be repeated: run the same attack with the seed
//! of the round and `--rounds 1`.

mod changes;
mod collisions;
mod damage;
mod scene;
mod signals;

use crate::{clock, options, shell};
use clap::{Args, ValueEnum};
use packline_testkit::Random;
use scene::Scene;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct Options {
    /// Seconds to run; the round in progress is finished
    #[arg(long, value_name = "N", default_value_t = 3600)]
    seconds: u32,
    /// Rounds to run at most
    #[arg(long, value_name = "N", default_value_t = u64::MAX)]
    rounds: u64,
    /// The seed of the first round; each further round adds 1 [default: a number from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The attacks to run in turn [default: all]
    #[arg(value_name = "ATTACK")]
    attacks: Vec<Attack>,
    #[command(flatten)]
    binary: options::Binary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Attack {
    /// Change each byte of a .pln file with recovery data, one at a time, and decompress it with --rm
    Damage,
    /// Append to one image from several processes at once
    Appends,
    /// Change files while they are packed or compressed
    Changes,
    /// Send signals to commands that write
    Signals,
    /// Write one output from several processes at once
    Collisions,
}

impl Attack {
    fn round(self, scene: &mut Scene) -> Result<(), String> {
        match self {
            Attack::Damage => damage::round(scene),
            Attack::Appends => collisions::appends(scene),
            Attack::Changes => changes::round(scene),
            Attack::Signals => signals::round(scene),
            Attack::Collisions => collisions::round(scene),
        }
    }
}

/// Prints each finding and continues. Returns an error at the end if there was a finding. The directory of a round with a finding is kept.
pub fn run(options: &Options) -> Result<(), String> {
    let program = std::path::absolute(options.binary.path()?).map_err(|cause| cause.to_string())?;
    let attacks = if options.attacks.is_empty() { Attack::value_variants() } else { &options.attacks };
    let start = clock::monotonic_seconds();
    let seed = options.seed.unwrap_or_else(|| (clock::processor_seconds() * 1e9) as u64);
    let mut tally = vec![Tally::default(); attacks.len()];
    for round in 0..options.rounds {
        if clock::monotonic_seconds() - start >= f64::from(options.seconds) {
            break;
        }
        let turn = (round % attacks.len() as u64) as usize;
        let seed = seed.wrapping_add(round);
        tally[turn].rounds += 1;
        if let Err(finding) = attack(attacks[turn], &program, seed) {
            tally[turn].findings += 1;
            shell::print(&format!("{:?}, seed {seed}: {finding}", attacks[turn]));
        }
    }
    for (attack, tally) in attacks.iter().zip(&tally) {
        shell::print(&format!("{attack:?}: {} rounds, {} findings", tally.rounds, tally.findings));
    }
    let findings: u64 = tally.iter().map(|tally| tally.findings).sum();
    if findings == 0 { Ok(()) } else { Err(format!("{findings} findings, first seed {seed}")) }
}

#[derive(Debug, Clone, Default)]
struct Tally {
    rounds: u64,
    findings: u64,
}

fn attack(attack: Attack, program: &Path, seed: u64) -> Result<(), String> {
    let directory = tempfile::Builder::new().prefix("packline-soak-").tempdir().map_err(|cause| cause.to_string())?;
    let mut scene =
        Scene { program: program.to_path_buf(), directory: directory.path().to_path_buf(), random: Random::new(seed) };
    attack.round(&mut scene).map_err(|finding| {
        let kept: PathBuf = directory.keep();
        format!("{finding}\n  kept: {}", kept.display())
    })
}
