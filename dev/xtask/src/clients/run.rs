//! One run of a client: its directory, the replaced programs first in its PATH, and the record of its work.

use super::outcome::Outcome;
use crate::shell;
use packline_testkit::model::{Bytes, Node, NodeKind};
use packline_testkit::mount::Mounted;
use packline_testkit::snapshot;
use packline_testkit::{generate, plant};
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The replaced programs that clients call.
const REPLACED: [&str; 7] =
    ["mksquashfs", "unsquashfs", "sqfstar", "tar2sqfs", "mkfs.erofs", "fsck.erofs", "dump.erofs"];
/// The directory in which Debian has the originals.
const ORIGINALS: &str = "/usr/bin";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Seconds after which a client is ended.
const TIMEOUT: &str = "300";

/// Maximum number of lines of a client's output in a message.
const SHOWN: usize = 60;

/// Which programs a client finds.
#[derive(Debug, Clone, Copy)]
pub enum Programs<'a> {
    Peers,
    /// The links to packline in a directory.
    Ours(&'a Path),
}

impl fmt::Display for Programs<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(match self {
            Programs::Peers => "Debian's programs",
            Programs::Ours(_) => "the drop-ins",
        })
    }
}

/// Whether modification times are compared. The times of files that a client creates differ from run to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    Compared,
    Ignored,
}

pub struct Run {
    /// The path is the same in each run, so that it does not change the output.
    base: PathBuf,
    pub outcome: Outcome,
}

impl Run {
    /// Recreates `base`: an empty directory for the client, and scripts that record each call and execute the program.
    pub fn begin(base: &Path, programs: Programs) -> Result<Run, String> {
        if base.exists() {
            fs::remove_dir_all(base).map_err(|cause| format!("{}: {cause}", base.display()))?;
        }
        let run = Run { base: base.to_path_buf(), outcome: Outcome::default() };
        fs::create_dir_all(run.directory()).map_err(|cause| format!("{}: {cause}", base.display()))?;
        for name in REPLACED {
            run.write_script(name, programs)?;
        }
        Ok(run)
    }

    fn write_script(&self, name: &str, programs: Programs) -> Result<(), String> {
        let program = match programs {
            Programs::Peers => Path::new(ORIGINALS).join(name),
            Programs::Ours(links) => links.join(name),
        };
        let script = self.replaced().join(name);
        let calls = self.calls();
        let lines = format!("#!/bin/sh\necho {name} >>'{}'\nexec '{}' \"$@\"\n", calls.display(), program.display());
        shell::write(&script, &lines)?;
        let executable = fs::set_permissions(&script, fs::Permissions::from_mode(0o755));
        executable.map_err(|cause| format!("{}: {cause}", script.display()))
    }

    /// The client's directory.
    pub fn directory(&self) -> PathBuf {
        self.base.join("work")
    }

    fn calls(&self) -> PathBuf {
        self.base.join("calls")
    }

    /// The directory of the scripts.
    fn replaced(&self) -> PathBuf {
        self.base.join("bin")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }

    pub fn write(&self, name: &str, content: &str) -> Result<(), String> {
        shell::write(&self.path(name), content)
    }

    /// Makes a tree with every type of inode, hard links, owners and attributes. The same in every run.
    pub fn plant(&self, name: &str) -> Result<(), String> {
        let root = self.path(name);
        fs::create_dir_all(&root).map_err(|cause| format!("{}: {cause}", root.display()))?;
        plant::plant(&nodes(), &root)
    }

    /// Returns a line for sh(1) in the directory of the client, with the replaced programs first in PATH. A line that hangs is ended.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", TIMEOUT, "sh", "-c", line]).current_dir(self.directory());
        command.env("PATH", format!("{}:{PATH}", self.replaced().display())).env("HOME", self.directory());
        command.envs([("LC_ALL", "C.UTF-8"), ("TZ", "UTC"), ("USER", "root")]).env_remove("SOURCE_DATE_EPOCH");
        command.stdin(Stdio::null());
        command
    }

    /// Runs a line, which must succeed. Returns its standard output.
    pub fn succeeds(&self, line: &str) -> Result<String, String> {
        self.ends(line, 0)
    }

    /// As [`Run::succeeds`], for a line that must end with an exit status.
    pub fn ends(&self, line: &str, status: i32) -> Result<String, String> {
        let output = self.command(line).output().map_err(|cause| format!("{line}: {cause}"))?;
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if output.status.code() == Some(status) {
            Ok(stdout)
        } else {
            let printed = beginning(&[stdout, stderr].concat());
            Err(format!("{line}: {} (expected {status}), and it prints:\n{printed}", output.status))
        }
    }

    /// Runs a line that must end with an exit status, and records what it writes to standard output.
    pub fn prints(&mut self, line: &str, status: i32) -> Result<(), String> {
        let text = self.ends(line, status)?;
        self.text(line, text);
        Ok(())
    }

    /// Records a text that must be the same in both runs.
    pub fn text(&mut self, label: &str, text: impl Into<String>) {
        self.outcome.texts.push((label.to_owned(), text.into()));
    }

    /// Records the tree of an image, as the kernel mounts it.
    pub fn image(&mut self, name: &str) -> Result<(), String> {
        self.image_at(name, 0, Times::Compared)
    }

    /// As [`Run::image`], of an image that begins at a byte of the file.
    pub fn image_at(&mut self, name: &str, offset: u64, times: Times) -> Result<(), String> {
        let mounted = Mounted::kernel_at(&self.path(name), offset)?;
        self.record(name, mounted.path(), times)
    }

    /// As [`Run::image_at`], of an EROFS image.
    pub fn erofs_at(&mut self, name: &str, offset: u64, times: Times) -> Result<(), String> {
        let mounted = Mounted::erofs_at(&self.path(name), offset)?;
        self.record(name, mounted.path(), times)
    }

    /// Records the tree of a directory.
    pub fn tree(&mut self, name: &str, times: Times) -> Result<(), String> {
        self.record(name, &self.path(name), times)
    }

    fn record(&mut self, label: &str, root: &Path, times: Times) -> Result<(), String> {
        let mut tree = snapshot::of_directory(root).map_err(|cause| format!("{label}: {cause}"))?;
        if times == Times::Ignored {
            tree.values_mut().for_each(|attributes| attributes.mtime = 0);
        }
        self.outcome.trees.push((label.to_owned(), tree));
        Ok(())
    }

    /// The outcome, with the calls.
    pub fn end(mut self) -> Result<Outcome, String> {
        // Without a call there is no file, and the comparison reports that.
        let calls = fs::read_to_string(self.calls()).unwrap_or_default();
        self.outcome.calls = calls.lines().map(str::to_owned).collect();
        Ok(self.outcome)
    }
}

/// The first lines of what a client prints, for a message.
pub fn beginning(text: &str) -> String {
    text.lines().take(SHOWN).collect::<Vec<_>>().join("\n")
}

/// squashfs-tools 4.5, which Debian 12 has, stores a time before 1970 as one after 2038, and a symbolic link with two names twice. The
/// drop-ins do as later versions, so both are left out.
fn nodes() -> Vec<Node> {
    let mut nodes = generate::small_tree(1, 1 << 12);
    let files: Vec<_> = nodes.iter().filter(|node| matches!(node.kind, NodeKind::File(_))).cloned().collect();
    let linked = |target: &Bytes| files.iter().any(|file| file.path == *target);
    nodes.retain(|node| !matches!(&node.kind, NodeKind::HardLink(target) if !linked(target)));
    nodes.iter_mut().for_each(|node| node.mtime = node.mtime.max(0));
    nodes
}
