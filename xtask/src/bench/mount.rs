//! Mounted images against squashfuse: one large file read from end to end, and 64 KiB reads all over it by several threads.

use super::{Row, binary, keep, report, scratch, warm};
use crate::arguments::Arguments;
use crate::{environment, shell};
use packline_testkit::peer::Cost;
use packline_testkit::{Random, Stopwatch, tools};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

const KNOWN: [&str; 8] = ["input", "runs", "codecs", "block", "jobs", "out", "peer", "binary"];
const THREADS: u64 = 4;
const READ_BYTES: usize = 64 << 10;
const READS_A_THREAD: usize = 500;

/// One program that mounts.
struct Mounter<'s> {
    name: &'s str,
    argv: Vec<String>,
}

/// `bench mount`: `--input` is any large file.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&KNOWN)?;
    let input = arguments.path("input").ok_or("--input: name a large file of real data")?;
    let (ours, place) = (binary(arguments)?, scratch()?);
    let peer = arguments.text("peer").unwrap_or("squashfuse").to_owned();
    let workers = arguments.number("jobs", environment::processors())?.to_string();
    let (image, block) = (place.join("mount.sqfs"), arguments.text("block").unwrap_or("128K"));
    let mut rows = Vec::new();
    for codec in arguments.list("codecs", &["zstd"]) {
        pack(&ours, &input, &image, &codec, block)?;
        let ours = vec![shell::text(&ours)?.to_owned(), "mount".into(), "--jobs".into(), workers.clone()];
        let mounters = [Mounter { name: "packline", argv: ours }, Mounter { name: &peer, argv: vec![peer.clone()] }];
        for _ in 0..arguments.number("runs", 3)? {
            for mounter in &mounters {
                measure(mounter, &image, &codec, &mut rows)?;
            }
        }
        shell::say(&report::table(&rows));
    }
    std::fs::remove_file(&image).map_err(|cause| cause.to_string())?;
    let page = format!(
        "# One file of {} bytes through a mount, blocks of {block}\n\n{}\n\nWall time of the reader; the cost of the mounting \
         process itself is not counted. Each run mounts afresh.\n\n{}",
        std::fs::metadata(&input).map_err(|cause| cause.to_string())?.len(),
        report::machine(),
        report::table(&rows)
    );
    keep(arguments, &format!("mount-{block}"), &rows, &page)
}

fn pack(ours: &Path, input: &Path, image: &Path, codec: &str, block: &str) -> Result<(), String> {
    let tree = scratch()?.join("mount-tree");
    std::fs::create_dir_all(&tree).map_err(|cause| cause.to_string())?;
    std::fs::copy(input, tree.join("file")).map_err(|cause| format!("{}: {cause}", input.display()))?;
    let mut command = Command::new(ours);
    command.arg("pack").arg(&tree).arg(image).args(["-c", codec, "-b", block, "--quiet", "--force"]);
    shell::run(&mut command)?;
    std::fs::remove_dir_all(&tree).map_err(|cause| cause.to_string())
}

/// One mount for the whole file, one for the reads all over it: neither finds what the other left in the page cache.
fn measure(mounter: &Mounter<'_>, image: &Path, codec: &str, rows: &mut Vec<Row>) -> Result<(), String> {
    warm(image)?;
    let size = std::fs::metadata(image).map_err(|cause| cause.to_string())?.len();
    for (task, read) in [("whole", whole as fn(&Path) -> Result<(), String>), ("random", random)] {
        let point = tempfile::tempdir().map_err(|cause| cause.to_string())?;
        let mut command = Command::new(&mounter.argv[0]);
        tools::run(command.args(&mounter.argv[1..]).arg(image).arg(point.path()))?;
        let watch = Stopwatch::start();
        let outcome = read(&point.path().join("file"));
        let wall = watch.elapsed().as_secs_f64();
        tools::run(Command::new("umount").arg(point.path()))?;
        outcome?;
        note(rows, format!("{codec} {task}"), mounter.name, wall, size);
    }
    Ok(())
}

fn note(rows: &mut Vec<Row>, task: String, program: &str, wall: f64, size: u64) {
    let cost = Cost { user: 0.0, system: 0.0, wall, peak: 0 };
    match rows.iter_mut().find(|row| row.task == task && row.program == program) {
        Some(row) => row.costs.push(cost),
        None => rows.push(Row { task, program: program.to_owned(), costs: vec![cost], size }),
    }
}

fn whole(file: &Path) -> Result<(), String> {
    warm(file)
}

fn random(path: &Path) -> Result<(), String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", path.display());
    let file = File::open(path).map_err(named)?;
    let last = file.metadata().map_err(named)?.len().saturating_sub(READ_BYTES as u64);
    std::thread::scope(|scope| {
        let file = &file;
        let threads: Vec<_> = (0..THREADS).map(|seed| scope.spawn(move || read_about(file, last, seed))).collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(outcome) => outcome.map_err(named),
            Err(_) => Err("a reading thread panicked".into()),
        })
    })
}

fn read_about(file: &File, last: u64, seed: u64) -> std::io::Result<()> {
    let (mut random, mut buffer) = (Random::new(seed), vec![0; READ_BYTES]);
    (0..READS_A_THREAD).try_for_each(|_| file.read_exact_at(&mut buffer, random.below(last + 1)))
}
