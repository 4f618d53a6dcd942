//! What an image says about itself, besides its layers.

use serde_json::Value;

use super::digest::Digest;
use super::documents::{Config, Platform};

/// What the documents of an image say.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OciDetails {
    /// The tags of the image.
    pub tags: Vec<String>,
    /// Media type and digest of the manifest. A docker archive has none.
    pub manifest: Option<(String, String)>,
    /// The digest of the config; `None` if a docker archive does not name it.
    pub config: Option<String>,
    pub platform: Option<Platform>,
    /// The time at which the image was made, as the config has it.
    pub created: Option<String>,
    /// How a container of the image is run: entrypoint, environment and others, as the config has them.
    pub run: Option<Value>,
}

impl OciDetails {
    /// The details in a config with a digest.
    pub(super) fn of_config(config: Config, digest: Option<&Digest>) -> OciDetails {
        OciDetails {
            config: digest.map(Digest::to_string),
            platform: config.platform(),
            created: config.created.as_ref().and_then(Value::as_str).map(str::to_string),
            run: config.config,
            ..OciDetails::default()
        }
    }
}
