//! `packline pack` to a .pln file: the image or tar is the content of the .pln file.

use std::path::PathBuf;

use packline::requests::{EnclosingPln, FileKind};

use super::Pack;
use crate::args::keys::RECIPIENTS;
use crate::args::{Invocation, wrong};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

impl Pack {
    /// Whether the image or tar becomes the content of a .pln file.
    pub(super) fn is_in_pln(&self) -> bool {
        FileKind::of_path(self.image()) == Some(FileKind::Pln)
    }

    /// Returns the name of the output without the ending of the .pln file that has it as its content.
    pub(super) fn inner_name(&self) -> PathBuf {
        if self.is_in_pln() { self.image().with_extension("") } else { self.image().to_path_buf() }
    }

    /// Returns how the .pln file is written that has the output as its content, if the output's name asks for one.
    pub(super) fn enclosing_pln(&self, invocation: &Invocation, io: &Io) -> Result<Option<EnclosingPln>, Failure> {
        if !self.is_in_pln() {
            let given = RECIPIENTS.iter().find(|long| invocation.has(long));
            return match given {
                Some(long) => Err(wrong(long, "works only if IMAGE is a .pln file, such as x.sqfs.pln")),
                None => Ok(None),
            };
        }
        if self.verity.is_given() {
            return Err(wrong("verity", "cannot be used for an image in a .pln file, which the kernel does not read"));
        }
        Ok(Some(EnclosingPln::new(self.recipients.recipients(&self.keys, false, io)?)?))
    }

    /// Whether the output is encrypted. A cache would store its blocks without encryption.
    pub(super) fn encrypts(&self, invocation: &Invocation) -> Result<bool, Failure> {
        let encrypts =
            self.is_in_pln() && RECIPIENTS.iter().chain(&["passphrase-file"]).any(|long| invocation.has(long));
        if encrypts && invocation.has("cache") {
            return Err(wrong("cache", "would store the blocks of the image without encryption"));
        }
        Ok(encrypts)
    }
}
