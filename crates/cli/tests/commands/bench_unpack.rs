//! `bench unpack`: trees and tars of everyone are the image's, and a wrong one is found.

use packline_bench::report::{Report, Tails, Task, read_csv};
use packline_testkit::model::{Node, NodeKind};
use packline_testkit::packer::Packer;
use packline_testkit::{Random, tar, tools};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");

struct Place(tempfile::TempDir);

impl Place {
    fn new(options: &[&str]) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        let mut random = Random::new(5);
        let nodes = [
            Node::dir("d").mode(0o750),
            Node::file("d/big", random.prose(300_000)).time(1_000_000_000),
            Node::new("d/link", NodeKind::HardLink(b"d/big".to_vec())),
            Node::new("d/sym", NodeKind::Symlink(b"big".to_vec())),
            Node::file("small", random.prose(77)),
        ];
        fs::write(place.at("in.tar"), tar::to_bytes(&nodes)).unwrap();
        Packer::new(PACKLINE).pack(&place.at("in.tar"), &place.at("image.sqfs"), options);
        fs::create_dir(place.at("scratch")).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(PACKLINE);
        command.args([
            "bench",
            "unpack",
            "image.sqfs",
            "--work-dir",
            "scratch",
            "--no-storage",
            "--csv",
            "runs.csv",
            "-f",
        ]);
        command.args(options).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    fn report(&self, options: &[&str]) -> Report {
        tools::run(&mut self.command(options)).unwrap();
        assert_eq!(self.left(), 0);
        read_csv(&fs::read_to_string(self.at("runs.csv")).unwrap()).unwrap()
    }

    /// Runs it against a peer that does what a script says; it must fail, and report ours.
    fn refused(&self, peer: &str, script: &str) -> String {
        let path = self.at("fake");
        fs::write(&path, format!("#!/bin/sh\ncase $1 in -*version) echo fake 1; exit;; esac\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let peer = format!("{peer}={}", path.display());
        let output: Output = self.command(&["-j", "1", "-n", "1", "--against", &peer]).output().unwrap();
        assert_eq!((output.status.code(), self.left()), (Some(1), 0));
        let report = read_csv(&fs::read_to_string(self.at("runs.csv")).unwrap()).unwrap();
        assert!(report.failures.len() == 1 && report.measured.iter().all(|one| one.case.program == "packline"));
        assert_eq!(report.measured.len(), 2);
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn left(&self) -> usize {
        fs::read_dir(self.at("scratch")).unwrap().count()
    }
}

#[test]
fn everyone_unpacks_the_same() {
    if !tools::need(&["unsquashfs", "rdsquashfs", "sqfs2tar"]) {
        return;
    }
    let place = Place::new(&["-c", "xz", "-b", "64K", "--fragments", "small"]);
    let report =
        place.report(&["-j", "1,2", "-n", "2", "--warmup", "1", "--against", "unsquashfs,rdsquashfs,sqfs2tar"]);
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
    let size = fs::metadata(place.at("image.sqfs")).unwrap().len();
    for one in &report.measured {
        let case = &one.case;
        assert_eq!((case.codec.as_str(), case.block_size, case.tails), ("xz", 64 << 10, Tails::NoTailPacking));
        assert_eq!((one.content_bytes, one.image_bytes, one.runs.len()), (300_077, size, 2));
    }
}

#[test]
fn tasks_are_chosen() {
    let place = Place::new(&["-c", "lz4", "--no-fragments"]);
    let report = place.report(&["--tasks", "tar", "-j", "3", "-n", "1", "--warmup", "0", "--against", "none"]);
    let cases: Vec<_> = report.measured.iter().map(|one| (one.case.task, one.case.tails, one.case.jobs)).collect();
    assert_eq!(cases, [(Task::Tar, Tails::NoFragments, 3)]);
}

#[test]
fn a_tree_or_a_tar_that_lacks_something_is_a_failure() {
    let place = Place::new(&["-c", "lz4"]);
    let tree = format!("while [ $1 != -d ]; do shift; done; {PACKLINE} unpack -q \"$3\" \"$2\" && rm \"$2/small\"");
    let message = place.refused("unsquashfs", &tree);
    assert!(message.contains("differences between") && message.contains("small"), "{message}");
    let message = place.refused("sqfs2tar", &format!("exec {PACKLINE} unpack -q \"$1\" - --to tar -x small"));
    assert!(message.contains("1 difference between") && message.contains("small"), "{message}");
}

#[test]
fn what_is_no_image_is_refused() {
    let place = Place::new(&[]);
    fs::write(place.at("image.sqfs"), vec![7; 5000]).unwrap();
    let output = place.command(&[]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && message.contains("packline info"), "{message}");
    assert_eq!(place.left(), 0);
}
