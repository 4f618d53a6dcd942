//! `gensquashfs` packs a directory or a pack file into an image, with the options, file formats, defaults and exit codes of
//! squashfs-tools-ng 1.3.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use packline::Source;
use packline::requests::{AttributeOverrides, Changes, Hints, ImageRequest, List, PackRequest, Unsupported};
use packline_manifests::{FileContexts, SortFile, XattrFile};
use packline_tree::{DirectoryOptions, Meta, MountPoints};

use super::options::{self, ImageOptions, OutputOptions};
use super::statistics;
use crate::args::value::number;
use crate::args::{Command, Compat, Invocation};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::{OutputStyle, run_pack};

/// The threads that read files ahead.
const READERS: usize = 4;

/// Turn a directory or a list of files into a SquashFS image (drop-in for squashfs-tools-ng)
#[derive(Debug, clap::Args)]
pub struct GenSquashFs {
    /// The image to write
    image: PathBuf,
    #[command(flatten)]
    source: SourceOptions,
    #[command(flatten)]
    directory: ScanOptions,
    #[command(flatten)]
    options: ImageOptions,
    #[command(flatten)]
    output: OutputOptions,
}

#[derive(Debug, clap::Args)]
struct SourceOptions {
    /// Pack what this file lists, one entry per line; see below
    #[arg(short = 'F', long, value_name = "FILE")]
    pack_file: Option<PathBuf>,
    /// Pack the contents of this directory. With --pack-file, search the listed files in this directory instead of that of the pack file
    #[arg(short = 'D', long, value_name = "DIR")]
    pack_dir: Option<PathBuf>,
    /// Pack files in the order of this list, with the flags that it gives them; see below
    #[arg(short = 'S', long, value_name = "FILE")]
    sort_file: Option<PathBuf>,
    /// Set the extended attributes in this file, which has the format of getfattr --dump
    #[arg(short = 'A', long, value_name = "FILE")]
    xattr_file: Option<PathBuf>,
    /// Label everything by this SELinux file_contexts file
    #[arg(short, long, value_name = "FILE")]
    selinux: Option<PathBuf>,
    /// Set the owner of everything, whatever the pack file or the directory says
    #[arg(short = 'u', long, value_name = "UID", value_parser = number::<u32>(0..=u32::MAX.into()))]
    set_uid: Option<u32>,
    /// Set the group of everything, whatever the pack file or the directory says
    #[arg(short = 'g', long, value_name = "GID", value_parser = number::<u32>(0..=u32::MAX.into()))]
    set_gid: Option<u32>,
    /// Same as --set-uid 0 --set-gid 0
    #[arg(long)]
    all_root: bool,
}

/// How a directory is read, if there is no pack file.
#[derive(Debug, clap::Args)]
struct ScanOptions {
    /// Keep the times of the directory's entries instead of setting the default time
    #[arg(short, long)]
    keep_time: bool,
    /// Keep extended attributes
    #[arg(short = 'x', long)]
    keep_xattr: bool,
    /// Leave out mount points and everything below them
    #[arg(short, long)]
    one_file_system: bool,
    /// Store each name of a file as a separate file
    #[arg(short = 'H', long)]
    no_hard_links: bool,
}

const LINKS: &str = "Names of one file stay hard links, even with --set-uid and --set-gid (1.3.1 then splits them into files); \
                     --no-hard-links stores each name as a file.";

const FORMATS: &str = r#"Pack file: one entry per line; names with blanks are quoted, with \" and \\ inside quotes:
    file <path> <mode> <uid> <gid> [<location on the host>]
    dir <path> <mode> <uid> <gid>
    nod <path> <mode> <uid> <gid> <b|c> <major> <minor>
    slink <path> <mode> <uid> <gid> <target>
    link <path> <any> <any> <any> <target>
    pipe <path> <mode> <uid> <gid>
    sock <path> <mode> <uid> <gid>
    glob <path> <mode|*> <uid|*> <gid|*> [OPTIONS...] [--] [<directory on the host>]
