//! The options of keys in a build without encryption: none.

use std::sync::Arc;

use packline::{Identities, Recipients};

use crate::ui::failure::Failure;
use crate::ui::io::Io;

pub const OPENING: [&str; 0] = [];
pub const RECIPIENTS: [&str; 0] = [];

#[derive(Debug, Default, clap::Args)]
pub struct OpeningKeys {}

#[derive(Debug, clap::Args)]
pub struct RecipientOptions {}

impl OpeningKeys {
    /// None.
    ///
    /// # Errors
    /// None.
    pub fn identities(&self, _io: &Io) -> Result<Option<Arc<Identities>>, Failure> {
        Ok(None)
    }

    /// None.
    ///
    /// # Errors
    /// None.
    pub fn given(&self, io: &Io) -> Result<Option<Arc<Identities>>, Failure> {
        self.identities(io)
    }
}

impl RecipientOptions {
    /// None.
    ///
    /// # Errors
    /// None.
    pub fn recipients(&self, _keys: &OpeningKeys, _io: &Io) -> Result<Option<Arc<Recipients>>, Failure> {
        Ok(None)
    }
}
