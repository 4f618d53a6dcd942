//! Builds the images.

use crate::shell;
use packline_testkit::tools;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that builds an image.
pub enum Kind {
    Mksquashfs,
    /// By packline in a layout.
    Packline(String),
}

impl Kind {
    pub fn name(&self) -> String {
        match self {
            Kind::Mksquashfs => "mksquashfs".into(),
            Kind::Packline(layout) => format!("packline, {layout}"),
        }
    }
}

/// The settings that all images share.
pub struct Images<'a> {
    pub binary: &'a Path,
    /// Directory for the images.
    pub place: &'a Path,
    /// Block size, as both programs take it.
    pub block: &'a str,
    pub codec: &'a str,
}

impl Images<'_> {
    /// Returns the image of a tree, which is built unless it exists.
    pub fn make(&self, kind: &Kind, name: &str, tree: &Path) -> Result<PathBuf, String> {
        let plain = |text: &str| text.replace(|character: char| !character.is_ascii_alphanumeric(), "-");
        let file = [&kind.name(), self.codec, self.block, name].map(plain).join("_");
        let path = self.place.join(format!("{file}.sqfs"));
        if !path.exists() {
            shell::print_error(&format!("+ {}", path.display()));
            // An incomplete image does not get the name.
            let part = self.place.join(format!("{file}.part.sqfs"));
            tools::run(&mut self.command(kind, tree, &part))?;
            std::fs::rename(&part, &path).map_err(|cause| format!("{}: {cause}", part.display()))?;
        }
        Ok(path)
    }

    fn command(&self, kind: &Kind, tree: &Path, image: &Path) -> Command {
        let (codec, level) = self.codec.split_once(':').unwrap_or((self.codec, ""));
        match kind {
            Kind::Mksquashfs => {
                let mut command = Command::new("mksquashfs");
                command.arg(tree).arg(image).args(["-noappend", "-no-progress", "-mkfs-time", "0", "-comp", codec]);
                command.args(["-b", self.block]);
                if !level.is_empty() {
                    command.args(["-Xcompression-level", level]);
                }
                command
            }
            Kind::Packline(layout) => {
                let mut command = Command::new(self.binary);
                let level = if level.is_empty() { String::new() } else { format!(":level={level}") };
                command
                    .arg("pack")
                    .arg(tree)
                    .arg(image)
                    .args(["--quiet", "--force", "--layout", layout, "-b", self.block]);
                // The cache changes no image, and the second layout costs less.
                command.arg("-c").arg(format!("{codec}{level}")).arg("--cache").arg(self.place.join("cache"));
                command
            }
        }
    }
}
