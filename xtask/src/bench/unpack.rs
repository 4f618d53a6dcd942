//! Reading against the peers: images of one tree in each codec, turned into a tar and into directories.
//!
//! The images are packed here, so the tree is the same for all. Trees go to a file system in memory: what is compared is the
//! programs, not a disk.

use super::{Row, binary, keep, report, scratch, warm};
use crate::arguments::Arguments;
use crate::{corpus, environment, shell};
use packline_testkit::peer::{Job, interleave};
use packline_testkit::snapshot::{self, Except, differences};
use std::path::{Path, PathBuf};

const CODECS: [&str; 4] = ["gzip", "zstd", "xz", "lz4"];
const KNOWN: [&str; 10] =
    ["input", "runs", "codecs", "block", "jobs", "out", "sqfs2tar", "unsquashfs", "binary", "place"];

struct Setting {
    binary: PathBuf,
    sqfs2tar: String,
    unsquashfs: String,
    input: PathBuf,
    /// Where trees go.
    place: PathBuf,
    block: String,
    workers: String,
    runs: usize,
}

/// `bench unpack`.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&KNOWN)?;
    let setting = setting(arguments)?;
    let image = scratch()?.join("bench.sqfs");
    let mut rows = Vec::new();
    for codec in arguments.list("codecs", &CODECS) {
        pack(&setting, &codec, &image)?;
        warm(&image)?;
        rows.extend(to_tar(&setting, &codec, &image)?);
        rows.extend(to_directory(&setting, &codec, &image)?);
        shell::say(&report::table(&rows));
    }
    std::fs::remove_file(&image).map_err(|cause| cause.to_string())?;
    keep(arguments, &format!("unpack-{}", setting.block), &rows, &page(&setting, &rows)?)
}

fn setting(arguments: &Arguments) -> Result<Setting, String> {
    let text = |name: &str, default: &str| arguments.text(name).unwrap_or(default).to_owned();
    let input = arguments.path("input").unwrap_or_else(corpus::archive);
    Ok(Setting {
        binary: binary(arguments)?,
        sqfs2tar: text("sqfs2tar", "sqfs2tar"),
        unsquashfs: text("unsquashfs", "unsquashfs"),
        input,
        place: arguments.path("place").unwrap_or_else(|| PathBuf::from("/dev/shm")),
        block: text("block", "128K"),
        workers: arguments.number("jobs", environment::processors())?.to_string(),
        runs: arguments.number("runs", 3)?,
    })
}

/// Default levels: what users have.
fn pack(setting: &Setting, codec: &str, image: &Path) -> Result<(), String> {
    let mut command = std::process::Command::new(&setting.binary);
    command.arg("pack").arg(&setting.input).arg(image).args(["-c", codec, "-b", &setting.block, "--quiet", "--force"]);
    shell::run(&mut command)
}

/// A tar goes nowhere: what it takes to make it is compared. That the tars are right is the tests' matter.
fn to_tar(setting: &Setting, codec: &str, image: &Path) -> Result<Vec<Row>, String> {
    let (ours, image_text) = (shell::text(&setting.binary)?, shell::text(image)?);
    let discard = ["sh", "-c", "exec \"$@\" > /dev/null", "sh"];
    let jobs = [
        Job::new("packline", &[&discard[..], &[ours, "sqfs2tar", image_text, "--num-jobs", &setting.workers]].concat()),
        Job::new("sqfs2tar", &[&discard[..], &[&setting.sqfs2tar, image_text]].concat()),
    ];
    shell::complain(&format!("{codec}: {} runs of sqfs2tar", setting.runs));
    rows(&format!("{codec} tar"), &jobs, setting, image, &mut |_| {})
}

fn to_directory(setting: &Setting, codec: &str, image: &Path) -> Result<Vec<Row>, String> {
    let (ours, image_text) = (shell::text(&setting.binary)?, shell::text(image)?);
    let trees = ["packline", "unsquashfs"].map(|name| setting.place.join(format!("packline-bench-{name}")));
    let [our_tree, peer_tree] = [shell::text(&trees[0])?, shell::text(&trees[1])?];
    let workers = setting.workers.as_str();
    let jobs = [
        Job::new("packline", &[ours, "unpack", image_text, our_tree, "--jobs", workers, "--quiet"]),
        Job::new("unsquashfs", &[&setting.unsquashfs, "-q", "-n", "-p", workers, "-d", peer_tree, image_text]),
    ];
    shell::complain(&format!("{codec}: {} runs of unpack", setting.runs));
    let mut clear = |job: &Job| {
        let tree = if job.name == "packline" { &trees[0] } else { &trees[1] };
        // Before the first run there is nothing to remove.
        let _ = std::fs::remove_dir_all(tree);
    };
    let rows = rows(&format!("{codec} directory"), &jobs, setting, image, &mut clear)?;
    same_trees(&trees)?;
    for tree in &trees {
        std::fs::remove_dir_all(tree).map_err(|cause| format!("{}: {cause}", tree.display()))?;
    }
    Ok(rows)
}

fn rows(
    task: &str,
    jobs: &[Job],
    setting: &Setting,
    image: &Path,
    before: &mut dyn FnMut(&Job),
) -> Result<Vec<Row>, String> {
    let size = std::fs::metadata(image).map_err(|cause| cause.to_string())?.len();
    let costs = interleave(jobs, setting.runs, before)?;
    let row = |(job, costs): (&Job, _)| Row { task: task.to_owned(), program: job.name.clone(), costs, size };
    Ok(jobs.iter().zip(costs).map(row).collect())
}

/// A wrong answer is worth no time.
fn same_trees([ours, peer]: &[PathBuf; 2]) -> Result<(), String> {
    let read = |tree: &Path| snapshot::of_directory(tree).map_err(|cause| format!("{}: {cause}", tree.display()));
    let lines = differences(&read(peer)?, &read(ours)?, Except::default());
    lines.first().map_or(Ok(()), |line| Err(format!("{} differences from unsquashfs: {line}", lines.len())))
}

fn page(setting: &Setting, rows: &[Row]) -> Result<String, String> {
    let name = setting.input.file_name().unwrap_or_default().to_string_lossy();
    let programs = [
        report::version(shell::text(&setting.binary)?, "--version"),
        report::version(&setting.sqfs2tar, "--version"),
        report::version(&setting.unsquashfs, "-version"),
    ];
    Ok(format!(
        "# Unpacking an image of {name}, blocks of {}, {} workers\n\n{}\n\nMedians of {} interleaved runs; a ratio is ours to \
         that program's. Tars go to /dev/null, trees to {}; the trees were\ncompared in every attribute and byte.\n\n{}\n{}",
        setting.block,
        setting.workers,
        report::machine(),
        setting.runs,
        setting.place.display(),
        report::table(rows),
        report::listed(&programs),
    ))
}
