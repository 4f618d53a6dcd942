//! Operands that are addresses of files on servers.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline::requests::OpenedFile;
use packline_http::{Address, HttpFile, HttpOptions, Netrc, is_url};
use packline_runtime::open_regular;

use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Largest file with names and passwords, bytes.
const NETRC_MOST: u64 = 1 << 20;

/// Opens a file on a server; `None` if the operand is not an address. A file that exists under such a name is not an address.
///
/// # Errors
/// [`Failure::Usage`] for an invalid address; [`Failure::Failed`] if the file cannot be read. No message shows a user or a query.
pub fn open(path: &Path, io: &mut Io) -> Result<Option<OpenedFile>, Failure> {
    let Some(address) = address(path)? else { return Ok(None) };
    let mut options = HttpOptions::default();
    options.netrc = netrc(io);
    options.proxies = io.host.proxies.clone();
    options.store = io.parts.clone().map(|parts| parts as _);
    let opened = HttpFile::open(address.clone(), options);
    let file = opened.map_err(|fault| Failure::failed(format!("{address}: cannot open: {fault}")))?;
    io.host.held += HttpOptions::MEMORY as u64;
    Ok(Some(OpenedFile::remote(address.to_string(), Arc::new(file))))
}

/// Returns an operand, or its address without the query, which may contain slashes.
pub fn named(path: &Path) -> Cow<'_, Path> {
    match address(path) {
        Ok(Some(address)) => Cow::Owned(PathBuf::from(address.path())),
        _ => Cow::Borrowed(path),
    }
}

/// Whether an operand is the address of a file on a server. A file that exists under such a name is not.
pub fn is_remote(path: &Path) -> bool {
    is_url(path.as_os_str().as_bytes()) && !path.exists()
}

fn address(path: &Path) -> Result<Option<Address>, Failure> {
    if !is_remote(path) {
        return Ok(None);
    }
    let text = path.to_str().ok_or_else(|| Failure::usage("the address is not valid UTF-8"))?;
    Address::parse(text).map(Some).map_err(|error| Failure::usage(error.to_string()))
}

/// Reads the file with names and passwords. Without it, or if it cannot be read, there are none.
fn netrc(io: &mut Io) -> Netrc {
    let Some(path) = io.host.netrc.clone().filter(|path| path.exists()) else { return Netrc::default() };
    let mut text = Vec::new();
    let read = open_regular(&path).and_then(|file: File| file.take(NETRC_MOST).read_to_end(&mut text));
    if let Err(cause) = read {
        io.warn(&format!("{}: cannot read: {cause}; no password is taken from it", path.escaped()));
    }
    Netrc::parse(&String::from_utf8_lossy(&text))
}
