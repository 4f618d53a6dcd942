//! Peak memory, as the kernel counts it, whatever the sizes and numbers of files.

use packline_testkit::peer::Job;
use packline_testkit::{Ran, Sandbox, generate, tools};

use crate::{PACKLINE, sandbox};

const MEGABYTE: u64 = 1 << 20;

/// Peak memory of packing `name` to `image.sqfs`.
fn peak(sandbox: &Sandbox, name: &str, options: &[&str]) -> u64 {
    let source = sandbox.arg(name);
    let image = sandbox.arg("image.sqfs");
    let first = [PACKLINE, "pack", &source, &image, "--force", "--quiet", "-j", "2"];
    Job::new("packline", &[&first, options].concat()).measure().unwrap().peak
}

/// A sandbox with a generated `source.tar`.
fn generated(generate: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> Sandbox {
    let sandbox = sandbox();
    generate::write_tar(&sandbox.at("source.tar"), generate).unwrap();
    sandbox
}

#[test]
fn sparse_file_of_20_gigabytes() {
    if !tools::need(&["time"]) {
        return;
    }
    let sandbox = generated(|sink| generate::one_sparse_file(sink, 20 << 30));
    std::fs::File::create(sandbox.create_dir("source").join("sparse")).unwrap().set_len(20 << 30).unwrap();
    for source in ["source.tar", "source"] {
        let peak = peak(&sandbox, source, &["--mem", "64M", "-c", "zstd"]);
        assert!(peak < 64 * MEGABYTE, "{source}: peak of {} MB", peak / MEGABYTE);
        assert!(std::fs::metadata(sandbox.at("image.sqfs")).unwrap().len() < MEGABYTE);
    }
}

#[test]
fn budgets_are_kept() {
    if !tools::need(&["time"]) {
        return;
    }
    let sandbox = generated(|sink| generate::mixed_bulk(sink, 60));
    sandbox.create_dir("empty");
    // Plans assume a release build. The larger code of a build without optimisation does not count.
    let idle = peak(&sandbox, "empty", &["-c", "none", "-j", "0"]);
    let code = idle.saturating_sub(packline_runtime::memory::BASE);
    for (codec, budget) in [("lz4", 32), ("gzip:level=1", 32), ("zstd:level=3", 64), ("xz:level=0", 64)] {
        let peak = peak(&sandbox, "source.tar", &["-c", codec, "--mem", &format!("{budget}M")]);
        let peak = peak.saturating_sub(code);
        assert!(peak <= budget * MEGABYTE, "{codec}: peak of {} MB with --mem {budget}M", peak / MEGABYTE);
    }
}

/// Runs packline with at most this many megabytes of address space.
fn in_address_space(sandbox: &Sandbox, megabytes: u64, arguments: &[&str]) -> Ran {
    let limit = format!("--as={}", megabytes * MEGABYTE);
    Ran::of(sandbox.program("prlimit", &[limit.as_str(), PACKLINE]).args(arguments))
}

#[test]
fn address_space_limits_memory() {
    if !tools::need(&["prlimit"]) {
        return;
    }
    let sandbox = generated(|sink| generate::mixed_bulk(sink, 8));
    // The size of the code depends on the build.
    let starts = |limit: &u64| in_address_space(&sandbox, *limit, &["version"]).status == 0;
    let least = (8..2048).step_by(4).find(starts).unwrap();
    let pack = ["pack", "-q", "-f", "-c", "zstd:level=3", "source.tar", "image.sqfs"];
    let ran =
        [8, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024].map(|more| in_address_space(&sandbox, least + more, &pack));
    assert!(ran.iter().all(|ran| matches!(ran.status, 0 | 1) && !ran.stderr.contains("allocation")), "{ran:?}");
    assert!(ran.iter().rev().take(5).all(|ran| ran.status == 0), "{ran:?}");
    let hint = "; the limit comes from ulimit -v; raise it";
    let or_alone = ", or use -j 0, which needs no address space for workers\n";
    assert!(ran[0].stderr.ends_with(&format!("{hint}{or_alone}")), "{ran:?}");
    let first_good = |options: &[&str]| {
        let pack = [&pack, options].concat();
        (8..128).step_by(4).find(|more| in_address_space(&sandbox, least + more, &pack).status == 0).unwrap()
    };
    let alone = first_good(&["-j", "0"]);
    let with_workers = first_good(&[]);
    assert!(alone < with_workers, "{alone} {with_workers}");
    let ran = in_address_space(&sandbox, least + alone - 4, &[&pack[..], &["-j", "0"]].concat());
    assert!(ran.status == 1 && ran.stderr.ends_with(&format!("{hint}\n")), "{ran:?}");
}

/// Memory per file is bounded.
#[test]
fn memory_a_file() {
    if !tools::need(&["time"]) {
        return;
    }
    let peak_of = |count| peak(&generated(|sink| generate::many_files(sink, count)), "source.tar", &["-c", "lz4"]);
    let few = peak_of(5_000);
    let many = peak_of(100_000);
    let each = many.saturating_sub(few) / 95_000;
    assert!(each < 1024, "{each} bytes of memory for each small file");
}

/// Runs a command that reads with `budget` megabytes. Its peak memory must be within the budget.
fn reading(budget: u64, words: &[&str]) {
    let limit = format!("{budget}M");
    let argv = [&[PACKLINE], words, &["--mem", &limit]].concat();
    let peak = Job::new("packline", &argv).measure().unwrap().peak;
    assert!(peak <= budget * MEGABYTE, "{words:?}: peak of {} MB with --mem {budget}M", peak / MEGABYTE);
}

/// Reads an image in every way, each with `budget` megabytes.
fn read_all_ways(sandbox: &Sandbox, budget: u64, tar: &str) {
    let [image, to, archive] = &["image.sqfs", "unpacked", "unpacked.tar"].map(|name| sandbox.arg(name));
    reading(budget, &["verify", "-q", image]);
    reading(budget, &["diff", "-q", image, image]);
    reading(budget, &["unpack", "-q", "--force", "--to", "tar", "-c", tar, image, archive]);
    reading(budget, &["unpack", "-q", image, to]);
    sandbox.remove("unpacked");
}

#[test]
fn reading_within_budgets() {
    if !tools::need(&["time"]) {
        return;
    }
    let sandbox = generated(|sink| generate::mixed_bulk(sink, 40));
    for (block, tar, budget) in [("4K", "gzip", 48), ("128K", "none", 48), ("1M", "xz:level=0", 96)] {
        peak(&sandbox, "source.tar", &["-c", "gzip:level=1", "-b", block]);
        read_all_ways(&sandbox, budget, tar);
    }
}

#[test]
fn reading_a_hundred_thousand_files() {
    if !tools::need(&["time"]) {
        return;
    }
    let sandbox = generated(|sink| generate::many_files(sink, 100_000));
    peak(&sandbox, "source.tar", &["-c", "lz4"]);
    read_all_ways(&sandbox, 64, "none");
}

#[test]
fn reading_a_sparse_file_of_a_terabyte() {
    if !tools::need(&["time"]) {
        return;
    }
    let sandbox = generated(|sink| generate::one_sparse_file(sink, 1 << 40));
    peak(&sandbox, "source.tar", &["-c", "zstd"]);
    read_all_ways(&sandbox, 64, "none");
}
