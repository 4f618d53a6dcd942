//! `packline pack --manifest`: entries that a file defines, in the language of mksquashfs's pseudo files.

use std::path::PathBuf;

use packline_tree::PseudoFile;

use crate::host::definitions::DefinitionHost;
use crate::host::streams::STDIN;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Entries")]
pub struct Manifest {
    /// Add the entries that FILE defines, one a line, as mksquashfs -pf; those of standard input if it is -. Without SOURCE they are
    /// all that is packed
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    manifest: Option<PathBuf>,
    /// Run the shell commands of a manifest: what one prints is the content of its file
    #[arg(long, requires = "manifest")]
    run_commands: bool,
}

impl Manifest {
    /// Whether it is read from standard input.
    pub fn is_stdin(&self) -> bool {
        self.manifest.as_ref().is_some_and(|path| path.as_os_str() == "-")
    }

    /// The definitions, if there are any; `time` is that of entries without one.
    ///
    /// # Errors
    /// [`Failure::Failed`] if they cannot be read, or one is malformed.
    pub fn read(&self, time: i64, io: &mut Io) -> Result<Option<PseudoFile>, Failure> {
        let Some(path) = &self.manifest else { return Ok(None) };
        let mut pseudo = PseudoFile::new(DefinitionHost::new(&io.host, self.run_commands), time);
        let read = match self.is_stdin() {
            true => pseudo.read_stream(STDIN, io.take_stdin(None)?),
            false => pseudo.read_file(path),
        };
        read.map_err(Failure::failed)?;
        Ok(Some(pseudo))
    }
}
