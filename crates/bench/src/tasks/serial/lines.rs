//! The command line of each step.

use std::path::Path;

use packline_codec::Spec;

use super::Group;
use crate::inputs::source::Source;
use crate::programs::command_line::{CommandLine, Stdout};
use crate::report::{Container, Step};
use crate::runs::work_dir::WorkDir;

/// The file to which `packline pack --json` prints its summary.
pub(super) const SUMMARY: &str = "summary.json";

/// The codecs of .lrz files that `--codec` of `packline bench` knows.
const OF_LRZ: [&str; 4] = ["none", "gzip", "lzo", "lzma"];

/// Whether a step is possible with a container and a source.
pub(super) fn fits(step: Step, container: Container, source: &Source) -> bool {
    let is_directory = matches!(source, Source::Directory { .. });
    match step {
        Step::PackTar | Step::PackStream => !is_directory,
        Step::PackDirectory => is_directory && container == Container::Squashfs,
        Step::Unpack => container == Container::Squashfs,
        Step::Tar | Step::Verify => container == Container::Squashfs || !is_directory,
    }
}

pub(super) fn has_codec(container: Container, codec: &Spec) -> bool {
    let text = codec.to_string();
    let name = text.split(':').next().unwrap_or_default();
    match container {
        Container::Squashfs => ["none", "gzip", "xz", "lzma", "zstd", "lz4", "lzo"].contains(&name),
        Container::Lrz => OF_LRZ.contains(&name),
        Container::Pln => true,
    }
}

pub(super) fn ending(container: Container) -> &'static str {
    match container {
        Container::Squashfs => "sqfs",
        Container::Lrz => "lrz",
        Container::Pln => "pln",
    }
}

/// A step with its files.
pub(super) struct StepLine<'a> {
    pub group: &'a Group,
    pub step: Step,
    pub jobs: usize,
    pub memory: Option<u64>,
    pub image: &'a Path,
    pub tree: &'a Path,
    pub trace: &'a Path,
}

impl StepLine<'_> {
    pub(super) fn line(&self, program: &Path, work_dir: &WorkDir) -> CommandLine {
        let jobs = self.jobs.to_string();
        let line = CommandLine::new(program);
        let line = match (self.step, self.group.container) {
            (Step::PackTar | Step::PackStream | Step::PackDirectory, Container::Pln) => self.compress(line),
            (Step::PackTar | Step::PackStream | Step::PackDirectory, _) => self.pack(line, &work_dir.at(SUMMARY)),
            (Step::Unpack, _) => line.with(["unpack".as_ref(), self.image, self.tree]),
            (Step::Tar, Container::Pln) => {
                line.with(["decompress", "--stdout"]).with([self.image]).stdout(Stdout::Pipe)
            }
            (Step::Tar, _) => {
                line.with(["unpack".as_ref(), self.image]).with(["-", "--to", "tar"]).stdout(Stdout::Pipe)
            }
            (Step::Verify, _) => line.with(["verify".as_ref(), self.image]),
        };
        let line = line.with(["--quiet", "--jobs", &jobs]).with(["--trace".as_ref(), self.trace]);
        let memory = self.memory.map(|bytes| ["--mem".to_owned(), bytes.to_string()]);
        line.with(memory.into_iter().flatten())
    }

    /// Adds the source, which for a stream is standard input.
    fn source(&self, line: CommandLine) -> CommandLine {
        let path = self.group.source.path();
        if self.step == Step::PackStream { line.with(["-"]).piped_stdin(path) } else { line.with([path]) }
    }

    fn pack(&self, line: CommandLine, summary: &Path) -> CommandLine {
        let codec = self.group.codec.to_string();
        let block = self.group.block_size.to_string();
        let line = self.source(line.with(["pack"])).with([self.image]).with(["--json", "--codec", &codec]);
        let line = if self.group.block_size > 0 { line.with(["--block-size", &block]) } else { line };
        line.stdout(Stdout::File(summary.to_path_buf()))
    }

    fn compress(&self, line: CommandLine) -> CommandLine {
        let codec = self.group.codec.to_string();
        self.source(line.with(["compress", "--codec", &codec])).with(["-o".as_ref(), self.image])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::work_dir::WorkDir;
    use packline_runtime::Temporaries;

    fn shown(step: Step, container: Container, source: Source) -> String {
        let top = tempfile::tempdir().unwrap();
        let work_dir = WorkDir::new(top.path(), &Temporaries::default()).unwrap();
        let codec = Spec::parse("lz4").unwrap();
        let block_size = if container == Container::Squashfs { 4096 } else { 0 };
        let group = Group { source, codec, container, block_size, steps: Vec::new() };
        let [image, tree, trace] = ["I", "T", "J"].map(Path::new);
        let line = StepLine { group: &group, step, jobs: 3, memory: Some(9), image, tree, trace };
        line.line(Path::new("packline"), &work_dir).quoted().replace(&*work_dir.at("").to_string_lossy(), "")
    }

    #[test]
    fn each_step_has_a_command_line() {
        let tar = || Source::Tar { path: "in.tar".into(), compressed: false };
        let directory = || Source::Directory { path: "dir".into() };
        let end = "--quiet --jobs 3 --trace J --mem 9";
        let squashfs = |step, source| shown(step, Container::Squashfs, source);
        let options = "--json --codec lz4 --block-size 4096";
        assert_eq!(squashfs(Step::PackTar, tar()), format!("packline pack in.tar I {options} {end} > summary.json"));
        let stream = format!("cat in.tar | packline pack - I {options} {end} > summary.json");
        assert_eq!(squashfs(Step::PackStream, tar()), stream);
        assert_eq!(
            squashfs(Step::PackDirectory, directory()),
            format!("packline pack dir I {options} {end} > summary.json")
        );
        assert_eq!(squashfs(Step::Unpack, tar()), format!("packline unpack I T {end}"));
        assert_eq!(squashfs(Step::Tar, tar()), format!("packline unpack I - --to tar {end} | cat > /dev/null"));
        assert_eq!(squashfs(Step::Verify, tar()), format!("packline verify I {end}"));
        let lrz = shown(Step::PackTar, Container::Lrz, tar());
        assert_eq!(lrz, format!("packline pack in.tar I --json --codec lz4 {end} > summary.json"));
        let pln = |step| shown(step, Container::Pln, tar());
        assert_eq!(pln(Step::PackStream), format!("cat in.tar | packline compress --codec lz4 - -o I {end}"));
        assert_eq!(pln(Step::Tar), format!("packline decompress --stdout I {end} | cat > /dev/null"));
    }

    #[test]
    fn leaves_out_steps_that_a_container_does_not_have() {
        let tar = Source::Tar { path: "in.tar".into(), compressed: false };
        let directory = Source::Directory { path: "dir".into() };
        let steps = |container, source| Step::ALL.into_iter().filter(|&step| fits(step, container, source)).count();
        assert_eq!([steps(Container::Squashfs, &tar), steps(Container::Squashfs, &directory)], [5, 4]);
        assert_eq!([steps(Container::Pln, &tar), steps(Container::Lrz, &directory)], [4, 0]);
        let codec = |name: &str| Spec::parse(name).unwrap();
        assert!(has_codec(Container::Lrz, &codec("gzip:level=3")) && !has_codec(Container::Lrz, &codec("zstd")));
    }
}
