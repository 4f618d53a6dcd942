//! Packing against the peers: the same input, codec, level, block size and workers.

use super::jobs::{Contest, Entrant};
use super::{Row, binary, keep, report, scratch, warm};
use crate::arguments::Arguments;
use crate::{corpus, environment, shell};
use packline_testkit::peer::{Cost, interleave};
use packline_testkit::reader;
use packline_testkit::snapshot::{Except, differences};
use std::path::{Path, PathBuf};

const CODECS: [&str; 5] = ["gzip", "lz4", "zstd", "xz", "lzo"];
const KNOWN: [&str; 9] = ["input", "runs", "codecs", "block", "jobs", "out", "tar2sqfs", "mksquashfs", "binary"];

/// What all contests share.
pub struct Setting {
    pub binary: PathBuf,
    pub tar2sqfs: String,
    pub mksquashfs: String,
    pub input: PathBuf,
    /// Where the images go while they are compared.
    pub images: PathBuf,
    pub block: String,
    pub workers: usize,
    pub runs: usize,
}

/// `bench pack`.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&KNOWN)?;
    let images = scratch()?;
    let setting = setting(arguments, &images)?;
    let mut rows = Vec::new();
    for codec in arguments.list("codecs", &CODECS) {
        rows.extend(contest(&setting, &codec)?);
        shell::say(&report::table(&rows));
    }
    std::fs::remove_dir_all(&images).map_err(|cause| cause.to_string())?;
    keep(arguments, &format!("pack-{}", setting.block), &rows, &report::page(&setting, &rows)?)
}

fn setting(arguments: &Arguments, images: &Path) -> Result<Setting, String> {
    let program = |name: &str| arguments.text(name).unwrap_or(name).to_owned();
    let input = arguments.path("input").unwrap_or_else(corpus::archive);
    if !input.is_file() {
        return Err(format!("{}: no input (make it with `cargo xtask corpus debian-root`)", input.display()));
    }
    Ok(Setting {
        binary: binary(arguments)?,
        tar2sqfs: program("tar2sqfs"),
        mksquashfs: program("mksquashfs"),
        input,
        images: images.to_path_buf(),
        block: arguments.text("block").unwrap_or("128K").to_owned(),
        workers: arguments.number("jobs", environment::processors())?,
        runs: arguments.number("runs", 3)?,
    })
}

fn contest(setting: &Setting, codec: &str) -> Result<Vec<Row>, String> {
    let contest = Contest::new(setting, codec)?;
    let jobs: Vec<_> = contest.entrants.iter().map(|entrant| entrant.job.clone()).collect();
    shell::complain(&format!("{codec}: {} runs of {}", setting.runs, names(&contest)));
    // One run that is not counted brings the input into the page cache, for all alike.
    warm(&setting.input)?;
    let mut clear = |job: &packline_testkit::peer::Job| {
        let image = contest.entrants.iter().find(|entrant| entrant.job.name == job.name);
        // The first run finds nothing to remove.
        let _ = image.map(|entrant| std::fs::remove_file(&entrant.image));
    };
    let costs = interleave(&jobs, setting.runs, &mut clear)?;
    verify(&contest)?;
    let row = |(entrant, costs): (&Entrant, Vec<Cost>)| {
        let size = std::fs::metadata(&entrant.image).map_err(|cause| cause.to_string())?.len();
        Ok(Row { task: codec.to_owned(), program: entrant.job.name.clone(), costs, size })
    };
    contest.entrants.iter().zip(costs).map(row).collect()
}

fn names(contest: &Contest) -> String {
    contest.entrants.iter().map(|entrant| entrant.job.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// A wrong answer is worth no time: every image must hold the same tree, and ours must be without fault.
fn verify(contest: &Contest) -> Result<(), String> {
    let Some((ours, peers)) = contest.entrants.split_first() else { return Ok(()) };
    let sound = reader::inspect(&ours.image)?;
    if let Some(problem) = sound.problems.first() {
        return Err(format!("our image breaks a rule: {problem}"));
    }
    for peer in peers {
        let found = reader::inspect(&peer.image).map_err(|cause| format!("{}: {cause}", peer.job.name))?;
        // A tar may lack its root: then each program makes one up.
        let lines = differences(&found.tree, &sound.tree, Except { root: true, ..Except::default() });
        if let Some(line) = lines.first() {
            return Err(format!("{} differences from {}: {line}", lines.len(), peer.job.name));
        }
    }
    Ok(())
}
