//! `sqfsdiff` compares two images, with the options, output and exit codes of squashfs-tools-ng 1.3.

use std::path::PathBuf;

use packline::requests::ImagePlace;
use packline_image::{Compared, DIFF_METADATA, DiffOrder, DiffPlace, DiffRequest, Difference, FileSystem, What, diff};
use packline_squashfs::{Superblock, flags};

use crate::args::image::place;
use crate::args::{Command, Compat, Invocation};
use crate::commands;
use crate::commands::diff::{Printer, ended};
use crate::ui::escape::escaped;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Compare two SquashFS images (drop-in for squashfs-tools-ng)
#[derive(Debug, clap::Args)]
pub struct SqfsDiff {
    /// The first image
    #[arg(short = 'a', long, value_name = "IMAGE")]
    old: PathBuf,
    /// The second image
    #[arg(short = 'b', long, value_name = "IMAGE")]
    new: PathBuf,
    /// Do not compare contents of files
    #[arg(short = 'C', long)]
    no_contents: bool,
    /// Do not compare owners
    #[arg(short = 'O', long)]
    no_owner: bool,
    /// Do not compare permission bits
    #[arg(short = 'P', long)]
    no_permissions: bool,
    /// Compare modification times
    #[arg(short = 'T', long)]
    timestamps: bool,
    /// Compare inode numbers
    #[arg(short = 'I', long)]
    inode_num: bool,
    /// Also compare the superblocks, if the trees are equal
    #[arg(short = 'S', long = "super")]
    superblocks: bool,
    /// Extract files that differ, or that only one image has, to the directories 'old' and 'new' in this directory
    #[arg(short, long, value_name = "DIR")]
    extract: Option<PathBuf>,
}

/// The names of the superblock flags in squashfs-tools-ng.
const FLAGS: &[(u16, &str)] = &[
    (flags::STORED_INODES, "uncompressed inodes"),
    (flags::STORED_DATA, "uncompressed data"),
    (flags::STORED_FRAGMENTS, "uncompressed fragments"),
    (flags::NO_FRAGMENTS, "no fragments"),
    (flags::ALWAYS_FRAGMENTS, "always fragments"),
    (flags::DUPLICATES, "no duplicates"),
    (flags::EXPORTABLE, "exportable"),
    (flags::STORED_XATTRS, "uncompressed xattrs"),
    (flags::NO_XATTRS, "no xattrs"),
    (flags::OPTIONS, "compressor options"),
    (flags::STORED_IDS, "uncompressed ids"),
];

/// The compressors by their numbers.
const COMPRESSORS: &[&str] = &["unknown", "gzip", "lzma", "lzo", "xz", "lz4", "zstd"];

impl Command for SqfsDiff {
    const NAME: &'static str = "sqfsdiff";
    const COMPAT: Compat = Compat::ExitTwo;
    const DIFFERENCES: &'static [&'static str] = &[
        "An image named - is read from standard input. An image in a pipe is first stored in TMPDIR.",
        "A different link target counts for the exit status, as the manual page says; that release only prints it.",
        "Names are printed with control characters and backslashes escaped, one per line.",
    ];

    fn details() -> String {
        "Exits with 0 if the images are equal, 1 if they differ, 2 if there was a problem.".to_string()
    }

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        ended(self.compare(io))
    }
}

impl SqfsDiff {
    /// Compares the images and returns whether they are equal.
    fn compare(self, io: &mut Io) -> Result<bool, Failure> {
        let request = self.request(io)?;
        let superblocks = self.superblocks;
        let extracting = request.extract.is_some();
        let mut printer = Printer { out: &mut io.stdout, gone: false };
        let summary = diff(&request, &mut |difference| {
            line(difference).map_or(Ok(()), |line| printer.line(&line))?;
            Ok(!printer.gone || extracting)
        })?;
        let mut equal = summary.differences == 0;
        if let (true, true, Some([FileSystem::SquashFs(old), FileSystem::SquashFs(new)])) =
            (equal, superblocks, commands::diff::file_systems(&request))
        {
            let lines = superblock_lines(old.superblock(), new.superblock());
            equal = lines.is_empty();
            lines.iter().try_for_each(|line| printer.line(line)).map_err(Failure::printing)?;
        }
        printer.flush().map_err(Failure::printing)?;
        Ok(equal)
    }

