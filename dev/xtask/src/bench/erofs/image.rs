//! The images that are compared.

use super::named;
use crate::shell;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    Packline,
    Mkfs,
}

impl Program {
    pub fn name(self) -> &'static str {
        match self {
            Program::Packline => "packline",
            Program::Mkfs => "mkfs.erofs",
        }
    }
}

/// An image of the tree.
#[derive(Debug, Clone)]
pub struct Image {
    pub program: Program,
    pub options: String,
    pub path: PathBuf,
    /// Size in bytes.
    pub size: u64,
}

/// The programs that build images, and their source and output directory.
pub struct Programs<'a> {
    pub packline: &'a Path,
    pub mkfs: &'a Path,
    pub tree: &'a Path,
    pub directory: &'a Path,
}

impl Programs<'_> {
    /// Builds an image with packline.
    pub fn packline(&self, options: &str) -> Result<Image, String> {
        let path = self.path(Program::Packline, options);
        let mut command = Command::new(self.packline);
        command.args(["pack", "--quiet", "--force", "--format", "erofs"]).args(options.split_whitespace());
        shell::run_here(command.arg(self.tree).arg(&path))?;
        Image::at(Program::Packline, options, path)
    }

    /// Builds an image with mkfs.erofs, unless there is one.
    pub fn mkfs(&self, options: &str) -> Result<Image, String> {
        let path = self.path(Program::Mkfs, options);
        if !path.exists() {
            let partial = path.with_extension("partial");
            let mut command = Command::new(self.mkfs);
            command.arg("--quiet").args(options.split_whitespace()).arg(&partial);
            shell::run_here(command.arg(self.tree))?;
            std::fs::rename(&partial, &path).map_err(named(&path))?;
        }
        Image::at(Program::Mkfs, options, path)
    }

    fn path(&self, program: Program, options: &str) -> PathBuf {
        self.directory.join(format!("{}{}.erofs", program.name(), slug(options)))
    }
}

impl Image {
    fn at(program: Program, options: &str, path: PathBuf) -> Result<Image, String> {
        let size = std::fs::metadata(&path).map_err(named(&path))?.len();
        Ok(Image { program, options: options.to_owned(), path, size })
    }

    /// The name in tables.
    pub fn name(&self) -> String {
        format!("{} {}", self.program.name(), self.options)
    }
}

/// Options as a part of a file's name.
fn slug(options: &str) -> String {
    options.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).fold(
        String::new(),
        |mut name, word| {
            name.push('-');
            name.push_str(word);
            name
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        assert_eq!(slug("-zzstd,3 -C65536 -Efragments"), "-zzstd-3-C65536-Efragments");
        assert_eq!(slug("-c zstd:level=3"), "-c-zstd-level-3");
    }
}
