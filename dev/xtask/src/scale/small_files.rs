//! A directory of many small files: processor time for a file, next to GNU tar, which reads the same files and compresses nothing.

use super::{Checks, RUNS};
use crate::shell;
use packline_testkit::Random;
use packline_testkit::peer::Job;
use std::io;
use std::path::Path;

const FILES: usize = 1_000_000;
const PER_DIRECTORY: usize = 100;
const CODECS: [&str; 3] = ["none", "lz4", "zstd:level=1"];
/// Largest ratio of processor times of codec none and tar: packline hashes and compares all contents, too.
const MAX_RATIO: f64 = 2.5;
/// tar recognises /dev/null and reads no files for it.
const TAR: &str = "tar -C \"$1\" -cf - . | cat > /dev/null";
const TAR2SQFS: &str = "tar -C \"$1\" -cf - . | tar2sqfs -q -f -c \"$2\" \"$3\"";

pub(super) fn run(checks: &mut Checks) -> Result<(), String> {
    let tree = checks.directory.join("small-files");
    write(&tree, FILES).map_err(|cause| format!("{}: {cause}", tree.display()))?;
    let result = measure(checks, shell::text(&tree)?);
    std::fs::remove_dir_all(&tree).map_err(|cause| cause.to_string())?;
    result
}

fn measure(checks: &mut Checks, tree: &str) -> Result<(), String> {
    let mut jobs = vec![Job::new("tar", &["bash", "-c", TAR, "tar", tree])];
    for codec in CODECS {
        jobs.extend(pack_jobs(checks, tree, codec)?);
    }
    let costs = checks.measure_all("small files", FILES as u64, &jobs, RUNS)?;
    shell::print("| program | user, µs for a file | system, µs for a file |\n|---|---|---|");
    for (job, cost) in jobs.iter().zip(&costs) {
        let for_a_file = |seconds: f64| seconds * 1e6 / FILES as f64;
        shell::print(&format!("| {} | {:.2} | {:.2} |", job.name, for_a_file(cost.user), for_a_file(cost.system)));
    }
    let ratio = costs[1].cpu() / costs[0].cpu();
    checks.require(ratio <= MAX_RATIO, format!("small files: codec none takes {ratio:.2} of tar's processor time"));
    Ok(())
}

fn pack_jobs(checks: &Checks, tree: &str, codec: &str) -> Result<Vec<Job>, String> {
    let name = format!("packline {codec}");
    let image = checks.image(&name)?;
    let argv = [&checks.binary, "pack", tree, &image, "--quiet", "--force", "-c", codec];
    let mut jobs = vec![Job::new(name, &argv)];
    // The peers have no codec none, and their zstd has another level.
    if checks.peers && codec == "lz4" {
        let image = checks.image("mksquashfs lz4")?;
        let argv = ["mksquashfs", tree, &image, "-noappend", "-quiet", "-no-progress", "-comp", codec];
        jobs.push(Job::new("mksquashfs lz4", &argv));
        let image = checks.image("tar2sqfs lz4")?;
        jobs.push(Job::new("tar2sqfs lz4", &["bash", "-c", TAR2SQFS, "tar2sqfs", tree, codec, &image]));
    }
    Ok(jobs)
}

/// Writes files of 100 to 4,096 bytes, which compress about as text does.
fn write(tree: &Path, files: usize) -> io::Result<()> {
    let mut random = Random::new(41);
    let text = random.prose(4 << 20);
    for number in 0..files {
        let directory = number / PER_DIRECTORY;
        let parent = tree.join(format!("{:03}/{directory:05}", directory / 100));
        if number % PER_DIRECTORY == 0 {
            std::fs::create_dir_all(&parent)?;
        }
        let length = 100 + random.below(3_997) as usize;
        let start = random.below((text.len() - length) as u64) as usize;
        std::fs::write(parent.join(format!("file-{:03}", number % PER_DIRECTORY)), &text[start..start + length])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_files_of_many_sizes() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), 250).unwrap();
        assert_eq!(std::fs::read_dir(folder.path().join("000")).unwrap().count(), 3);
        let size = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().len();
        assert!((100..4097).contains(&size("000/00002/file-049")));
        assert_ne!(size("000/00000/file-000"), size("000/00000/file-001"));
    }
}
