//! Peak memory, as the kernel counts it, whatever the sizes and numbers of files.

use packline_testkit::peer::Job;
use packline_testkit::{generate, tools};
use std::path::{Path, PathBuf};

const MEGABYTE: u64 = 1 << 20;

fn peak(source: &Path, image: &Path, options: &[&str]) -> u64 {
    let mut argv = vec![env!("CARGO_BIN_EXE_packline"), "pack", source.to_str().unwrap(), image.to_str().unwrap()];
    argv.extend(["--force", "--quiet", "-j", "2"]);
    argv.extend(options);
    Job::new("packline", &argv).measure().unwrap().peak
}

fn generated(directory: &Path, generate: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> PathBuf {
    let path = directory.join("source.tar");
    generate::write_tar(&path, generate).unwrap();
    path
}

#[test]
fn sparse_file_of_20_gigabytes() {
    if !tools::need(&["time"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let archive = generated(place.path(), |sink| generate::one_sparse_file(sink, 20 << 30));
    let source = place.path().join("source");
    std::fs::create_dir(&source).unwrap();
    std::fs::File::create(source.join("sparse")).unwrap().set_len(20 << 30).unwrap();
    let image = place.path().join("image.sqfs");
    for source in [&archive, &source] {
        let peak = peak(source, &image, &["--mem", "64M", "-c", "zstd"]);
        assert!(peak < 64 * MEGABYTE, "{}: peak of {} MB", source.display(), peak / MEGABYTE);
        assert!(std::fs::metadata(&image).unwrap().len() < MEGABYTE);
    }
}

#[test]
fn budgets_are_kept() {
    if !tools::need(&["time"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let archive = generated(place.path(), |sink| generate::mixed_bulk(sink, 60));
    let image = place.path().join("image.sqfs");
    for (codec, budget) in [("lz4", 32), ("gzip:level=1", 32), ("zstd:level=3", 64), ("xz:level=0", 64)] {
        let peak = peak(&archive, &image, &["-c", codec, "--mem", &format!("{budget}M")]);
        assert!(peak <= budget * MEGABYTE, "{codec}: peak of {} MB with --mem {budget}M", peak / MEGABYTE);
    }
}

/// Ten times as many files may take ten times the table, not more: what a file costs is bounded.
#[test]
fn memory_a_file() {
    if !tools::need(&["time"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let image = place.path().join("image.sqfs");
    let peak_of = |count| {
        let archive = generated(place.path(), |sink| generate::many_files(sink, count));
        peak(&archive, &image, &["-c", "lz4"])
    };
    let (few, many) = (peak_of(5_000), peak_of(100_000));
    let each = many.saturating_sub(few) / 95_000;
    assert!(each < 1024, "{each} bytes of memory for each small file");
}

/// Runs a command that reads, within so many megabytes; its peak must be within them too.
fn reading(budget: u64, words: &[&str]) {
    let limit = format!("{budget}M");
    let mut argv = vec![env!("CARGO_BIN_EXE_packline")];
    argv.extend(words);
    argv.extend(["--mem", &limit]);
    let peak = Job::new("packline", &argv).measure().unwrap().peak;
    assert!(peak <= budget * MEGABYTE, "{words:?}: peak of {} MB with --mem {budget}M", peak / MEGABYTE);
}

/// Every way of reading an image, within so many megabytes.
fn read_all_ways(place: &Path, image: &Path, budget: u64, tar: &str) {
    let image = image.to_str().unwrap();
    let (to, archive) = (place.join("unpacked"), place.join("unpacked.tar"));
    let archive = archive.to_str().unwrap();
    reading(budget, &["verify", "-q", image]);
    reading(budget, &["diff", "-q", image, image]);
    reading(budget, &["unpack", "-q", "--force", "--to", "tar", "-c", tar, image, archive]);
    reading(budget, &["unpack", "-q", image, to.to_str().unwrap()]);
    std::fs::remove_dir_all(to).unwrap();
}

#[test]
fn reading_within_budgets() {
    if !tools::need(&["time"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let archive = generated(place.path(), |sink| generate::mixed_bulk(sink, 40));
    let image = place.path().join("image.sqfs");
    for (block, tar, budget) in [("4K", "gzip", 48), ("128K", "none", 48), ("1M", "xz:level=0", 96)] {
        peak(&archive, &image, &["-c", "gzip:level=1", "-b", block]);
        read_all_ways(place.path(), &image, budget, tar);
    }
}

#[test]
fn reading_a_hundred_thousand_files() {
    if !tools::need(&["time"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let archive = generated(place.path(), |sink| generate::many_files(sink, 100_000));
    let image = place.path().join("image.sqfs");
    peak(&archive, &image, &["-c", "lz4"]);
    read_all_ways(place.path(), &image, 64, "none");
}

#[test]
fn reading_a_sparse_file_of_a_terabyte() {
    if !tools::need(&["time"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let archive = generated(place.path(), |sink| generate::one_sparse_file(sink, 1 << 40));
    let image = place.path().join("image.sqfs");
    peak(&archive, &image, &["-c", "zstd"]);
    read_all_ways(place.path(), &image, 64, "none");
}
