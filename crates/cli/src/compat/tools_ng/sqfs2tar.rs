//! `sqfs2tar` writes an image as a tar to standard output, with the options and exit codes of squashfs-tools-ng 1.3.

use std::ffi::OsString;
use std::path::PathBuf;

use packline::Resources;
use packline_codec::{StreamFormat, StreamSpec};
use packline_image::{Selection, TarOutRequest, TarRoot, TarScope, TarSummary, metadata_cache, tar_out};
use packline_tree::path::canonical;

use crate::args::image::place;
use crate::args::run_options::Memory;
use crate::args::value::{number, one_of};
use crate::args::{Command, Compat, Invocation, wrong};
use crate::host::Host;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::with_observer;

/// Turn a SquashFS image into a tar on standard output (drop-in for squashfs-tools-ng)
#[derive(Debug, clap::Args)]
pub struct Sqfs2Tar {
    /// The image; - for standard input
    image: PathBuf,
    /// Compress the tar; by default it is not compressed
    #[arg(short, long, value_name = "NAME")]
    #[arg(value_parser = one_of(StreamFormat::ALL.map(|format| (format.name(), format))))]
    compressor: Option<StreamFormat>,
    /// Write only the contents of this directory of the image, which becomes the root of the tar. If repeated, the names of the directories
    /// are kept
    #[arg(short = 'd', long, value_name = "DIR")]
    subdir: Vec<OsString>,
    /// With a single --subdir, keep the name of the directory
    #[arg(short, long)]
    keep_as_dir: bool,
    /// Put everything into this directory, which gets the attributes of the image's root; '.' puts './' before all names. Without it, the
    /// attributes of the root are lost
    #[arg(short, long, value_name = "DIR")]
    root_becomes: Option<OsString>,
    /// Leave out extended attributes
    #[arg(short = 'X', long)]
    no_xattr: bool,
    /// Write each name of a file with its content, instead of hard links
    #[arg(short = 'L', long)]
    no_hard_links: bool,
    /// Fail on entries that a tar cannot hold (sockets) instead of leaving them out
    #[arg(short = 's', long)]
    no_skip: bool,
    /// Write holes as zeros, for readers that do not know GNU sparse files
    #[arg(long)]
    no_sparse: bool,
    /// Report what cannot be read, write zeros for damaged content, and exit with status 2
    #[arg(long = "continue")]
    continue_on_error: bool,
    /// Run N threads that decompress and compress; 0 works on the main thread [default: number of CPUs]
    #[arg(long, value_name = "COUNT", value_parser = number::<usize>(0..=1024))]
    num_jobs: Option<usize>,
    #[command(flatten)]
    memory: Memory,
    /// Use the serial reference: no threads, no queues, the same bytes
    #[arg(long, hide_short_help = true)]
    serial: bool,
}

impl Command for Sqfs2Tar {
    const NAME: &'static str = "sqfs2tar";
    const COMPAT: Compat = Compat::ToolsNg;
    const DIFFERENCES: &'static [&'static str] = &[
        "An image named - is read from standard input. An image in a pipe is first stored in TMPDIR.",
        "Holes are written as holes (GNU sparse format 1.0) unless --no-sparse is given.",
        "Data that does not fit into ustar goes into PAX records; that release writes GNU entries.",
        "User and group names are left empty.",
        "It uses several threads.",
        "A tar is not written to a terminal.",
        "An empty --subdir (`/`, `.`) means everything.",
    ];

    fn details() -> String {
        let names = StreamFormat::ALL.map(StreamFormat::name).join(", ");
        format!("Compressors: {names}, at levels 6, 6, 3 and 9. The bytes are the same for any number of threads.")
    }

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let request = self.request(io)?;
        let made: TarSummary = with_observer(io, false, |observer| tar_out(request, observer))?;
        match made.damaged {
            0 => Ok(()),
            _ => Err(Failure::AlreadyReported(2)),
        }
    }
}

impl Sqfs2Tar {
    fn request(self, io: &mut Io) -> Result<TarOutRequest, Failure> {
        let scope = self.scope()?;
        let root = self.root()?;
        let resources = self.resources(&io.host);
        if io.out_terminal {
            return Err(Failure::failed("standard output is a terminal; redirect it to a file or a pipe"));
        }
        io.refuse_input(&self.image)?;
        let image = place(&self.image, Some(0), io)?;
        let image = image.open_squashfs(metadata_cache(resources.memory))?;
        let mut request = TarOutRequest::new(image.into(), io.stdout_target());
        request.compression = self.compressor.map(StreamSpec::new);
        request.scope = scope;
        request.root = root;
        request.xattrs = !self.no_xattr;
        request.hard_links = !self.no_hard_links;
        request.sparse = !self.no_sparse;
        request.continue_on_error = self.continue_on_error;
        request.refuse_missing = false;
        request.refuse_unstorable = self.no_skip;
        request.resources = resources;
        request.temporaries = io.temporaries.clone();
        Ok(request)
    }

    fn scope(&self) -> Result<TarScope, Failure> {
        let directory = |raw: &OsString| {
            canonical(raw.as_encoded_bytes()).map_err(|fault| wrong("subdir", format!("'{}': {fault}", raw.escaped())))
        };
        let directories = self.subdir.iter().map(directory).collect::<Result<Vec<_>, _>>()?;
        let keep = self.keep_as_dir || directories.len() > 1;
        Ok(if directories.is_empty() {
            TarScope::Selected(Selection::all())
        } else {
            TarScope::Below { directories, keep }
        })
    }

    fn root(&self) -> Result<TarRoot, Failure> {
        let Some(raw) = &self.root_becomes else { return Ok(TarRoot::Nothing) };
        let wrong = |what: &str| wrong("root-becomes", format!("'{}': {what}", raw.escaped()));
        match raw.as_encoded_bytes() {
            b"." | b"./" => Ok(TarRoot::Becomes(b".".to_vec())),
            bytes => match canonical(bytes) {
                Ok(name) if !name.is_empty() => Ok(TarRoot::Becomes(name)),
                Ok(_) => Err(wrong("the name is empty (expected a path, or .)")),
                Err(fault) => Err(wrong(&fault.to_string())),
            },
        }
    }

    fn resources(&self, host: &Host) -> Resources {
        self.memory.resources(if self.serial { Some(0) } else { self.num_jobs }, host)
    }
}
