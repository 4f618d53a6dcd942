//! EROFS images of packline and of mkfs.erofs: the whole tree, its attributes and random pages through a mount of the kernel, and the extraction
//! by both fsck.erofs.

mod extract;
mod image;
mod map;
mod mounted;
mod pages;
mod report;
mod tree;

use super::work_directory;
use crate::{options, shell};
use clap::Args;
use image::{Image, Programs};
use mounted::MountedImage;
use packline_testkit::Stopwatch;
use pages::{Page, ReadAhead};
use report::{Report, Sample};
use std::path::{Path, PathBuf};
use tree::Tally;

/// Options of images whose random reads decode about the same number of bytes.
const PAIRS: [&str; 2] = [
    "-c zstd:level=3 -b 256K / -zzstd,3 -C65536 -Efragments",
    "-c zstd:level=3 -b 512K / -zzstd,3 -C131072 -Efragments",
];

#[derive(Debug, Args)]
pub struct Options {
    /// The tree in the images
    #[arg(long, value_name = "DIR")]
    tree: PathBuf,
    /// Options of packline pack and of mkfs.erofs for two images that are compared; repeated for each pair
    #[arg(long, value_name = "OURS / PEERS", value_parser = pair, default_values = PAIRS, allow_hyphen_values = true)]
    pair: Vec<Pair>,
    /// Runs of each task, in turn with both images
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
    /// Random pages of a run
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pages: usize,
    /// Runs of each extraction; 0 leaves them out
    #[arg(long, value_name = "N", default_value_t = 3)]
    extractions: usize,
    #[command(flatten)]
    peers: Peers,
    /// Directory for the images, on a disk. Images of mkfs.erofs are kept and used again [default: target/bench-images]
    #[arg(long, value_name = "DIR")]
    images: Option<PathBuf>,
    /// Directory for extracted trees [default: that of temporary files]
    #[arg(long, value_name = "DIR")]
    trees: Option<PathBuf>,
    #[command(flatten)]
    output: options::Output,
    #[command(flatten)]
    binary: options::Binary,
}

/// The programs of erofs-utils.
#[derive(Debug, Args)]
pub struct Peers {
    /// The mkfs.erofs to compare with
    #[arg(long, value_name = "PROGRAM", default_value = "mkfs.erofs")]
    pub mkfs: PathBuf,
    /// The fsck.erofs to compare with
    #[arg(long, value_name = "PROGRAM", default_value = "fsck.erofs")]
    pub fsck: PathBuf,
}

/// Options of two images that are compared.
#[derive(Debug, Clone)]
struct Pair {
    ours: String,
    peers: String,
}

fn pair(text: &str) -> Result<Pair, String> {
    let (ours, peers) = text.split_once(" / ").ok_or("expected the options of both, with ' / ' between them")?;
    Ok(Pair { ours: ours.trim().to_owned(), peers: peers.trim().to_owned() })
}

pub fn run(options: &Options) -> Result<(), String> {
    let directory = work_directory(options.images.as_deref())?;
    let binary = options.binary.path()?;
    let programs =
        Programs { packline: &binary, mkfs: &options.peers.mkfs, tree: &options.tree, directory: &directory };
    let pages = pages::choose(&options.tree, options.pages)?;
    let mut report = Report::default();
    let mut first = None;
    for pair in &options.pair {
        let images = [programs.packline(&pair.ours)?, programs.mkfs(&pair.peers)?];
        for image in &images {
            report.demand(image, map::demand(&image.path, &pages)?);
        }
        for _ in 0..options.runs {
            images.iter().try_for_each(|image| measure(image, &pages, &mut report))?;
        }
        first.get_or_insert(images);
    }
    if let Some(images) = first.as_ref().filter(|_| options.extractions > 0) {
        extract::measure(options, &programs, images, &mut report)?;
    }
    let page = report.page(options);
    shell::print(&page);
    options.output.write("erofs", &report.csv(), &page)
}

type Visit = fn(&Path) -> Result<Tally, String>;

/// Visits of a whole tree, each with its names when it is the first of a mount and when it is repeated.
const VISITS: [([&str; 2], Visit); 2] =
    [(["tree, cold", "tree, warm"], tree::read), (["attributes, cold", "attributes, warm"], tree::list)];

/// Runs all tasks once. Each cold task begins with a new mount, and with no byte of the image in the page cache.
fn measure(image: &Image, pages: &[Page], report: &mut Report) -> Result<(), String> {
    for (tasks, visit) in VISITS {
        let mounted = MountedImage::cold(&image.path)?;
        for task in tasks {
            let (tally, sample) = timed(&mounted, || visit(mounted.path()))?;
            report.add(image, task, sample);
            report.counted(image, tally)?;
        }
    }
    for (task, ahead) in [("pages", ReadAhead::Off), ("pages, read-ahead", ReadAhead::AsIs)] {
        let mounted = MountedImage::cold(&image.path)?;
        let ((), sample) = timed(&mounted, || pages::stat(mounted.path(), pages))?;
        report.add(image, "attributes of the pages' files", sample);
        let ((), sample) = timed(&mounted, || pages::read(mounted.path(), pages, ahead))?;
        report.add(image, task, sample);
    }
    Ok(())
}

/// Returns the time of an action and the bytes that it reads from the device.
fn timed<T>(mounted: &MountedImage, action: impl FnOnce() -> Result<T, String>) -> Result<(T, Sample), String> {
    let before = mounted.bytes_read()?;
    let watch = Stopwatch::start();
    let outcome = action()?;
    let wall = watch.elapsed().as_secs_f64();
    Ok((outcome, Sample { wall, cpu: None, read: Some(mounted.bytes_read()? - before) }))
}

fn named(path: &Path) -> impl Fn(std::io::Error) -> String {
    move |cause| format!("{}: {cause}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_both_images() {
        let found = pair("-c zstd:level=3 -b 256K / -zzstd,3").unwrap();
        assert_eq!((found.ours.as_str(), found.peers.as_str()), ("-c zstd:level=3 -b 256K", "-zzstd,3"));
        assert!(pair("-c zstd").is_err());
        assert!(PAIRS.into_iter().all(|text| pair(text).is_ok()));
    }
}
