//! Replaces `keys.rs` in a build without encryption: there are no options.

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

#[derive(Debug, clap::Args)]
pub struct PadOption {
    #[arg(skip)]
    pub pad: bool,
}

impl OpeningKeys {
    pub fn identities(&self, _: &Io) -> Result<Option<Arc<Identities>>, Failure> {
        Ok(None)
    }

    pub fn explicit_identities(&self, _: &Io) -> Result<Option<Arc<Identities>>, Failure> {
        Ok(None)
    }
}

impl RecipientOptions {
    pub fn recipients(&self, _: &OpeningKeys, _: bool, _: &Io) -> Result<Option<Arc<Recipients>>, Failure> {
        Ok(None)
    }
}
