//! A selection of entries, as programs that use the library see it.

use crate::error::Error;

/// Entries of an image, by patterns. A pattern without a slash, such as `*.conf`, matches a name at any depth. A pattern with a slash matches a
/// complete path from the root. Everything below a matching directory matches, too.
#[derive(Debug, Default)]
pub struct Selection(packline_image::Selection);

impl Selection {
    /// Selects everything.
    pub fn all() -> Selection {
        Selection::default()
    }

    /// Selects the entries that match a pattern.
    ///
    /// # Errors
    /// [`Error::Pattern`] for a malformed pattern.
    pub fn pattern(pattern: impl AsRef<[u8]>) -> Result<Selection, Error> {
        Selection::all().include(pattern)
    }

    /// Selects the entries that match a pattern, too. The first call replaces the selection of everything.
    ///
    /// ```
    /// use packline::{Image, Input, Packer, Selection, Tree};
    ///
    /// # fn main() -> Result<(), packline::Error> {
    /// let mut tree = Tree::new();
    /// for path in ["etc/motd", "etc/shadow", "usr/bin/app", "var/log"] {
    ///     tree.file(path, "")?;
    /// }
    /// let mut bytes = std::io::Cursor::new(Vec::new());
    /// Packer::new(tree).write_into(&mut bytes)?;
    /// let image = Image::from_input(Input::bytes("image", bytes.into_inner()))?;
    ///
    /// let selection = Selection::pattern("etc/*")?.include("app")?.exclude("etc/shadow")?;
    /// let mut paths = Vec::new();
    /// for entry in image.entries(&selection) {
    ///     paths.push(entry?.path().to_vec());
    /// }
    /// assert_eq!(paths, [&b"etc/motd"[..], b"usr/bin/app"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Pattern`] for a malformed pattern.
    pub fn include(mut self, pattern: impl AsRef<[u8]>) -> Result<Selection, Error> {
        self.0.include.add(pattern.as_ref())?;
        Ok(self)
    }

    /// Leaves out the entries that match a pattern, even if they are included. The root is never left out.
    ///
    /// # Errors
    /// [`Error::Pattern`] for a malformed pattern.
    pub fn exclude(mut self, pattern: impl AsRef<[u8]>) -> Result<Selection, Error> {
        self.0.exclude.add(pattern.as_ref())?;
        Ok(self)
    }

    /// Returns whether an entry is selected. A pattern must match the entry or a directory above it.
    pub fn selects(&self, path: impl AsRef<[u8]>, is_directory: bool) -> bool {
        self.0.selects(path.as_ref(), is_directory)
    }

    pub(crate) fn rules(&self) -> &packline_image::Selection {
        &self.0
    }
}

impl From<Selection> for packline_image::Selection {
    fn from(selection: Selection) -> packline_image::Selection {
        selection.0
    }
}
