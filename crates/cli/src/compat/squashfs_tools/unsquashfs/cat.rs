//! `-cat` and sqfscat print contents of files to standard output.

use std::ffi::OsString;

use packline::Resources;
use packline::requests::SquashFsImage;
use packline_squashfs::read::NodeType;

use super::resolve::Resolver;
use super::{Errors, pathname};
use crate::compat::squashfs_tools::name_pattern::Language;
use crate::host::streams::STDOUT;
use crate::ui::escape::escaped;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Prints the regular files that the pathnames lead to, through symbolic links. Reports other entries.
///
/// # Errors
/// Exit status 2 if a fault was reported.
pub fn cat(
    image: &SquashFsImage,
    language: Language,
    files: &[OsString],
    (resources, errors): (&Resources, &Errors),
    io: &mut Io,
) -> Result<(), Failure> {
    let resolver = Resolver { image, language, follow_last: true };
    let mut paths = Vec::new();
    let mut failed = false;
    for file in files {
        let resolved = resolver.resolve(pathname(file)?)?;
        for fault in &resolved.faults {
            io.eprintln(&format!("cat: {fault}"));
            failed = true;
        }
        for entry in resolved.entries {
            let what = match entry.kind {
                NodeType::File => {
                    paths.push(entry.path);
                    continue;
                }
                NodeType::Directory => "is a directory",
                _ => "is not a regular file",
            };
            io.eprintln(&format!("cat: /{} {what}", escaped(&entry.path)));
            failed = true;
        }
    }
    io.refuse_input(&image.display_path)?;
    packline_image::cat(image, &paths, resources, &mut io.stdout, STDOUT)?;
    errors.ended(failed)
}
