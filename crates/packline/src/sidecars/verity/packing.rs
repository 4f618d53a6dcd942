//! The tree of an image that is being packed. The blocks are hashed while they are written.

use std::fs::File;
use std::path::Path;

use packline_image::Output;
use packline_runtime::{Observer, OutputFile, Resources, TaskError, Temporaries, WriteBehind};
use packline_verity::{BLOCK, HashingSink, Leaves, write_tree};

use super::sidecars::{RenamedFiles, Sidecars};
use super::{VerityOptions, VerityPlace, VeritySummary, fault, scratch_file};
use crate::error::Error;
use crate::pack::image::ImageJob;
use crate::pack::summary::WrittenImage;
use crate::sources::observed::ObservedSource;

/// A tree that is being built, and the files next to its image.
pub(crate) struct PackedTree {
    options: VerityOptions,
    sidecars: Sidecars,
    spool: File,
    made: Option<VeritySummary>,
}

impl PackedTree {
    /// Opens the files next to the image. `offset` and `pad` are the offset and the padding of the image.
    pub(crate) fn open(
        options: VerityOptions,
        target: &Output,
        (offset, pad): (u64, u32),
        resources: &Resources,
        temporaries: &Temporaries,
    ) -> Result<PackedTree, Error> {
        let request = |what: &str, expected: &str| Error::Request { what: what.into(), expected: expected.into() };
        let Output::File { path, force } = target else {
            return Err(request("a hash tree for an image that is written to a stream", "a file"));
        };
        if offset != 0 {
            return Err(request(
                "a hash tree for an image that does not begin at byte 0 of its file",
                "an offset of 0",
            ));
        }
        if !(pad as usize).is_multiple_of(BLOCK) {
            let expected = "padding to a multiple of 4096 bytes";
            return Err(request("a hash tree for an image that is not padded to blocks of 4096 bytes", expected));
        }
        let sidecars = Sidecars::open(path, &options, *force, temporaries)?;
        Ok(PackedTree { options, sidecars, spool: scratch_file(path, resources)?, made: None })
    }

    /// Rejects an output that does not end where the image ends.
    pub(crate) fn check(&self, output: &OutputFile, path: &Path) -> Result<(), Error> {
        if output.begins_empty() {
            Ok(())
        } else {
            Err(super::refused(path, "a block device cannot have files next to it", "a file, for a hash tree"))
        }
    }

    /// The names of files that are not part of the source.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Path> {
        self.sidecars.names()
    }

    /// Gives the files next to the image their names. The files lose their names again unless [`NamedTree::keep`] is called.
    pub(crate) fn finish(self, observer: &mut dyn Observer) -> Result<NamedTree, Error> {
        let internal = packline_verity::Error::internal("the image was not completed".into());
        let made = self.made.ok_or_else(|| fault(Path::new(""), internal))?;
        Ok(NamedTree { named: self.sidecars.finish(observer)?, made })
    }

    /// Writes an image, whose blocks are hashed on their way to `sink`, and then the tree. Everything is written when this returns, but may
    /// not be flushed.
    ///
    /// # Errors
    /// Returns the errors of [`ImageJob::write`] and of the files next to the image.
    pub(crate) fn write(
        &mut self,
        mut job: ImageJob,
        sink: &mut WriteBehind,
        source: &mut ObservedSource<'_>,
    ) -> Result<WrittenImage, Error> {
        let path = job.display_path.clone();
        // The hashes are computed by the workers that compress.
        let pool = job.resources.pool(job.plan.workers).map_err(|fault| Error::workers(&path, fault))?;
        job.resources.engine.pool = Some(pool);
        let config = job.resources.config(job.plan.workers, 0);
        let spool = self.spool.try_clone().map_err(|cause| super::scratch_fault(&path, cause))?;
        let mut hashing = HashingSink::new(&mut *sink, self.options.salt.clone(), spool, config);
        let summary = job.write(&mut hashing, source)?;
        let leaves = hashing.finish().map_err(|cause| fault(&path, cause))?;
        self.write_tree(leaves, sink, &path)?;
        Ok(summary)
    }

    fn write_tree(&mut self, mut leaves: Leaves, image: &mut WriteBehind, path: &Path) -> Result<(), Error> {
        let VerityOptions { uuid, place, .. } = self.options;
        let tree = match place {
            VerityPlace::Files => self.sidecars.write_tree(&mut leaves, uuid)?,
            VerityPlace::Append => {
                let at = leaves.count() * BLOCK as u64;
                write_tree(&mut leaves, uuid, image, at).map_err(|cause| fault(path, cause))?
            }
        };
        self.sidecars.write_root_hash(&tree, &self.options)?;
        self.made = Some(VeritySummary::new(tree, &leaves, place, Vec::new()));
        Ok(())
    }
}

/// Files next to an image that already have their names, while the image has no name yet.
pub(crate) struct NamedTree {
    named: RenamedFiles,
    made: VeritySummary,
}

impl NamedTree {
    /// The image has its name too.
    pub(crate) fn keep(self) -> VeritySummary {
        VeritySummary { files: self.named.keep(), ..self.made }
    }
}
