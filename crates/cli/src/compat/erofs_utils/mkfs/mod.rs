//! `mkfs.erofs` packs a directory or a tar into an EROFS image, with the options, texts and exit codes of erofs-utils 1.9.3.

mod changes;
mod compression;
mod exclude;
mod extended;
mod format;
mod fs_config;
mod hints;
mod incremental;
mod options;
mod refused;
mod source;
mod tar;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline::requests::{ImageRequest, PackRequest};
use packline_runtime::{OutputFile, must_differ};

use crate::args::{Command, Compat, Invocation};
use crate::compat::squashfs_tools::posix_regex;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::{OutputStyle, run_pack};
use crate::ui::target;
use exclude::Excludes;
use options::{AttributeOptions, FormatOptions, IdleOptions, RunOptions, SourceOptions, TimeOptions};
use refused::Refused;
use tar::TarMode;

/// The most worker threads.
const WORKERS_MOST: usize = 1024;

/// Pack a directory or a tar into an EROFS image (drop-in for erofs-utils)
#[derive(Debug, clap::Args)]
pub struct MkfsErofs {
    /// The image to write: a file or a block device; - for standard output
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::AnyPath)]
    image: PathBuf,
    /// A directory, or with --tar a tar; without SOURCE, --tar reads standard input
    #[arg(value_name = "SOURCE", value_hint = clap::ValueHint::AnyPath)]
    sources: Vec<PathBuf>,
    #[command(flatten)]
    format: FormatOptions,
    #[command(flatten)]
    source: SourceOptions,
    #[command(flatten)]
    attributes: AttributeOptions,
    #[command(flatten)]
    times: TimeOptions,
    #[command(flatten)]
    running: RunOptions,
    #[command(flatten)]
    idle: IdleOptions,
    #[command(flatten)]
    refused: Refused,
}

impl Command for MkfsErofs {
    const NAME: &'static str = "mkfs.erofs";
    const COMPAT: Compat = Compat::ErofsUtils;
    const DIFFERENCES: &'static [&'static str] = &[
        "The image has the same bytes for any number of workers. Without -U, the UUID is derived from the content.",
        "A FILE named - is standard output. An existing file keeps its content until the image is complete; 1.9.3 \
         truncates it first, and leaves a damaged image after a failure.",
        "Clusters are filled from content of a fixed size, four times the size of -C. Each content is compressed once, on \
         all processors.",
        "Features of newer kernels are used only if an option asks for them.",
        "With -z, files of less than a block follow their inodes as they are. Ends of larger files that do not compress are in blocks, unless \
         -Efragments or -Eztailpacking is given.",
        "Blocks have 4096 bytes, or 512 with --tar=i. Metadata is not compressed, except directories with --zD.",
        "--zD=1 compresses directories and --zD=0 does not, as the help of 1.9.3 says; 1.9.3 itself does the opposite. --zD alone compresses them, there \
         and here. It needs -z here. A directory that takes no space after its inode stays there.",
        "A tar that is empty, or that is cut off, is an error; 1.9.3 exits with 0.",
        "With --tar=i, options about contents (-z, -C, --max-extent-bytes, --dsunit) have no effect. Sparse files of a tar are stored \
         with their holes. A compressed tar needs --ungzip=FILE, and FILE is then the device; 1.9.3 writes an image of a device that no file \
         has.",
        "The files of --blobdev and --ungzip get their names together with the image, when all of them are complete.",
        "--incremental writes a complete image, which replaces FILE at the end. The new image has the label and the UUID of the earlier one, \
         unless -L or -U is given; all other options, such as -z, are those of the call.",
        "An empty SOURCE_DATE_EPOCH is ignored.",
        "--exclude-path and --exclude-regex also apply to a tar. A PATH may begin or end with slashes, and a warning names a PATH that matches \
         nothing; 1.9.3 leaves out nothing in both cases.",
        "An empty --xattr-prefix is an error; 1.9.3 stores it, which saves nothing. All prefixes together take at most 2048 bytes.",
        "--ovlfs-strip also removes whiteouts of AUFS, and the whiteouts of a tar.",
        "A directory with whiteouts that has the attribute trusted.overlay.origin keeps its value; 1.9.3 stores the attribute twice.",
        "A symbolic link to a directory is followed if it is the source.",
        "--fs-config-file and --mount-point work in every build. Each entry needs a line, directories and the root too, and the path of the \
         root has no mount point: with --mount-point=/system, `/ 0 0 0755`, `system/bin 0 2000 0755` and `system/bin/tool 0 2000 04750 \
         capabilities=0x400`.",
        posix_regex::DIFFERENCE,
    ];

    fn details() -> String {
        format!(
            "{}\n\nSOURCE_DATE_EPOCH sets the time of the image, and becomes the time of newer entries. It overrides -T.",
            extended::help()
        )
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        self.refused.refuse(invocation)?;
        let excludes = self.source.excludes()?;
        let request = self.request(invocation, excludes.as_ref(), io)?;
        let quiet = self.running.quiet || self.running.level == 0;
        if !quiet && !io.streams.stdout_closed {
            io.remark("mkfs.erofs 1.9.3\n");
        }
        let statistics = format::statistics;
        let style = OutputStyle::SquashfsTools { quiet, info: false, bar: !quiet, percentage: false, statistics };
        run_pack(request, style, io)?;
        if let Some(excludes) = excludes {
            excludes.warn_of_idle(self.sources.first().map(PathBuf::as_path), io);
        }
        Ok(())
    }
}

