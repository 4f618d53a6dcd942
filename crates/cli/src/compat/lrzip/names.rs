//! Names of outputs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::settings::{Mode, Settings};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

/// Whether a file's name ends in the suffix and is longer than it.
pub fn has_suffix(path: &Path, suffix: &str) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.len() > suffix.len() && name.ends_with(suffix.as_bytes())
}

/// Output of a file: `--outfile`, else a name beside it or in `--outdir`.
///
/// # Errors
/// [`Failure::Failed`] for a file to decompress without the suffix.
pub fn output_of(path: &Path, settings: &Settings) -> Result<PathBuf, Failure> {
    if let Some(outfile) = &settings.outfile {
        return Ok(outfile.clone());
    }
    let name = path.file_name().unwrap_or_default();
    let name = if settings.mode == Mode::Compress {
        let mut name = name.to_os_string();
        name.push(&settings.suffix);
        name
    } else {
        without_suffix(path, &settings.suffix)?
    };
    Ok(match &settings.outdir {
        Some(directory) => directory.join(name),
        None => path.with_file_name(name),
    })
}

fn without_suffix(path: &Path, suffix: &str) -> Result<OsString, Failure> {
    use std::os::unix::ffi::OsStrExt;
    if !has_suffix(path, suffix) {
        let what = format!("its name does not end in '{suffix}' (expected that, or --outfile)");
        return Err(Failure::failed(format!("{}: {what}", path.escaped())));
    }
    let name = path.file_name().unwrap_or_default().as_bytes();
    Ok(std::ffi::OsStr::from_bytes(&name[..name.len() - suffix.len()]).to_os_string())
}
