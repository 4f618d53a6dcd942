//! Container images as operands: in layouts and archives, and in registries (`docker://`).
//!
//! There is no `oci://`: `oci:` begins the path of a layout, and `//DIR` is a path.

mod credentials;
mod kept;

use std::cell::OnceCell;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline::requests::{OciPlace, Platform, RegistryClient, RegistryRoot};
use packline_cache::Parts;
use packline_http::{Fault, HttpOptions, Reference, Registry, RegistryOptions};

use super::value::text;
use super::wrong;
use crate::ui::failure::Failure;
use crate::ui::fetch_bar::FetchBar;
use crate::ui::io::Io;
use credentials::find;
use kept::KeptContent;

const PREFIX: &str = "docker://";
/// Layers that are probably read at a time.
const LAYERS_AT_ONCE: u64 = 8;

/// Options of container images.
#[derive(Debug, Default, clap::Args)]
pub struct ContainerArgs {
    /// Choose the platform of a container image, OS/ARCH[/VARIANT] [default: linux and this machine's architecture]
    #[arg(long, value_name = "PLATFORM", value_parser = text(platform))]
    pub platform: Option<Platform>,
    /// Reach registries by http://, without encryption: others on the network can read the password and replace the image
    #[arg(long)]
    registry_insecure: bool,
    /// The bar that all images of the command share.
    #[arg(skip)]
    bar: OnceCell<Arc<FetchBar>>,
}

/// Parses the platform of a container image.
fn platform(text: &str) -> Result<Platform, String> {
    Platform::parse(text).ok_or_else(|| format!("'{text}' is not a platform (expected OS/ARCH or OS/ARCH/VARIANT)"))
}

impl ContainerArgs {
    /// Rejects the options if no operand is a container image, or none is in a registry.
    pub fn check<'p>(&self, operands: impl IntoIterator<Item = &'p PathBuf> + Clone) -> Result<(), Failure> {
        if self.platform.is_some() && !operands.clone().into_iter().any(|path| is_container_image(path)) {
            return Err(wrong(
                "platform",
                "works only with a container image (oci:, oci-archive:, docker-archive: or docker://)",
            ));
        }
        self.check_registry(operands)
    }

    /// Rejects `--registry-insecure` if no operand is in a registry.
    pub fn check_registry<'p>(&self, operands: impl IntoIterator<Item = &'p PathBuf>) -> Result<(), Failure> {
        if !self.registry_insecure || operands.into_iter().any(|path| is_in_registry(path)) {
            return Ok(());
        }
        Err(wrong("registry-insecure", "works only with an image in a registry (docker://IMAGE)"))
    }

    /// Returns the place of a container image, unless a file has such a name. Reads the first document of an image in a registry. With `bar`,
    /// a bar is drawn on a terminal while layers are fetched.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an invalid name; [`Failure::Failed`] if the registry does not have the image, or cannot be reached.
    pub fn place(&self, path: &Path, bar: bool, io: &mut Io) -> Result<Option<OciPlace>, Failure> {
        if !is_in_registry(path) {
            return Ok(local_place(path));
        }
        let (root, registry) = self.open(path, io)?;
        let bar = (bar && io.terminal).then(|| self.bar.get_or_init(|| Arc::new(FetchBar::new(&io.drawn))).clone());
        let parts = io.parts.clone();
        if parts.is_some() {
            io.host.held += LAYERS_AT_ONCE * kept::MEMORY;
        }
        Ok(Some(OciPlace::in_registry(root, Client { registry: Arc::new(registry), parts, bar })))
    }

    /// Opens an image in a registry.
    fn open(&self, path: &Path, io: &mut Io) -> Result<(RegistryRoot, Registry), Failure> {
        let text = path.to_str().and_then(|text| text.strip_prefix(PREFIX));
        let text = text.ok_or_else(|| Failure::usage("the name of the image is not valid UTF-8"))?;
        let reference = Reference::parse(text).map_err(|what| Failure::usage(format!("{PREFIX}...: {what}")))?;
        let mut http = HttpOptions::default();
        http.proxies = io.host.proxies.clone();
        let files = io.host.registry_files.clone();
        let names = (reference.registry().to_string(), reference.repository().to_string());
        let credentials = Box::new(move || find(&files, &names.0, &names.1));
        let options = RegistryOptions { insecure: self.registry_insecure, http, credentials };
        let name = reference.to_string();
        let digest = reference.digest().map(str::to_string);
        let registry = Registry::open(reference, options).map_err(|fault| self.refused(&name, &fault))?;
        io.host.held += Registry::MEMORY as u64;
        let document = registry.root().clone();
        let root = RegistryRoot { name, digest, media_type: document.media_type, bytes: document.bytes };
        Ok((root, registry))
    }

    fn refused(&self, name: &str, fault: &Fault) -> Failure {
        let failure = Failure::failed(format!("{name}: cannot open: {fault}"));
        match fault {
            Fault::Tls(_) if !self.registry_insecure => {
                failure.with_way_out("--registry-insecure reaches a registry without encryption")
            }
            _ => failure,
        }
    }
}

/// Whether an operand is an image in a registry. A file that exists under such a name is not.
pub fn is_in_registry(path: &Path) -> bool {
    path.as_os_str().as_bytes().starts_with(PREFIX.as_bytes()) && !path.exists()
}

/// Whether an operand is a container image.
pub fn is_container_image(path: &Path) -> bool {
    is_in_registry(path) || local_place(path).is_some()
}

/// Returns the place of a container image in a directory or a file, unless a file has such a name.
fn local_place(path: &Path) -> Option<OciPlace> {
    OciPlace::parse(path.as_os_str()).filter(|_| !path.exists())
}

/// The client of an image.
struct Client {
    registry: Arc<Registry>,
    /// Keeps contents for later runs.
    parts: Option<Arc<Parts>>,
    bar: Option<Arc<FetchBar>>,
}

impl RegistryClient for Client {
    fn manifest(&self, digest: &str) -> io::Result<Vec<u8>> {
        Ok(self.registry.manifest(digest)?)
    }

    fn content(&self, digest: &str, size: u64) -> Box<dyn Read + Send> {
        let content: Box<dyn Read + Send> = match &self.parts {
            Some(parts) => Box::new(KeptContent::new(Arc::clone(&self.registry), Arc::clone(parts), digest, size)),
            None => Box::new(self.registry.blob(digest, size, 0)),
        };
        match &self.bar {
            Some(bar) => Box::new(Shown { content, bar: Arc::clone(bar) }),
            None => content,
        }
    }

    fn judge(&self, digest: &str, is_right: bool) {
        if let Some(parts) = &self.parts {
            kept::judge(parts, digest, is_right);
        }
    }

    fn expect(&self, bytes: u64) {
        if let Some(bar) = &self.bar {
            bar.expect(bytes);
        }
    }
}

/// A content whose bytes are shown by a bar.
struct Shown {
    content: Box<dyn Read + Send>,
    bar: Arc<FetchBar>,
}

impl Read for Shown {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        self.bar.advance(count as u64);
        Ok(count)
    }
}