impl MkfsErofs {
    /// Opens a file that is written with the image.
    fn open_beside(&self, path: &Path, io: &Io) -> Result<OutputFile, Failure> {
        let others = self.sources.iter().chain([&self.image]);
        let is_other = |other: &PathBuf| other == path || must_differ(other, path).is_err();
        if let Some(other) = others.into_iter().find(|other| is_other(other)) {
            return Err(Failure::failed(format!("{}: is also {}", path.escaped(), other.escaped())));
        }
        Ok(OutputFile::open(path, true, &io.temporaries)?)
    }

    fn request(
        &self,
        invocation: &Invocation,
        excludes: Option<&Arc<Excludes>>,
        io: &mut Io,
    ) -> Result<PackRequest, Failure> {
        let epoch = self.times.epoch(io)?;
        let features = self.format.features();
        let place = self.format.place(self.source.tar_mode()? == Some(TarMode::Index))?;
        let mut options = self.format.options(features, self.times.created(epoch, io), place)?;
        options.xattrs = self.attributes.xattr_tolerance >= 0;
        options.marks_whiteouts = self.source.tar.is_none();
        let old = self.open_old(&mut options)?;
        let mut image = ImageRequest::new(options);
        image.offset = self.format.offset;
        image.entries.changes = changes::changes(self, features, epoch, invocation, io)?;
        let filter = excludes.map(Excludes::filter);
        if old.is_none() {
            image.entries.changes.filter.clone_from(&filter);
        }
        image.hints = self.format.hints()?;
        if self.source.sort == Some(true) {
            image.entries.order = Some(packline_archives::ContentOrder::default());
        }
        image.device = self.format.blobdev.as_deref().map(|path| self.open_beside(path, io)).transpose()?;
        let copy = self.source.copy()?.map(|path| self.open_beside(path, io)).transpose()?;
        let source = self.open_source(filter, copy.as_ref(), old, io)?;
        image.copies.extend(copy);
        let mut request = PackRequest::new(source, target::image(&self.image, true, io)?, image);
        request.resources = io.host.resources_or(self.running.workers.map(|workers| workers.min(WORKERS_MOST)), None);
        request.temporaries = io.temporaries.clone();
        Ok(request)
    }
}