    fn request(&self, io: &mut Io) -> Result<DiffRequest, Failure> {
        let compared = Compared {
            contents: !self.no_contents,
            owners: !self.no_owner,
            permissions: !self.no_permissions,
            times: self.timestamps,
            xattrs: false,
            links: false,
            numbers: self.inode_num,
            forms: true,
        };
        let old = place(&self.old, None, io)?;
        let new = place(&self.new, None, io)?;
        let opened = |place: ImagePlace| Ok::<_, Failure>(DiffPlace::Image(place.open_squashfs(DIFF_METADATA)?.into()));
        let mut request = DiffRequest::new(opened(old)?, opened(new)?);
        request.compared = compared;
        request.order = DiffOrder::MissingFirst;
        request.extract = self.extract.clone();
        request.resources = io.host.resources();
        Ok(request)
    }
}

/// Returns the line for a difference; `None` if the options exclude it.
fn line(difference: &Difference) -> Option<String> {
    let path = escaped(&difference.path);
    Some(match &difference.what {
        What::OnlyOld(_) => format!("< {path}"),
        What::OnlyNew(_) => format!("> {path}"),
        What::Type(..) => format!("/{path} has a different type"),
        What::Form { extended: true } => format!("/{path} has an extended type"),
        What::Form { extended: false } => format!("/{path} has a basic type"),
        What::Mode(..) => format!("/{path} has different permissions"),
        What::Owner(..) => format!("/{path} has different ownership"),
        What::Time(..) => format!("/{path} has a different timestamp"),
        What::Number(..) => format!("/{path} has a different inode number"),
        What::Device(..) => format!("/{path} has different device number"),
        What::Target(..) => format!("/{path} has a different link target"),
        What::Size(..) | What::Content(_) => format!("regular file /{path} differs"),
        What::Xattrs(_) | What::Links => return None,
    })
}

type Field = fn(&Superblock) -> u64;

/// Returns lines about the superblock fields that differ.
fn superblock_lines(old: &Superblock, new: &Superblock) -> Vec<String> {
    if old == new {
        return Vec::new();
    }
    let mut lines = vec!["======== super blocks are different ========".to_string()];
    let log = |block: &Superblock| u64::from(block.block_size.log());
    lines.extend(
        [
            change("inode count", old.inodes.into(), new.inodes.into()),
            change("modification time", old.created.into(), new.created.into()),
            change("block size", old.block_size.into(), new.block_size.into()),
            change("block log", log(old), log(new)),
            change("fragment table entries", old.fragments.into(), new.fragments.into()),
            change("ID table entries", old.ids.into(), new.ids.into()),
        ]
        .into_iter()
        .flatten(),
    );
    if old.compressor != new.compressor {
        let name = |block: &Superblock| COMPRESSORS.get(usize::from(block.compressor)).copied().unwrap_or("unknown");
        lines.push(format!("compressor: {} vs {}", name(old), name(new)));
    }
    lines.extend(flag_lines(old.flags, new.flags));
    lines.extend(change("total bytes used", old.bytes_used, new.bytes_used));
    let places: [(&str, Field); 7] = [
        ("root inode", |block| block.root),
        ("ID table", |block| block.id_table),
        ("xattr ID table", |block| block.xattr_table),
        ("inode table", |block| block.inode_table),
        ("directory table", |block| block.directory_table),
        ("fragment table", |block| block.fragment_table),
        ("export table", |block| block.export_table),
    ];
    let moved = places.iter().filter(|(_, place)| place(old) != place(new));
    lines.extend(moved.map(|(name, _)| format!("Location of {name} differs")));
    lines
}

fn change(name: &str, old: u64, new: u64) -> Option<String> {
    let sign = if old < new { '+' } else { '-' };
    (old != new).then(|| format!("{name}: {sign}{}", old.abs_diff(new)))
}

fn flag_lines(old: u16, new: u16) -> Vec<String> {
    let differs = old ^ new;
    if differs == 0 {
        return Vec::new();
    }
    let side = |bit: u16| if old & bit != 0 { '<' } else { '>' };
    let mut lines = vec!["flags:".to_string()];
    lines.extend(
        FLAGS.iter().filter(|(bit, _)| differs & bit != 0).map(|(bit, name)| format!("\t{}{name}", side(*bit))),
    );
    let known = FLAGS.iter().fold(0, |all, (bit, _)| all | bit);
    let unknown = (0..16).map(|shift| 1 << shift).filter(|bit| differs & !known & bit != 0);
    lines.extend(unknown.map(|bit| format!("\t{} additional unknown", side(bit))));
    lines
}
