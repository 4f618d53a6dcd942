//! `packline verity` writes the dm-verity tree of an existing image.

use std::path::PathBuf;

use packline::requests::{VerityPlace, VerityRequest};
use packline_verity::{Salt, Uuid};

use crate::args::value::text;
use crate::args::verity::TreeOptions;
use crate::args::work::WorkOptions;
use crate::args::{Command, Invocation};
use crate::ui::failure::Failure;
use crate::ui::hash_tree;
use crate::ui::io::Io;
use crate::ui::observer::with_observer;

/// Write dm-verity hash tree, root hash and signature of an image
#[derive(Debug, clap::Args)]
pub struct Verity {
    /// The image: a block device, or a file of any format whose size is a multiple of 4096 bytes
    #[arg(value_hint = clap::ValueHint::FilePath)]
    image: PathBuf,
    /// Append the hash tree to the image instead of writing it to a separate file
    #[arg(long)]
    append: bool,
    /// Set the salt, in hexadecimal; - for none [default: derived from the image]
    #[arg(long, value_name = "HEX", value_parser = text(str::parse::<Salt>))]
    salt: Option<Salt>,
    /// Set the UUID of the hash tree [default: derived from the root hash]
    #[arg(long, value_name = "UUID", value_parser = text(str::parse::<Uuid>))]
    uuid: Option<Uuid>,
    /// Sign the root hash with this key (PEM; RSA, P-256 or P-384)
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    key: Option<PathBuf>,
    /// Read the certificate of the key from FILE (PEM)
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    cert: Option<PathBuf>,
    /// Replace existing files next to the image
    #[arg(short, long, help_heading = "Output")]
    force: bool,
    #[command(flatten)]
    work: WorkOptions,
}

impl Command for Verity {
    const NAME: &'static str = "verity";
    const ESSENTIAL: &'static [&'static str] =
        &["append", "key", "cert", "salt", "uuid", "force", "quiet", "json", "jobs", "mem"];

    const EXAMPLES: &'static [&'static str] = &[
        "packline verity app.raw --key key.pem --cert cert.pem",
        "packline verity root.sqfs --append",
        "packline pack rootfs/ app.raw --verity",
        "packline verify app.raw --roothash \"$(cat app.roothash)\"",
    ];

    fn details() -> String {
        "The files have the names that systemd looks for. For app.raw they are app.verity (the hash tree), app.roothash (the \
         root hash, in hexadecimal without a line feed) and app.roothash.p7s (its signature). For any other name, such as \
         app.sqfs, they are app.sqfs.verity and so on.\n\
         # Hash tree\n\
         The hash tree has the bytes that 'veritysetup format' writes with the same salt and UUID: SHA-256, blocks of 4096 \
         bytes, a superblock. 'packline pack --verity' writes it together with the image, without reading the image again.\n\
         # Signature and salt\n\
         The signature is detached PKCS#7 (DER) over the text of app.roothash, without certificates and attributes, as the \
         kernel and systemd check it and as 'openssl smime -sign -nocerts -noattr -binary' writes it. Keys are RSA, P-256 or \
         P-384, and not encrypted.\n\
         The default salt is the SHA-256 of a label and bytes 2048 to 4095 of the image, so that equal images have equal hash \
         trees. With --append the hash tree begins at the end of the image; that offset is the value for 'veritysetup \
         --hash-offset'. If appending fails, nothing is appended. If a run is killed, 'info' and 'verify' report the \
         incomplete hash tree, and the next run with --append removes it."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        invocation.need(&[("key", "cert"), ("cert", "key")])?;
        let options = self.work.start(&[], &[&self.image], self.force, io)?;
        let mut request = VerityRequest::new(&self.image);
        let tree = TreeOptions {
            place: if self.append { VerityPlace::Append } else { VerityPlace::Files },
            salt: self.salt.as_ref(),
            uuid: self.uuid,
            key: self.key.as_deref(),
            certificate: self.cert.as_deref(),
        };
        request.options = tree.options()?;
        request.force = self.force;
        request.resources = options.apply(self.work.machine.resources(&io.host));
        request.temporaries = io.temporaries.clone();
        let bar = self.work.reporting.bar();
        let made = with_observer(io, bar, |observer| packline::requests::verity(request, observer))?;
        let shown = (hash_tree::object(&made), hash_tree::text(&self.image, &made));
        self.work.report(shown, made.data_bytes, &options, invocation, io);
        Ok(())
    }
}
