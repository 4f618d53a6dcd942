//! `packline verify --roothash` checks an image of any format against its dm-verity tree.

use std::path::{Path, PathBuf};

use packline::Resources;
use packline::requests::{VerityCheck, verity_check};
use packline_verity::{BLOCK, CheckResult, Digest, Finding, parse_root_hash};
use serde_json::{Value, json};

use super::printer::Printer;
use super::{Verify, outcome};
use crate::args::run_options::RunOptions;
use crate::args::value::{size, text};
use crate::args::{Invocation, run_options, wrong};
use crate::ui::escape::{Escape, hex};
use crate::ui::failure::Failure;
use crate::ui::hash_tree;
use crate::ui::io::Io;
use crate::ui::size::{count, show_bytes};

/// `--roothash` and the place of the tree.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "dm-verity")]
pub struct VerityArgs {
    /// Compare IMAGE, of any format, with its dm-verity hash tree and this root hash (hexadecimal). The signature (.roothash.p7s) is not
    /// checked
    #[arg(long, value_name = "HASH", value_parser = text(root_hash))]
    roothash: Option<Digest>,
    /// Read the hash tree from FILE
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    hash_tree: Option<PathBuf>,
    /// Read the superblock of the hash tree at this byte, in its file or after the image [default: found from the size of the file]
    #[arg(long, value_name = "BYTES", value_parser = size(0..=u64::MAX))]
    hash_offset: Option<u64>,
}

/// Parses a root hash. If the text is the name of a file, the message says how to pass the hash in the file.
fn root_hash(text: &str) -> Result<Digest, String> {
    let with_hint = |error: String| {
        let is_file = Path::new(text).is_file();
        if is_file { format!("{error}; for the hash in a file: --roothash \"$(cat {text})\"") } else { error }
    };
    parse_root_hash(text).map_err(with_hint)
}

/// The options that have an effect on this check.
const HONOURED: [&str; 7] = ["roothash", "hash-tree", "hash-offset", "json", "quiet", "jobs", "mem"];

impl VerityArgs {
    /// Returns the requested check of an image.
    ///
    /// # Errors
    /// [`Failure::Usage`] for options without effect, for several images, and for standard input.
    pub fn check(&self, images: &[PathBuf], invocation: &Invocation) -> Result<Option<VerityCheck>, Failure> {
        invocation.need(&[("hash-tree", "roothash"), ("hash-offset", "roothash")])?;
        let Some(root_hash) = self.roothash else { return Ok(None) };
        if let Some(long) = invocation.explicit_except(&[&HONOURED[..], &run_options::NAMES].concat()) {
            return Err(wrong(long, "has no effect with --roothash"));
        }
        let [image] = images else {
            return Err(wrong("roothash", "works only with one IMAGE"));
        };
        if image.as_os_str() == "-" {
            return Err(wrong(
                "roothash",
                "IMAGE cannot be standard input, because it is read at any offset; name a file",
            ));
        }
        let mut check = VerityCheck::new(image, root_hash);
        check.tree = self.hash_tree.clone();
        check.offset = self.hash_offset;
        Ok(Some(check))
    }
}

/// # Errors
/// [`Failure::AlreadyReported`] for faults, which have been printed.
pub fn run(
    verify: &Verify,
    mut check: VerityCheck,
    resources: Resources,
    options: &RunOptions,
    io: &mut Io,
) -> Result<(), Failure> {
    check.resources = resources;
    let path = check.image.clone();
    let printer = Printer::new(verify, &path, io);
    let found = &mut |finding: Finding| printer.found(object(&finding), &describe(&finding, &check.root_hash));
    let checked = verity_check(&check, &mut &printer, found);
    let printed = printer.end();
    let checked = checked?;
    let totals = (totals_object(&checked), totals_text(&path, &checked), checked.bytes);
    let printed = printed.and_then(|()| verify.report(&path, totals, options, io));
    outcome(checked.faults(), printed)
}

fn describe(finding: &Finding, root: &Digest) -> String {
    let root = || format!("(expected {})", hex(root));
    match finding {
        Finding::Root { offset: Some(at), found } => {
            format!("the root hash is {} according to the block at byte {at} of the hash tree {}", hex(found), root())
        }
        Finding::Root { offset: None, found } => format!("the root hash is {} {}", hex(found), root()),
        Finding::Tree { offset } => {
            format!("wrong block at byte {offset} of the hash tree (expected the hash in the level above)")
        }
        Finding::Blocks { first, last } => {
            let start = first * BLOCK as u64;
            if first == last {
                format!("block {first}, at byte {start}, differs from the hash tree")
            } else {
                format!("blocks {first} to {last}, from byte {start} on, differ from the hash tree")
            }
        }
        Finding::Padding { offset } => {
            format!("a byte that is not zero at byte {offset} of the hash tree (expected zeros)")
        }
    }
}

fn object(finding: &Finding) -> Value {
    match finding {
        Finding::Root { offset, found } => {
            json!({ "finding": "fault", "part": "root hash", "tree_offset": offset, "found": hex(found) })
        }
        Finding::Tree { offset } => json!({ "finding": "fault", "part": "hash tree", "tree_offset": offset }),
        Finding::Blocks { first, last } => {
            let offset = first * BLOCK as u64;
            let blocks = last - first + 1;
            json!({ "finding": "fault", "part": "image", "offset": offset, "first_block": first, "blocks": blocks })
        }
        Finding::Padding { offset } => json!({ "finding": "fault", "part": "superblock", "tree_offset": offset }),
    }
}

fn totals_text(path: &Path, checked: &CheckResult) -> String {
    let verdict = if checked.faults() == 0 { "sound".to_string() } else { count(checked.faults(), "fault") };
    let blocks = count(checked.superblock.data_blocks, "block");
    let bytes = show_bytes(checked.bytes);
    let compared = checked.superblock.data_blocks.saturating_sub(checked.unknown_blocks);
    let compared = match checked.unknown_blocks {
        0 => format!("{blocks} ({bytes}) compared with the hash tree"),
        _ if compared == 0 => {
            format!("0 of {blocks} ({bytes}) compared: the hashes above them do not match the root hash")
        }
        unknown => format!(
            "{compared} of {blocks} ({bytes}) compared with the hash tree; {} below wrong blocks of the hash tree cannot be checked",
            count(unknown, "block"),
        ),
    };
    format!("{}: {verdict}\n{compared}", path.escaped())
}

fn totals_object(checked: &CheckResult) -> Value {
    let mut object = hash_tree::superblock(&checked.superblock);
    let members = [
        ("faults", checked.faults()),
        ("wrong_blocks", checked.wrong_blocks),
        ("wrong_tree_blocks", checked.wrong_tree),
        ("unknown_blocks", checked.unknown_blocks),
        ("content_bytes", checked.bytes),
    ];
    object.extend(members.map(|(key, value)| (key.to_string(), value.into())));
    object.into()
}
