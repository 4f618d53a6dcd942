//! Extraction of images by packline's fsck.erofs and by the one of erofs-utils.

use super::image::{Image, Programs};
use super::report::{Report, Sample};
use super::{Options, named};
use crate::bench::warm;
use crate::shell;
use packline_testkit::peer::Job;
use packline_testkit::tools;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that extracts images.
struct Extractor {
    name: &'static str,
    program: PathBuf,
}

/// Extracts two images, then their likes without fragments, each with both programs. A program that fails is not run again.
pub fn measure(
    options: &Options,
    programs: &Programs<'_>,
    [ours, peers]: &[Image; 2],
    report: &mut Report,
) -> Result<(), String> {
    let place = options.trees.as_ref().map_or_else(tempfile::tempdir, tempfile::tempdir_in);
    let place = place.map_err(|cause| format!("no directory for trees: {cause}"))?;
    let extractors = extractors(programs.packline, &options.peers.fsck, place.path())?;
    let plain = [
        programs.packline(&format!("{} --no-fragments", ours.options))?,
        programs.mkfs(&without_fragments(&peers.options))?,
    ];
    for image in [ours, peers, &plain[0], &plain[1]] {
        warm(&image.path)?;
        let mut running: Vec<&Extractor> = extractors.iter().collect();
        for run in 0..options.extractions {
            running.retain(|extractor| match extractor.extract(image, &place.path().join("tree")) {
                Ok(sample) => {
                    report.add(image, &extractor.task(), sample);
                    true
                }
                Err(cause) => {
                    report.failed(image, &extractor.task(), &cause);
                    false
                }
            });
            if run == 0 {
                for extractor in &running {
                    compare(extractor, image, options, place.path(), report)?;
                }
            }
        }
    }
    Ok(())
}

/// packline with the name of the drop-in, and the peer.
fn extractors(packline: &Path, fsck: &Path, place: &Path) -> Result<[Extractor; 2], String> {
    let link = place.join("fsck.erofs");
    let packline = packline.canonicalize().map_err(named(packline))?;
    std::os::unix::fs::symlink(packline, &link).map_err(named(&link))?;
    Ok([Extractor { name: "packline", program: link }, Extractor { name: "erofs-utils", program: fsck.to_path_buf() }])
}

impl Extractor {
    fn task(&self) -> String {
        format!("extracted by {}", self.name)
    }

    /// Extracts to a new directory.
    fn extract(&self, image: &Image, tree: &Path) -> Result<Sample, String> {
        // A run that fails may leave a file.
        match tree.symlink_metadata() {
            Ok(about) if about.is_dir() => std::fs::remove_dir_all(tree).map_err(named(tree))?,
            Ok(_) => std::fs::remove_file(tree).map_err(named(tree))?,
            Err(_) => {}
        }
        let argv =
            [shell::text(&self.program)?, &format!("--extract={}", shell::text(tree)?), shell::text(&image.path)?];
        let cost = Job::new(self.name, &argv).measure()?;
        Ok(Sample { wall: cost.wall, cpu: Some(cost.cpu()), read: None })
    }
}

/// Extracts once more, and compares names, types and contents with the source.
fn compare(
    extractor: &Extractor,
    image: &Image,
    options: &Options,
    place: &Path,
    report: &mut Report,
) -> Result<(), String> {
    let tree = place.join("tree");
    extractor.extract(image, &tree)?;
    let mut diff = Command::new("diff");
    diff.args(["-r", "--no-dereference"]).arg(&options.tree).arg(&tree);
    if let Err(cause) = tools::run(&mut diff) {
        report.failed(image, &extractor.task(), &format!("another tree: {cause}"));
    }
    Ok(())
}

/// Options of mkfs.erofs for an image that other programs of erofs-utils can extract.
fn without_fragments(options: &str) -> String {
    options.split_whitespace().filter(|word| !word.starts_with("-E")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_fragments() {
        assert_eq!(without_fragments("-zzstd,3 -C65536 -Efragments"), "-zzstd,3 -C65536");
    }
}
