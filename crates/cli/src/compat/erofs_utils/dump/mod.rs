//! `dump.erofs` shows the structures of an EROFS image, with the options, texts and exit codes of erofs-utils 1.9.3.

mod inode;
mod statistics;
mod superblock;

use packline::Error;
use packline::requests::{ErofsImage, ImagePlace, SuperblockChecksum};
use packline_image::metadata_cache;
use packline_verity::Uuid;
use packline_volume::Node;

use super::{ChosenInode, ImageOptions, fault, shown};
use crate::args::{Command, Compat, Invocation};
use crate::host::streams::STDOUT;
use crate::ui::exit_status::{CUT_OFF, INVALID, negative};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// End of the superblock in an image in bytes.
const SUPERBLOCK_END: u64 = 1152;

/// Show what is in an EROFS image (drop-in for erofs-utils)
#[derive(Debug, clap::Args)]
pub struct DumpErofs {
    #[command(flatten)]
    place: ImageOptions,
    #[command(flatten)]
    shows: Shows,
}

#[derive(Debug, clap::Args)]
struct Shows {
    /// Print the superblock (default)
    #[arg(short = 's')]
    superblock: bool,
    /// Print counts of files, and distributions of sizes and types
    #[arg(short = 'S')]
    statistics: bool,
    /// Print where the content of the inode is stored
    #[arg(short = 'e')]
    extents: bool,
    /// Print the entries of the inode, a directory
    #[arg(long)]
    ls: bool,
    /// Print the content of the inode, a regular file, to standard output
    #[arg(long)]
    cat: bool,
    /// Print UUID and type of the image as udev reads them
    #[arg(long)]
    blkid_udev: bool,
}

impl Command for DumpErofs {
    const NAME: &'static str = "dump.erofs";
    const COMPAT: Compat = Compat::DumpErofs;
    const LEAVES_NOTHING: bool = true;
    const DIFFERENCES: &'static [&'static str] = &[
        "An image named - is read from standard input. An image in a pipe is first stored in TMPDIR.",
        "A failure of -S, -e, --ls, --cat, --nid or --path exits with 1; 1.9.3 prints the error and exits with 0.",
        "An image that is cut off before the end of its root directory fails; 1.9.3 prints its superblock.",
        "-e, --ls and --cat without --nid or --path, and --cat together with another output, are wrong usage; 1.9.3 \
         exits with 0.",
        "--cat prints only regular files.",
        "-e prints 0 as the position of a hole; 1.9.3 prints the position of the extent before the hole.",
        "-S counts the types of files by their complete endings; 1.9.3 counts `.r` as `.rc`.",
        "The compression ratio of an empty file is 0.00%; 1.9.3 prints -nan%.",
        "If no name leads to an inode, its path is `(not found)`, also after a fault in another directory.",
    ];

    fn details() -> String {
        "--nid or --path also prints the attributes of the inode, unless --cat is given.".to_string()
    }

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        self.check()?;
        let image = self.open(io)?;
        if self.shows.blkid_udev {
            let uuid = Uuid(image.image.superblock().uuid);
            let text = "ID_FS_TYPE=erofs\nID_FS_USAGE=filesystem\n";
            return io.print(&format!("ID_FS_UUID={uuid}\nID_FS_UUID_ENC={uuid}\n{text}"));
        }
        let chosen = self.place.chosen(&image)?;
        if self.shows.cat {
            return cat(&image, chosen.as_ref(), io);
        }
        if self.shows.superblock || (!self.shows.statistics && chosen.is_none()) {
            superblock::print(&image, io)?;
        }
        if self.shows.statistics {
            statistics::print(&image, io)?;
        }
        match &chosen {
            Some(chosen) => inode::print(&image, chosen, (self.shows.ls, self.shows.extents), io),
            None => Ok(()),
        }
    }
}

impl DumpErofs {
    fn open(&self, io: &mut Io) -> Result<ErofsImage, Failure> {
        let place = self.place.place(io).map_err(|failure| Failure::Exit(INVALID, Box::new(failure)))?;
        let opened = place.open_erofs(SuperblockChecksum::Ignore, metadata_cache(None));
        opened.map_err(|cause| match &cause {
            Error::Read { cause: fault, .. } if fault.is_cut_off() => cause.into(),
            _ => Failure::Exit(status_of(&place), Box::new(cause.into())),
        })
    }

    /// Rejects options that contradict each other or lack another one.
    fn check(&self) -> Result<(), Failure> {
        let Shows { superblock, statistics, extents, ls, cat, .. } = self.shows;
        if cat && (superblock || statistics || extents || ls) {
            return Err(Failure::usage("The '--cat' flag is incompatible with '-S', '-e', '-s' and '--ls'."));
        }
        let needs = [(extents, "-e"), (ls, "--ls"), (cat, "--cat")];
        match needs.into_iter().find(|(given, _)| *given && !self.place.chooses()) {
            Some((_, name)) => Err(Failure::usage(format!("{name}: needs --nid or --path"))),
            None => Ok(()),
        }
    }
}

/// Returns the exit status for an image that cannot be opened: the number of the system's error, or of the fault of the image.
fn status_of(place: &ImagePlace) -> u8 {
    match place.input() {
        Err(Error::Source { cause, .. }) => cause.raw_os_error().map_or(INVALID, negative),
        Err(_) => INVALID,
        Ok(input) if input.size() < place.offset.unwrap_or(0).saturating_add(SUPERBLOCK_END) => CUT_OFF,
        Ok(_) => INVALID,
    }
}

/// Prints the content of a regular file.
fn cat(image: &ErofsImage, chosen: Option<&ChosenInode>, io: &mut Io) -> Result<(), Failure> {
    let Some(chosen) = chosen else { return Ok(()) };
    let inode = image.volume.inode(chosen.node).map_err(|cause| fault(image, cause))?;
    let Node::File(file) = inode.node else {
        let number = image.image.inode_number(chosen.node);
        return Err(Failure::failed(format!("{}: inode {number}: not a regular file", shown(image))));
    };
    io.refuse_input(&image.display_path)?;
    Ok(packline_image::cat_files(image, vec![file], &io.host.resources(), &mut io.stdout, STDOUT)?)
}
