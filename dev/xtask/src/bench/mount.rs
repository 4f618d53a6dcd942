//! Reads a large file through a mount, with packline and squashfuse: in order, and in random 64 KiB reads of several threads.
#![allow(clippy::disallowed_methods, reason = "a panic where no thread starts is acceptable here")]

use super::{median, recorded, warm, work_directory};
use crate::{environment, options, shell};
use clap::Args;
use packline_testkit::{Random, Stopwatch, tools};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const THREADS: u64 = 4;
/// Bytes of a sequential read: large, so that the calls cost little.
const WHOLE_BYTES: usize = 1 << 20;
const READ_BYTES: usize = 64 << 10;
const READS_A_THREAD: usize = 500;

#[derive(Debug, Args)]
pub struct Options {
    /// A large file of real data
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    #[arg(long, value_name = "N", default_value_t = 7)]
    runs: usize,
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "zstd")]
    codecs: Vec<String>,
    /// Block size of the image
    #[arg(long, value_name = "SIZE", default_value = "128K")]
    block: String,
    /// packline's threads [default: number of CPUs]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Other programs that mount
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "squashfuse,squashfuse_ll")]
    peers: Vec<String>,
    #[command(flatten)]
    output: options::Output,
    #[command(flatten)]
    binary: options::Binary,
}

struct Mounter<'s> {
    name: &'s str,
    argv: Vec<String>,
}

struct Row {
    task: String,
    program: String,
    /// Bytes read in each run.
    bytes: u64,
    /// Seconds of each run.
    walls: Vec<f64>,
}

impl Row {
    /// MB/s of the median run.
    fn throughput(&self) -> f64 {
        self.bytes as f64 / 1e6 / median(self.walls.iter().copied())
    }
}

pub fn run(options: &Options) -> Result<(), String> {
    let Options { input, block, .. } = options;
    let binary = options.binary.path()?;
    let image = work_directory(None)?.join("mount.sqfs");
    let workers = options.jobs.unwrap_or_else(environment::processors).to_string();
    let argv = vec![shell::text(&binary)?.to_owned(), "mount".into(), "--jobs".into(), workers];
    let mut mounters = vec![Mounter { name: "packline", argv }];
    mounters.extend(options.peers.iter().map(|peer| Mounter { name: peer, argv: vec![peer.clone()] }));
    let mut rows = Vec::new();
    for codec in &options.codecs {
        pack(&binary, input, &image, codec, block)?;
        for _ in 0..options.runs {
            mounters.iter().try_for_each(|mounter| measure(mounter, &image, codec, &mut rows))?;
        }
        shell::print(&table(&rows));
    }
    std::fs::remove_file(&image).map_err(|cause| cause.to_string())?;
    let size = std::fs::metadata(input).map_err(|cause| cause.to_string())?.len();
    options.output.write(&format!("mount-{block}"), &csv(&rows), &page(size, block, &rows))
}

/// One line for each run.
fn csv(rows: &[Row]) -> String {
    let mut text = "task,program,run,wall_s,bytes\n".to_owned();
    for row in rows {
        for (run, wall) in row.walls.iter().enumerate() {
            text.push_str(&format!("{},{},{run},{wall},{}\n", row.task, row.program, row.bytes));
        }
    }
    text
}

/// Median throughputs, and the ratio of packline's to each.
fn table(rows: &[Row]) -> String {
    let mut text = "| task | program | MB/s | ours x | MB/s of each run |\n|---|---|---|---|---|\n".to_owned();
    for row in rows {
        let ours = rows.iter().find(|other| other.task == row.task).unwrap_or(row);
        let each: Vec<String> = row.walls.iter().map(|wall| format!("{:.0}", row.bytes as f64 / 1e6 / wall)).collect();
        let middle = row.throughput();
        let ratio = ours.throughput() / row.throughput();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {} | {} | {middle:.0} | {ratio:.2} | {} |", row.task, row.program, each.join(" "));
    }
    text
}

fn page(size: u64, block: &str, rows: &[Row]) -> String {
    format!(
        "# One file of {size} bytes through a mount, blocks of {block}\n\n{}\n\nRead sequentially with buffers of {} KiB, and at \
         random by {THREADS} threads, {READS_A_THREAD} reads of {} KiB each. Medians of interleaved runs; each run \
         mounts anew, with the image in the page cache and no data of the mount.\n\n{}",
        recorded::machine_description(),
        WHOLE_BYTES >> 10,
        READ_BYTES >> 10,
        table(rows)
    )
}

fn pack(binary: &Path, input: &Path, image: &Path, codec: &str, block: &str) -> Result<(), String> {
    let tree = work_directory(None)?.join("mount-tree");
    std::fs::create_dir_all(&tree).map_err(|cause| cause.to_string())?;
    std::fs::copy(input, tree.join("file")).map_err(|cause| format!("{}: {cause}", input.display()))?;
    let mut command = Command::new(binary);
    command.arg("pack").arg(&tree).arg(image).args(["-c", codec, "-b", block, "--quiet", "--force"]);
    shell::run(&mut command)?;
    std::fs::remove_dir_all(&tree).map_err(|cause| cause.to_string())
}

/// Mounts once for the sequential read and once for the random ones, so that neither uses the other's page cache.
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
        record(rows, format!("{codec} {task}"), mounter.name, outcome?, wall);
    }
    Ok(())
}

fn record(rows: &mut Vec<Row>, task: String, program: &str, bytes: u64, wall: f64) {
    match rows.iter_mut().find(|row| row.task == task && row.program == program) {
        Some(row) => row.walls.push(wall),
        None => rows.push(Row { task, program: program.to_owned(), bytes, walls: vec![wall] }),
    }
}

/// Reads the whole file sequentially. Returns the number of bytes.
fn whole(path: &Path) -> Result<u64, String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", path.display());
    let mut file = File::open(path).map_err(named)?;
    let mut buffer = vec![0; WHOLE_BYTES];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer).map_err(named)? {
            0 => return Ok(bytes),
            count => bytes += count as u64,
        }
    }
}

/// Reads at random offsets. Returns the number of bytes.
fn random(path: &Path) -> Result<u64, String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", path.display());
    let file = File::open(path).map_err(named)?;
    let last = file.metadata().map_err(named)?.len().saturating_sub(READ_BYTES as u64);
    std::thread::scope(|scope| {
        let file = &file;
        let threads: Vec<_> = (0..THREADS).map(|seed| scope.spawn(move || read_at_random(file, last, seed))).collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(outcome) => outcome.map_err(named),
            Err(_) => Err("a reading thread panicked".to_owned()),
        })
    })?;
    Ok(THREADS * (READS_A_THREAD * READ_BYTES) as u64)
}

fn read_at_random(file: &File, last: u64, seed: u64) -> std::io::Result<()> {
    let mut random = Random::new(seed);
    let mut buffer = vec![0; READ_BYTES];
    (0..READS_A_THREAD).try_for_each(|_| file.read_exact_at(&mut buffer, random.below(last + 1)))
}
