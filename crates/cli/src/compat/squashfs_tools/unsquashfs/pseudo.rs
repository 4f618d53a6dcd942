//! `-pf` writes the image as a pseudo file.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use packline::Resources;
use packline_image::{AttributeRules, EmptyXattrs, OpenedImage, PseudoOutRequest, Selection, pseudo_out};
use packline_runtime::{OutputFile, Sink, WriteBehind};

use super::restored::Restored;
use crate::host::streams::STDOUT;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Writes the selected entries, and warns about extended attributes that a pseudo file cannot define. See [`write_to`].
pub fn write(
    image: &OpenedImage,
    selection: &Selection,
    (restored, xattrs): (&Restored, bool),
    resources: &Resources,
    file: &OsStr,
    io: &mut Io,
) -> Result<(), Failure> {
    let keeps_xattr = |name: &[u8]| xattrs && restored.keeps_xattr(name);
    let request = PseudoOutRequest { selection, keeps_xattr: &keeps_xattr, resources };
    let EmptyXattrs { count, first_path, first_name } = write_to(image, &request, file, io)?;
    if count > 0 {
        let path = first_path.escaped();
        let name = first_name.escaped();
        let what = "mksquashfs reads no empty extended attribute from a pseudo file";
        io.eprintln(&format!("unsquashfs: /{path}: {what}: {name} is left out ({count} in total)"));
    }
    Ok(())
}

/// Writes the selected entries to a file, or to standard output if `path` is `-`. An existing file is replaced; a pipe or a character
/// device is written to.
///
/// # Errors
/// The image cannot be read, or the file cannot be written; the file is then removed.
fn write_to(
    image: &OpenedImage,
    request: &PseudoOutRequest<'_>,
    file: &OsStr,
    io: &mut Io,
) -> Result<EmptyXattrs, Failure> {
    if file == "-" {
        io.refuse_input(&image.display_path)?;
        return Ok(pseudo_out(image, request, &mut io.stdout, STDOUT)?);
    }
    let path = Path::new(file);
    if fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo() || found.file_type().is_char_device()) {
        let refused = |cause| Failure::failed(format!("{}: cannot write: {cause}", path.escaped()));
        let mut stream = BufWriter::new(File::options().write(true).open(path).map_err(refused)?);
        return Ok(pseudo_out(image, request, &mut stream, &path.escaped())?);
    }
    packline_runtime::must_differ(&image.display_path, path)?;
    let output = OutputFile::open(path, true, &io.temporaries)?;
    let empty = pseudo_out(image, request, &mut Appending(output.sink()?), &path.escaped())?;
    output.finish(&mut packline_runtime::Unobserved)?;
    Ok(empty)
}

struct Appending(WriteBehind);

impl Write for Appending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
