//! `bench unpack` compares the trees and tars of all programs with the image, and finds wrong ones.

use packline_bench::report::{Report, Tails, Task, read_csv};
use packline_testkit::model::{Node, NodeKind};
use packline_testkit::{Ran, Random, Sandbox, tools};
use std::fs;

use crate::{PACKLINE, sandbox};

fn with_image(options: &[&str]) -> Sandbox {
    let sandbox = sandbox();
    let mut random = Random::new(5);
    let nodes = [
        Node::dir("d").mode(0o750),
        Node::file("d/big", random.prose(300_000)).time(1_000_000_000),
        Node::new("d/link", NodeKind::HardLink(b"d/big".to_vec())),
        Node::new("d/sym", NodeKind::Symlink(b"big".to_vec())),
        Node::file("small", random.prose(77)),
    ];
    sandbox.write_tar("in.tar", &nodes);
    sandbox.good(&[&["pack", "in.tar", "image.sqfs"], options].concat());
    sandbox.create_dir("scratch");
    sandbox
}

fn bench(sandbox: &Sandbox, options: &[&str]) -> Ran {
    let words = ["bench", "unpack", "image.sqfs", "--work-dir", "scratch", "--no-storage", "--csv", "runs.csv", "-f"];
    let ran = sandbox.run(&[&words, options].concat());
    assert_eq!(sandbox.names_in("scratch").len(), 0, "{ran:?}");
    ran
}

fn csv(sandbox: &Sandbox) -> Report {
    read_csv(&sandbox.read_text("runs.csv")).unwrap()
}

fn report(sandbox: &Sandbox, options: &[&str]) -> Report {
    let ran = bench(sandbox, options);
    assert_eq!(ran.status, 0, "{ran:?}");
    csv(sandbox)
}

/// Runs it against a script in place of a peer. It must fail, and report packline's runs. Returns its standard error.
fn refused(sandbox: &Sandbox, peer: &str, script: &str) -> String {
    let script = sandbox.script("fake", &format!("case $1 in -*version) echo fake 1; exit;; esac\n{script}"));
    let ran = bench(sandbox, &["-j", "1", "-n", "1", "--against", &format!("{peer}={script}")]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let report = csv(sandbox);
    assert!(report.failures.len() == 1 && report.measured.iter().all(|one| one.case.program == "packline"));
    assert_eq!(report.measured.len(), 2);
    ran.stderr
}

#[test]
fn all_programs_unpack_alike() {
    if !tools::need(&["unsquashfs", "rdsquashfs", "sqfs2tar"]) {
        return;
    }
    let sandbox = with_image(&["-c", "xz", "-b", "64K", "--fragments", "small"]);
    let report =
        report(&sandbox, &["-j", "1,2", "-n", "2", "--warmup", "1", "--against", "unsquashfs,rdsquashfs,sqfs2tar"]);
    let configurations: Vec<_> =
        report.measured.iter().map(|one| (one.case.task, one.case.program.as_str(), one.case.jobs)).collect();
    let expected = [
        (Task::Unpack, "packline", 1),
        (Task::Unpack, "packline", 2),
        (Task::Unpack, "unsquashfs", 1),
        (Task::Unpack, "unsquashfs", 2),
        (Task::Unpack, "rdsquashfs", 1),
        (Task::Tar, "packline", 1),
        (Task::Tar, "packline", 2),
        (Task::Tar, "sqfs2tar", 1),
    ];
    assert_eq!(configurations, expected);
    let size = fs::metadata(sandbox.at("image.sqfs")).unwrap().len();
    for one in &report.measured {
        let case = &one.case;
        assert_eq!((case.codec.as_str(), case.block_size, case.tails), ("xz", 64 << 10, Tails::NoTailPacking));
        assert_eq!((one.content_bytes, one.image_bytes, one.runs.len()), (300_077, size, 2));
    }
}

#[test]
fn tasks_option_selects_tasks() {
    let sandbox = with_image(&["-c", "lz4", "--no-fragments"]);
    let report = report(&sandbox, &["--tasks", "tar", "-j", "3", "-n", "1", "--warmup", "0", "--against", "none"]);
    let cases: Vec<_> = report.measured.iter().map(|one| (one.case.task, one.case.tails, one.case.jobs)).collect();
    assert_eq!(cases, [(Task::Tar, Tails::NoFragments, 3)]);
}

#[test]
fn incomplete_tree_or_tar_fails() {
    let sandbox = with_image(&["-c", "lz4"]);
    let tree = format!("while [ $1 != -d ]; do shift; done; {PACKLINE} unpack -q \"$3\" \"$2\" && rm \"$2/small\"");
    let message = refused(&sandbox, "unsquashfs", &tree);
    assert!(message.contains("differences between") && message.contains("small"), "{message}");
    let message = refused(&sandbox, "sqfs2tar", &format!("exec {PACKLINE} unpack -q \"$1\" - --to tar -x small"));
    assert!(message.contains("1 difference between") && message.contains("small"), "{message}");
}

#[test]
fn rejects_non_images() {
    let sandbox = with_image(&[]);
    sandbox.write("image.sqfs", vec![7; 5000]);
    let ran = bench(&sandbox, &[]);
    assert!(ran.status == 1 && ran.stderr.contains("packline info"), "{ran:?}");
}
