//! The files next to an image, under the names that systemd expects.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use packline_runtime::{Observer, OutputFile, Revocable, Sink as _, TaskError, Temporaries, hex, open_regular};
use packline_verity::{Leaves, Tree, Uuid, write_tree};

pub(crate) use packline_runtime::beside_image as beside;

use super::{VerityOptions, VerityPlace, fault};
use crate::error::Error;

/// Whether all files exist that belong to a tree after an image.
pub(crate) fn are_there(image: &Path, options: &VerityOptions) -> bool {
    let is_there = |ending| beside(image, ending).exists();
    is_there(".roothash") && (options.signer.is_none() || is_there(".roothash.p7s"))
}

/// The signature of the root hash that a tree with these options replaces, if there is one that is not replaced too.
pub(crate) fn unreplaced_signature(image: &Path, options: &VerityOptions) -> Option<Signed> {
    let signature = Some(beside(image, ".roothash.p7s")).filter(|path| options.signer.is_none() && path.is_file())?;
    // A root hash in hexadecimal is shorter.
    let hash = open_regular(&beside(image, ".roothash")).and_then(|file| {
        let mut bytes = Vec::new();
        file.take(1024).read_to_end(&mut bytes).map(|_| bytes)
    });
    Some(Signed { signature, hash: hash.ok() })
}

/// A root hash and its signature, which stays.
pub(crate) struct Signed {
    pub(crate) signature: PathBuf,
    /// The text of the root hash, if there is a file of it.
    pub(crate) hash: Option<Vec<u8>>,
}

/// Files next to an image that do not have their names yet.
pub(crate) struct Sidecars {
    tree: Option<Sidecar>,
    root_hash: Sidecar,
    signature: Option<Sidecar>,
}

struct Sidecar {
    path: PathBuf,
    output: OutputFile,
}

impl Sidecar {
    fn open(image: &Path, ending: &str, force: bool, temporaries: &Temporaries) -> Result<Sidecar, Error> {
        let path = beside(image, ending);
        let output = OutputFile::open(&path, force, temporaries)?;
        if output.begins_empty() {
            Ok(Sidecar { path, output })
        } else {
            Err(super::refused(&path, "is a block device", "a file"))
        }
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        let mut sink = self.output.sink()?;
        sink.append(bytes).and_then(|()| sink.flush()).map_err(|cause| self.failed(cause))
    }

    fn failed(&self, cause: std::io::Error) -> Error {
        Error::Output { path: self.path.clone(), action: "cannot write", cause }
    }
}

impl Sidecars {
    /// Opens all files, so that a file that cannot be written is an error before any work.
    pub(crate) fn open(
        image: &Path,
        options: &VerityOptions,
        force: bool,
        temporaries: &Temporaries,
    ) -> Result<Sidecars, Error> {
        let open = |ending| Sidecar::open(image, ending, force, temporaries);
        let tree = (options.place == VerityPlace::Files).then(|| open(".verity")).transpose()?;
        let root_hash = open(".roothash")?;
        let signature = options.signer.is_some().then(|| open(".roothash.p7s")).transpose()?;
        Ok(Sidecars { tree, root_hash, signature })
    }

    fn all(&self) -> impl Iterator<Item = &Sidecar> {
        self.tree.iter().chain([&self.root_hash]).chain(&self.signature)
    }

    /// The names that they will have, and those that they have until then.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Path> {
        self.all().flat_map(|sidecar| sidecar.output.names())
    }

    /// Writes the tree to its file.
    pub(crate) fn write_tree(&mut self, leaves: &mut Leaves, uuid: Option<Uuid>) -> Result<Tree, Error> {
        let internal = || fault(&self.root_hash.path, packline_verity::Error::internal("no file for a tree".into()));
        let sidecar = self.tree.as_ref().ok_or_else(internal)?;
        let mut sink = sidecar.output.sink()?;
        let tree = write_tree(leaves, uuid, &mut sink, 0).map_err(|cause| fault(&sidecar.path, cause))?;
        sink.flush().map_err(|cause| sidecar.failed(cause))?;
        Ok(tree)
    }

    /// Writes the root hash, without a line feed, so that the file is what is signed, and its signature.
    pub(crate) fn write_root_hash(&self, tree: &Tree, options: &VerityOptions) -> Result<(), Error> {
        self.root_hash.write(hex(&tree.root_hash).as_bytes())?;
        if let (Some(sidecar), Some(signer)) = (&self.signature, &options.signer) {
            let signature = signer.sign(&tree.root_hash).map_err(|cause| fault(&sidecar.path, cause))?;
            sidecar.write(&signature)?;
        }
        Ok(())
    }

    /// Gives the files their names. If one cannot have its name, all replaced files are restored.
    pub(crate) fn finish(self, observer: &mut dyn Observer) -> Result<RenamedFiles, Error> {
        // Renames alone are between the old set and the new one.
        self.all().try_for_each(|sidecar| sidecar.output.sync(observer))?;
        let mut named = RenamedFiles(Vec::new());
        for Sidecar { path, output } in [self.tree, Some(self.root_hash), self.signature].into_iter().flatten() {
            named.0.push((path, output.finish_revocably(observer)?));
        }
        Ok(named)
    }
}

/// Files that have their names. If this is dropped because the image failed, the replaced files are restored.
pub(crate) struct RenamedFiles(Vec<(PathBuf, Revocable)>);

impl RenamedFiles {
    /// Keeps the renamed files, and returns their names.
    pub(crate) fn keep(self) -> Vec<PathBuf> {
        let kept = self.0.into_iter().map(|(path, file)| {
            file.keep();
            path
        });
        kept.collect()
    }
}

#[cfg(test)]
mod tests;
