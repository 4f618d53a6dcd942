//! `-p`, `-pf` and `-pd` define entries, which are added to the sources or form an image of their own.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use packline_manifests::PseudoFile;

use crate::args::Invocation;
use crate::host::commands::DefinitionHost;
use crate::host::streams::STDIN;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Pseudo files")]
pub struct Pseudo {
    /// Add or change the entry that a definition describes: 'dev/null c 666 root root 1 3'
    #[arg(long = "p", value_name = "DEFINITION")]
    p: Vec<OsString>,
    /// Add or change the entries that FILE defines, one per line; - reads standard input. Commands in it are run
    #[arg(long = "pf", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pf: Vec<PathBuf>,
    /// Create the root and parent directories that no definition names, with these attributes: 'd MODE UID GID' or 'D TIME MODE UID GID'
    #[arg(long = "pd", alias = "pseudo-dir", value_name = "ATTRIBUTES")]
    pd: Option<OsString>,
    /// Apply -all-root, -force-uid, -force-gid, -force-file-mode and -force-dir-mode before definitions instead of after them
    #[arg(long)]
    pseudo_override: bool,
}

impl Pseudo {
    /// Returns whether definitions keep their own owners and modes.
    pub fn overrides(&self) -> bool {
        self.pseudo_override
    }

    pub fn reads_stdin(&self) -> bool {
        self.pf.iter().any(|path| is_stdin(path))
    }

    /// Returns the definitions in the order of the command line, if there are any.
    ///
    /// # Errors
    /// [`Failure::Failed`] if a file cannot be read, or a definition is malformed.
    pub fn read(&self, invocation: &Invocation, io: &mut Io) -> Result<Option<PseudoFile>, Failure> {
        if self.p.is_empty() && self.pf.is_empty() && self.pd.is_none() {
            return Ok(None);
        }
        let mut pseudo = PseudoFile::new(DefinitionHost::new(&io.host, true), io.host.now.into());
        if let Some(text) = &self.pd {
            pseudo.create_parents("-pd", text.as_bytes()).map_err(Failure::failed)?;
        }
        let mut sources: Vec<(usize, DefinitionSource<'_>)> =
            invocation.positions("p").zip(self.p.iter().map(DefinitionSource::Text)).collect();
        sources.extend(invocation.positions("pf").zip(self.pf.iter().map(|path| DefinitionSource::File(path))));
        sources.sort_by_key(|(position, _)| *position);
        for (_, source) in sources {
            let added = match source {
                DefinitionSource::Text(text) => pseudo.define("-p", text.as_bytes()),
                DefinitionSource::File(path) if is_stdin(path) => pseudo.read_stream(STDIN, io.take_stdin(None)?),
                DefinitionSource::File(path) => pseudo.read_file(path),
            };
            added.map_err(Failure::failed)?;
        }
        Ok(Some(pseudo))
    }
}

enum DefinitionSource<'a> {
    Text(&'a OsString),
    File(&'a Path),
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}
