//! Bytes that an update from one image to another transfers, for each transport. packline (in each layout) and mksquashfs build the images
//! of a tree and of changed copies of the tree.

mod images;
mod table;
mod traffic;
mod zsync;

use super::{recorded, work_directory};
use crate::{options, shell};
use clap::Args;
use images::{Images, Kind};
use packline_testkit::tools;
use std::path::{Path, PathBuf};
use std::process::Command;
use table::Row;
use traffic::{Programs, Traffic};

#[derive(Debug, Args)]
pub struct Options {
    /// The tree that is updated
    #[arg(long, value_name = "DIR")]
    old: PathBuf,
    /// Changed trees, each with a name for the table: the tree itself for an update that changes nothing
    #[arg(long, value_name = "NAME=DIR", required = true, value_parser = change)]
    new: Vec<Change>,
    /// Block sizes of the images
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "128K,1M")]
    blocks: Vec<String>,
    /// packline's layouts
    #[arg(long, value_name = "LIST", value_delimiter = ';', default_value = "compact;stable")]
    layouts: Vec<String>,
    /// Codec of all images: a name, and a level after a colon
    #[arg(long, value_name = "NAME[:LEVEL]", default_value = "zstd")]
    codec: String,
    /// The desync to run, if it is not in PATH
    #[arg(long, value_name = "PROGRAM")]
    desync: Option<PathBuf>,
    /// Leave xdelta3 out, which takes minutes, and several times the memory of an image
    #[arg(long)]
    no_xdelta: bool,
    /// Directory for the images. Existing images are used, and none is removed [default: a temporary directory]
    #[arg(long, value_name = "DIR")]
    images: Option<PathBuf>,
    #[command(flatten)]
    output: options::Output,
    #[command(flatten)]
    binary: options::Binary,
}

/// A changed tree.
#[derive(Debug, Clone)]
struct Change {
    name: String,
    tree: PathBuf,
}

fn change(text: &str) -> Result<Change, String> {
    let (name, tree) = text.split_once('=').ok_or("expected NAME=DIR")?;
    Ok(Change { name: name.to_owned(), tree: tree.into() })
}

pub fn run(options: &Options) -> Result<(), String> {
    let temporary = tempfile::tempdir_in(work_directory(None)?).map_err(|cause| cause.to_string())?;
    let place = options.images.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(place).map_err(|cause| format!("{}: {cause}", place.display()))?;
    let binary = options.binary.path()?;
    let programs = programs(options, &binary);
    let mut rows = Vec::new();
    for block in &options.blocks {
        let images = Images { binary: &binary, place, block, codec: &options.codec };
        for kind in kinds(&options.layouts) {
            rows.extend(measure(&images, &kind, options, &programs)?);
        }
    }
    let page = table::page(&recorded::machine_description(), &options.codec, &rows);
    options.output.write("update-traffic", &table::csv(&rows), &page)
}

/// mksquashfs, with which the others are compared, and the layouts.
fn kinds(layouts: &[String]) -> Vec<Kind> {
    let layouts = layouts.iter().map(|layout| Kind::Packline(layout.clone()));
    std::iter::once(Kind::Mksquashfs).chain(layouts).collect()
}

/// One row for each change.
fn measure(images: &Images<'_>, kind: &Kind, options: &Options, programs: &Programs) -> Result<Vec<Row>, String> {
    let old = images.make(kind, "old", &options.old)?;
    options
        .new
        .iter()
        .map(|change| {
            let new = images.make(kind, &change.name, &change.tree)?;
            let traffic = Traffic::measure(&old, &new, images.place, programs)?;
            let size = std::fs::metadata(&new).map_err(|cause| format!("{}: {cause}", new.display()))?.len();
            let row =
                Row { block: images.block.to_owned(), image: kind.name(), change: change.name.clone(), size, traffic };
            shell::print(&table::line(&row, &[]));
            Ok(row)
        })
        .collect()
}

/// Returns the programs that are installed, and prints the names of the others.
fn programs(options: &Options, packline: &Path) -> Programs {
    let found = |name: &str| {
        let path = tools::find(name);
        if path.is_none() {
            shell::print_error(&format!("{name} is not installed: its column is empty"));
        }
        path
    };
    Programs {
        desync: options.desync.clone().or_else(|| found("desync")),
        casync: found("casync"),
        xdelta: if options.no_xdelta { None } else { found("xdelta3") },
        delta: makes_deltas(packline).then(|| packline.to_owned()),
    }
}

/// Returns whether a packline has the command. If not, its column is empty.
fn makes_deltas(packline: &Path) -> bool {
    let makes = tools::run(Command::new(packline).args(["delta", "--help"])).is_ok();
    if !makes {
        shell::print_error("this packline has no command 'delta': its column is empty");
    }
    makes
}

/// Reads a whole image.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|cause| format!("{}: {cause}", path.display()))
}
