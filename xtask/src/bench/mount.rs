//! Mounted images against squashfuse: one large file read from end to end, and 64 KiB reads all over it by several threads.
#![allow(clippy::disallowed_methods, reason = "a measurement without its threads is none")]

use super::{binary, machine, scratch, warm};
use crate::arguments::Arguments;
use crate::{clock, environment, shell};
use packline_testkit::{Random, Stopwatch, tools};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

const KNOWN: [&str; 8] = ["input", "runs", "codecs", "block", "jobs", "out", "peer", "binary"];
const PEERS: [&str; 2] = ["squashfuse", "squashfuse_ll"];
const THREADS: u64 = 4;
/// Bytes of a read in order: so many that the calls cost nothing.
const WHOLE_BYTES: usize = 1 << 20;
const READ_BYTES: usize = 64 << 10;
const READS_A_THREAD: usize = 500;

/// One program that mounts.
struct Mounter<'s> {
    name: &'s str,
    argv: Vec<String>,
}

/// What one program did at one task.
struct Row {
    task: String,
    program: String,
    /// Bytes read in each run.
    bytes: u64,
    /// Seconds of each run.
    walls: Vec<f64>,
}

impl Row {
    /// The run in the middle, MB/s.
    fn throughput(&self) -> f64 {
        let mut walls = self.walls.clone();
        walls.sort_by(f64::total_cmp);
        self.bytes as f64 / 1e6 / walls[walls.len() / 2]
    }
}

/// `bench mount`: `--input` is any large file.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&KNOWN)?;
    let input = arguments.path("input").ok_or("--input: name a large file of real data")?;
    let (ours, place) = (binary(arguments)?, scratch()?);
    let peers = arguments.list("peer", &PEERS);
    let workers = arguments.number("jobs", environment::processors())?.to_string();
    let (image, block) = (place.join("mount.sqfs"), arguments.text("block").unwrap_or("128K"));
    let argv = vec![shell::text(&ours)?.to_owned(), "mount".into(), "--jobs".into(), workers];
    let mut mounters = vec![Mounter { name: "packline", argv }];
    mounters.extend(peers.iter().map(|peer| Mounter { name: peer, argv: vec![peer.clone()] }));
    let mut rows = Vec::new();
    for codec in arguments.list("codecs", &["zstd"]) {
        pack(&ours, &input, &image, &codec, block)?;
        for _ in 0..arguments.number("runs", 7)? {
            for mounter in &mounters {
                measure(mounter, &image, &codec, &mut rows)?;
            }
        }
        shell::say(&table(&rows));
    }
    std::fs::remove_file(&image).map_err(|cause| cause.to_string())?;
    let size = std::fs::metadata(&input).map_err(|cause| cause.to_string())?.len();
    keep(arguments, block, &rows, &page(size, block, &rows))
}

fn keep(arguments: &Arguments, block: &str, rows: &[Row], page: &str) -> Result<(), String> {
    let place = arguments.path("out").unwrap_or_else(|| shell::root().join("bench/results"));
    let name = format!("{}-mount-{block}", clock::today());
    shell::write(&place.join(format!("{name}.csv")), &csv(rows))?;
    shell::write(&place.join(format!("{name}.md")), page)
}

/// Every run, a line each.
fn csv(rows: &[Row]) -> String {
    let mut text = "task,program,run,wall_s,bytes\n".to_owned();
    for row in rows {
        for (run, wall) in row.walls.iter().enumerate() {
            text.push_str(&format!("{},{},{run},{wall},{}\n", row.task, row.program, row.bytes));
        }
    }
    text
}

/// The run in the middle, and how many times a program's throughput ours is.
fn table(rows: &[Row]) -> String {
    let mut text = "| task | program | MB/s | ours x | MB/s of each run |\n|---|---|---|---|---|\n".to_owned();
    for row in rows {
        let ours = rows.iter().find(|other| other.task == row.task).unwrap_or(row);
        let each: Vec<String> = row.walls.iter().map(|wall| format!("{:.0}", row.bytes as f64 / 1e6 / wall)).collect();
        let (middle, ratio) = (row.throughput(), ours.throughput() / row.throughput());
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {} | {} | {middle:.0} | {ratio:.2} | {} |", row.task, row.program, each.join(" "));
    }
    text
}

fn page(size: u64, block: &str, rows: &[Row]) -> String {
    format!(
        "# One file of {size} bytes through a mount, blocks of {block}\n\n{}\n\nRead in order with buffers of {} KiB, and at \
         random by {THREADS} threads, {READS_A_THREAD} reads of {} KiB each. Medians of interleaved runs; each run mounts \
         afresh, with the image in the page cache and nothing of the mount.\n\n{}",
        machine::description(),
        WHOLE_BYTES >> 10,
        READ_BYTES >> 10,
        table(rows)
    )
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
    for (task, read) in [("whole", whole as fn(&Path) -> Result<u64, String>), ("random", random)] {
        let point = tempfile::tempdir().map_err(|cause| cause.to_string())?;
        let mut command = Command::new(&mounter.argv[0]);
        tools::run(command.args(&mounter.argv[1..]).arg(image).arg(point.path()))?;
        let watch = Stopwatch::start();
        let outcome = read(&point.path().join("file"));
        let wall = watch.elapsed().as_secs_f64();
        tools::run(Command::new("umount").arg(point.path()))?;
        note(rows, format!("{codec} {task}"), mounter.name, outcome?, wall);
    }
    Ok(())
}

fn note(rows: &mut Vec<Row>, task: String, program: &str, bytes: u64, wall: f64) {
    match rows.iter_mut().find(|row| row.task == task && row.program == program) {
        Some(row) => row.walls.push(wall),
        None => rows.push(Row { task, program: program.to_owned(), bytes, walls: vec![wall] }),
    }
}

/// Reads from end to end; how many bytes that were.
fn whole(path: &Path) -> Result<u64, String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", path.display());
    let (mut file, mut buffer, mut bytes) = (File::open(path).map_err(named)?, vec![0; WHOLE_BYTES], 0);
    loop {
        match file.read(&mut buffer).map_err(named)? {
            0 => return Ok(bytes),
            count => bytes += count as u64,
        }
    }
}

/// Reads all over it; how many bytes that were.
fn random(path: &Path) -> Result<u64, String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", path.display());
    let file = File::open(path).map_err(named)?;
    let last = file.metadata().map_err(named)?.len().saturating_sub(READ_BYTES as u64);
    std::thread::scope(|scope| {
        let file = &file;
        let threads: Vec<_> = (0..THREADS).map(|seed| scope.spawn(move || read_about(file, last, seed))).collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(outcome) => outcome.map_err(named),
            Err(_) => Err("a reading thread panicked".to_owned()),
        })
    })?;
    Ok(THREADS * (READS_A_THREAD * READ_BYTES) as u64)
}

fn read_about(file: &File, last: u64, seed: u64) -> std::io::Result<()> {
    let (mut random, mut buffer) = (Random::new(seed), vec![0; READ_BYTES]);
    (0..READS_A_THREAD).try_for_each(|_| file.read_exact_at(&mut buffer, random.below(last + 1)))
}