Options of glob: -type b|c|d|f|l|p|s (repeatable), -name PATTERN, -path PATTERN, -xdev or -mount, -keeptime,
-nohardlinks, -nonrecursive.
    # First the tree of directories, then its contents
    glob /usr/lib 0755 0 0 -type d ./lib
    glob /usr/lib 0755 0 0 -type f -name "*.so.*" ./lib

Sort file: priority (lowest first; 0 for files that are not listed), flags in brackets, path in the image. Flags: glob,
glob_no_path, align, dont_fragment, dont_compress, dont_deduplicate, nosparse.
    -8000  [glob]                         bin/*
    -9000  [dont_compress,dont_fragment]  boot/vmlinuz

Xattr file: attributes of a path follow a line '# file: PATH'; values in quotes, hexadecimal (0x) or base64 (0s).
    # file: dev/rfkill
    security.selinux="system_u:object_r:wireless_device_t:s0""#;

impl Command for GenSquashFs {
    const NAME: &'static str = "gensquashfs";
    const COMPAT: Compat = Compat::ToolsNg;
    const DIFFERENCES: &'static [&'static str] = &[
        "The flag `align` of sort files works; the manual page describes it, but that release rejects it.",
        "Hard links of pack files are stored as hard links, not as symbolic links.",
        "Owners set with -u and -g apply to the root too, as the manual page says.",
        "An extra word on a line of a pack file is an error.",
        "Hard links stay hard links even if owners are forced.",
    ];

    fn details() -> String {
        format!("{}\n{LINKS}\n\n{FORMATS}", options::details())
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let (request, overrides) = self.request(invocation, io)?;
        run_pack(request, OutputStyle::ToolsNg { quiet: self.output.quiet, statistics }, io)?;
        let overrides = overrides.lock().unwrap_or_else(PoisonError::into_inner);
        overrides.unused().iter().for_each(|what| io.eprintln(&format!("WARNING: {what}")));
        Ok(())
    }
}

/// The source, and the settings that depend on its options.
struct Input {
    source: Source,
    hints: Option<Hints>,
    /// The time of everything, unless the source gives the time of each entry.
    mtime: Option<i64>,
    /// The attributes of the root, unless those of the source are kept.
    root: Option<Meta>,
}

impl GenSquashFs {
    /// Returns the requested pack, and the attributes that it sets on entries.
    fn request(
        &self,
        invocation: &Invocation,
        io: &mut Io,
    ) -> Result<(PackRequest, Arc<Mutex<AttributeOverrides>>), Failure> {
        let (uid, gid) = self.source.owners(invocation);
        let mut defaults = self.options.defaults(io)?;
        let mut image = ImageRequest::new(self.options.image(defaults)?);
        defaults.uid = uid.unwrap_or(defaults.uid);
        defaults.gid = gid.unwrap_or(defaults.gid);
        self.source.refuse_output(&self.image)?;
        let overrides = self.source.overrides()?;
        let input = self.input(defaults, invocation, io)?;
        let overrides = Arc::new(Mutex::new(AttributeOverrides { root: input.root, ..overrides }));
        image.entries.changes = Changes {
            uid,
            gid,
            mtime: input.mtime,
            overrides: Some(overrides.clone()),
            unsupported: Unsupported::Refuse,
            ..Changes::default()
        };
        image.entries.defaults = defaults;
        image.hints = input.hints;
        let mut request = self.output.request(input.source, &self.image, image, io)?;
        request.resources = self.options.resources(&io.host);
        Ok((request, overrides))
    }

    fn input(&self, defaults: Meta, invocation: &Invocation, io: &mut Io) -> Result<Input, Failure> {
        let sort = parse(self.source.sort_file.as_deref(), SortFile::parse)?;
        match (&self.source.pack_file, &self.source.pack_dir) {
            (Some(file), directory) => {
                warn_of_ignored(invocation, io);
                let base = directory.as_deref().or(file.parent()).unwrap_or(Path::new(""));
                let list = List::of_pack_file(file, base, defaults).map_err(Failure::failed)?;
                list.refuse_output(&self.image)?;
                let (source, hints) = sorted(list, sort, io);
                Ok(Input { source, hints, mtime: None, root: None })
            }
            (None, Some(directory)) => self.scanned(directory, defaults, sort, io),
            (None, None) => Err(Failure::usage("no input: --pack-file or --pack-dir is needed")),
        }
    }

    /// Returns everything in a directory. Without a sort file the directory is packed while it is read, so no list is needed.
    fn scanned(&self, path: &Path, defaults: Meta, sort: Option<SortFile>, io: &mut Io) -> Result<Input, Failure> {
        let options = self.directory.options();
        let (source, hints) = match sort {
            None => (Source::Directory { path: path.to_path_buf(), options }, None),
            Some(_) => {
                let list = List::of_directory(path, options, &self.image);
                sorted(list.map_err(Failure::failed)?, sort, io)
            }
        };
        let mtime = (!self.directory.keep_time).then_some(defaults.mtime.seconds());
        Ok(Input { source, hints, mtime, root: Some(defaults) })
    }
}

impl ScanOptions {
    fn options(&self) -> DirectoryOptions {
        let mut options = DirectoryOptions::new(READERS);
        options.xattrs = self.keep_xattr;
        options.hard_links = !self.no_hard_links;
        options.mount_points = if self.one_file_system { MountPoints::Skip } else { MountPoints::Enter };
        options
    }
}

impl SourceOptions {
    /// Returns the owner and the group of everything: the last of `--all-root`, `--set-uid` and `--set-gid` counts.
    fn owners(&self, invocation: &Invocation) -> (Option<u32>, Option<u32>) {
        let owner = |long: &str, id: Option<u32>| {
            let root_is_last = invocation.position("all-root") > invocation.position(long);
            let root = self.all_root.then_some(0);
            if root_is_last { root.or(id) } else { id.or(root) }
        };
        (owner("set-uid", self.set_uid), owner("set-gid", self.set_gid))
    }

    /// Rejects an output that is one of the inputs.
    fn refuse_output(&self, output: &Path) -> Result<(), Failure> {
        let inputs = [&self.pack_file, &self.sort_file, &self.xattr_file, &self.selinux];
        Ok(inputs.into_iter().flatten().try_for_each(|input| packline_runtime::must_differ(input, output))?)
    }

    fn overrides(&self) -> Result<AttributeOverrides, Failure> {
        let contexts = self.selinux.as_deref().map(FileContexts::open).transpose();
        let xattrs = parse(self.xattr_file.as_deref(), XattrFile::parse)?;
        Ok(AttributeOverrides { root: None, xattrs, contexts: contexts.map_err(Failure::failed)? })
    }
}

fn warn_of_ignored(invocation: &Invocation, io: &mut Io) {
    let ignored = ["keep-time", "keep-xattr", "one-file-system", "no-hard-links"];
    for long in ignored.into_iter().filter(|long| invocation.has(long)) {
        io.eprintln(&format!("WARNING: --{long} changes nothing with --pack-file"));
    }
}

fn sorted(mut list: List, sort: Option<SortFile>, io: &mut Io) -> (Source, Option<Hints>) {
    let warnings = sort.map_or_else(Vec::new, |sort| list.sort(&sort));
    warnings.iter().for_each(|what| io.eprintln(&format!("WARNING: {what}")));
    list.into_source(READERS)
}

/// Parses a file, if there is one. The parser takes its name and its text.
fn parse<T, E: ToString>(
    path: Option<&Path>,
    parser: impl FnOnce(&str, &[u8]) -> Result<T, E>,
) -> Result<Option<T>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let name = path.escaped();
    let text = fs::read(path).map_err(|cause| Failure::failed(format!("{name}: cannot read: {cause}")))?;
    parser(&name, &text).map(Some).map_err(Failure::failed)
}
