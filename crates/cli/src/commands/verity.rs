//! `packline verity`: the dm-verity tree of an image that exists.

use std::path::PathBuf;

use packline::requests::{VerityPlace, VerityRequest};
use packline_verity::{Salt, Uuid};

use crate::args::value::text;
use crate::args::verity::Given;
use crate::args::work::WorkOptions;
use crate::args::{Command, Invocation};
use crate::ui::failure::Failure;
use crate::ui::hash_tree;
use crate::ui::io::Io;
use crate::ui::observer::watched;

/// Make the dm-verity hash tree of an image, its root hash, and a signature of that
#[derive(Debug, clap::Args)]
pub struct Verity {
    /// The image: a file of any format that is a multiple of 4096 bytes long, or a block device
    #[arg(value_hint = clap::ValueHint::FilePath)]
    image: PathBuf,
    /// Put the tree behind the image, at its end, not in a file of its own
    #[arg(long)]
    append: bool,
    /// Salt, hexadecimal, - for none [default: derived from the image]
    #[arg(long, value_name = "HEX", value_parser = text(str::parse::<Salt>))]
    salt: Option<Salt>,
    /// UUID of the tree [default: derived from the root hash]
    #[arg(long, value_name = "UUID", value_parser = text(str::parse::<Uuid>))]
    uuid: Option<Uuid>,
    /// Key (PEM) of RSA, P-256 or P-384 that signs the root hash
    #[arg(long, value_name = "FILE", requires = "cert", value_hint = clap::ValueHint::FilePath)]
    key: Option<PathBuf>,
    /// Certificate of the key (PEM)
    #[arg(long, value_name = "FILE", requires = "key", value_hint = clap::ValueHint::FilePath)]
    cert: Option<PathBuf>,
    /// Replace existing files beside the image
    #[arg(short, long, help_heading = "Output")]
    force: bool,
    #[command(flatten)]
    work: WorkOptions,
}

impl Command for Verity {
    const NAME: &'static str = "verity";

    const EXAMPLES: &'static [&'static str] = &[
        "packline verity app.raw --key key.pem --cert cert.pem",
        "packline verity root.sqfs --append",
        "packline pack rootfs/ app.raw --format squashfs --verity",
        "packline verify app.raw --roothash \"$(cat app.roothash)\"",
    ];

    fn details() -> String {
        "The tree has the bytes that 'veritysetup format' writes with the same salt and UUID: SHA-256, blocks of 4096 bytes, a superblock. \
         'packline pack --verity' makes it while it writes an image, without a second read.\n\
         Files are named as systemd looks for them: of app.raw the tree is app.verity, the root hash app.roothash, in hexadecimal without a \
         line feed, and its signature app.roothash.p7s; of any other name, app.sqfs, they are app.sqfs.verity and so on.\n\
         The signature is detached PKCS#7 (DER) over the text of app.roothash, without certificates and attributes, as the kernel and systemd \
         check it, and as 'openssl smime -sign -nocerts -noattr -binary' makes it. Keys are of RSA, P-256 or P-384, and not encrypted.\n\
         The default salt is SHA-256 of a label and bytes 2048 to 4095 of the image, so that equal images have equal trees. With --append the tree \
         begins where the image ended, which is the value of 'veritysetup --hash-offset'; nothing is appended unless all of it can be. What a run that was killed left behind the \
         image is no tree, 'info' and 'verify' name it, and the next run with --append removes it."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let options = self.work.start(&[], &[&self.image], self.force, io)?;
        let mut request = VerityRequest::new(&self.image);
        let given = Given {
            place: if self.append { VerityPlace::Append } else { VerityPlace::Files },
            salt: self.salt.as_ref(),
            uuid: self.uuid,
            key: self.key.as_deref(),
            certificate: self.cert.as_deref(),
        };
        request.options = given.options()?;
        request.force = self.force;
        request.resources = options.apply(self.work.machine.resources(&io.host));
        request.temporaries = io.temporaries.clone();
        let bar = self.work.reporting.bar();
        let made = watched(io, bar, |observer| packline::requests::verity(request, observer))?;
        let shown = (hash_tree::object(&made), hash_tree::text(&self.image, &made));
        self.work.report(shown, made.data_bytes, &options, invocation, io);
        Ok(())
    }
}
