//! Ours against the peers on one input: the same codec, level, block size and workers, runs interleaved, medians compared.

mod jobs;
mod report;

use crate::arguments::Arguments;
use crate::{clock, corpus, environment, shell};
use jobs::Contest;
use packline_testkit::peer::{Cost, interleave};
use packline_testkit::reader;
use packline_testkit::snapshot::{Except, differences};
use std::path::{Path, PathBuf};

const CODECS: [&str; 5] = ["gzip", "lz4", "zstd", "xz", "lzo"];
const KNOWN: [&str; 9] = ["input", "runs", "codecs", "block", "jobs", "out", "tar2sqfs", "mksquashfs", "binary"];

/// What all contests share.
struct Setting {
    binary: PathBuf,
    tar2sqfs: String,
    mksquashfs: String,
    input: PathBuf,
    /// Where the images go while they are compared.
    images: PathBuf,
    block: String,
    workers: usize,
    runs: usize,
}

/// One program's result with one codec.
struct Row {
    codec: String,
    program: String,
    costs: Vec<Cost>,
    /// Bytes of the image.
    size: u64,
}

/// `bench pack`.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&KNOWN)?;
    if arguments.operands != ["pack"] {
        return Err(format!("{:?} is no benchmark (expected pack)", arguments.operands));
    }
    let images = tempfile_beside(&environment::target_directory())?;
    let setting = setting(arguments, &images)?;
    let mut rows = Vec::new();
    for codec in arguments.list("codecs", &CODECS) {
        rows.extend(contest(&setting, &codec)?);
        shell::say(&report::table(&rows));
    }
    std::fs::remove_dir_all(&images).map_err(|cause| cause.to_string())?;
    let place = arguments.path("out").unwrap_or_else(|| shell::root().join("bench/results"));
    let name = format!("{}-pack-{}", clock::today(), setting.block);
    shell::write(&place.join(format!("{name}.csv")), &report::csv(&rows))?;
    shell::write(&place.join(format!("{name}.md")), &report::page(&setting, &rows)?)
}

fn tempfile_beside(target: &Path) -> Result<PathBuf, String> {
    let place = target.join("bench-images");
    std::fs::create_dir_all(&place).map_err(|cause| format!("{}: {cause}", place.display()))?;
    Ok(place)
}

fn setting(arguments: &Arguments, images: &Path) -> Result<Setting, String> {
    let program = |name: &str| arguments.text(name).unwrap_or(name).to_owned();
    let input = arguments.path("input").unwrap_or_else(corpus::archive);
    if !input.is_file() {
        return Err(format!("{}: no input (make it with `cargo xtask corpus debian-root`)", input.display()));
    }
    Ok(Setting {
        binary: arguments.path("binary").map_or_else(shell::release_binary, Ok)?,
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
    std::fs::read(&setting.input).map(drop).map_err(|cause| cause.to_string())?;
    let mut clear = |job: &packline_testkit::peer::Job| {
        let image = contest.entrants.iter().find(|entrant| entrant.job.name == job.name);
        // The first run finds nothing to remove.
        let _ = image.map(|entrant| std::fs::remove_file(&entrant.image));
    };
    let costs = interleave(&jobs, setting.runs, &mut clear)?;
    verify(&contest)?;
    let row = |(entrant, costs): (&jobs::Entrant, Vec<Cost>)| {
        let size = std::fs::metadata(&entrant.image).map_err(|cause| cause.to_string())?.len();
        Ok(Row { codec: codec.to_owned(), program: entrant.job.name.clone(), costs, size })
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
