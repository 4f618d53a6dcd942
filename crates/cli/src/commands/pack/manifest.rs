//! `packline pack --manifest` reads entries in the language of mksquashfs's pseudo files, or a complete tree as mtree(5).

use std::fs::File;
use std::io::{Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use packline_manifests::{Mtree, PseudoFile};
use packline_runtime::escape::Escape;

use crate::host::commands::DefinitionHost;
use crate::host::streams::STDIN;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The bytes at the start that decide the format; comments before the first entry are shorter.
const HEAD: u64 = 64 << 10;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Entries")]
pub struct Manifest {
    /// Add the entries that FILE defines in the format of mksquashfs -pf. Without SOURCE, FILE may also be an mtree(5) manifest
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    manifest: Option<PathBuf>,
    /// Run the shell commands of a manifest; the output of a command becomes the content of its file
    #[arg(long)]
    run_commands: bool,
}

pub enum Definitions {
    Pseudo(PseudoFile),
    Mtree(Mtree),
}

impl Manifest {
    pub fn is_given(&self) -> bool {
        self.manifest.is_some()
    }

    /// Returns whether the manifest is read from standard input.
    pub fn is_stdin(&self) -> bool {
        self.manifest.as_ref().is_some_and(|path| path.as_os_str() == "-")
    }

    /// Reads the definitions, if there are any; `time` is the time of entries without one.
    ///
    /// # Errors
    /// [`Failure::Failed`] if the file cannot be read, or a definition is malformed.
    pub fn read(&self, time: i64, io: &mut Io) -> Result<Option<Definitions>, Failure> {
        let Some(path) = &self.manifest else { return Ok(None) };
        if self.is_stdin() {
            let stream = io.take_stdin(None)?;
            return self.read_stream(time, STDIN, stream, io).map(Some);
        }
        let refused = |cause| Failure::failed(format!("{}: cannot read: {cause}", path.escaped()));
        let mut file = File::open(path).map_err(refused)?;
        if file.metadata().map_err(refused)?.is_file() && !Mtree::is_manifest(&head(&mut file).map_err(refused)?) {
            let mut pseudo = self.pseudo(time, io);
            pseudo.read_file(path).map_err(Failure::failed)?;
            return Ok(Some(Definitions::Pseudo(pseudo)));
        }
        file.rewind().or_else(|cause| if is_pipe(&cause) { Ok(()) } else { Err(refused(cause)) })?;
        self.read_stream(time, &path.escaped(), file, io).map(Some)
    }

    fn pseudo(&self, time: i64, io: &Io) -> PseudoFile {
        PseudoFile::new(DefinitionHost::new(&io.host, self.run_commands), time)
    }

    fn read_stream(
        &self,
        time: i64,
        name: &str,
        mut stream: impl Read + Send + 'static,
        io: &Io,
    ) -> Result<Definitions, Failure> {
        let head = head(&mut stream).map_err(|cause| Failure::failed(format!("{name}: cannot read: {cause}")))?;
        let is_mtree = Mtree::is_manifest(&head);
        let whole = Cursor::new(head).chain(stream);
        if is_mtree {
            let mut host = DefinitionHost::new(&io.host, false);
            return Mtree::read(name, Path::new(""), whole, &mut host).map(Definitions::Mtree).map_err(Failure::failed);
        }
        let mut pseudo = self.pseudo(time, io);
        pseudo.read_stream(name, whole).map_err(Failure::failed)?;
        Ok(Definitions::Pseudo(pseudo))
    }
}

fn head(input: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    input.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

fn is_pipe(cause: &std::io::Error) -> bool {
    cause.kind() == std::io::ErrorKind::NotSeekable
}
