//! The parts of an address: its scheme, its server and its user.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use packline_runtime::escape::Escape;
use percent_encoding::percent_decode_str;

/// An address that cannot be used. Its text shows neither a user nor a query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{shown} {what}")]
pub struct WrongUrl {
    pub(crate) shown: String,
    pub(crate) what: &'static str,
}

/// An address in parts.
#[derive(Clone)]
pub struct Parts<'t> {
    /// The scheme as it is written, without `://`.
    pub scheme: &'t str,
    /// `USER[:PASSWORD]`.
    pub user: Option<&'t str>,
    /// `HOST[:PORT]`.
    pub authority: &'t str,
    /// Everything after the server.
    pub path: &'t str,
}

/// Splits an address, which may be wrong in any part.
pub fn split(text: &str) -> Parts<'_> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (user, authority) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    Parts { scheme, user, authority, path }
}

impl Parts<'_> {
    /// Whether the scheme is `https`.
    ///
    /// # Errors
    /// [`WrongUrl`] if the scheme is not one that this build can use.
    pub fn is_https(&self) -> Result<bool, WrongUrl> {
        match &*self.scheme.to_ascii_lowercase() {
            "http" => Ok(false),
            "https" if cfg!(feature = "https") => Ok(true),
            "https" => {
                Err(self.wrong("cannot be used (expected http://); a build with the feature 'https' can use it"))
            }
            _ => Err(self.wrong("is of an unknown kind (expected http:// or https://)")),
        }
    }

    /// Returns an error about this address, without its user and its query.
    pub fn wrong(&self, what: &'static str) -> WrongUrl {
        let path = self.path.split(['?', '#']).next().unwrap_or_default();
        WrongUrl { shown: format!("{}://{}{path}", self.scheme, self.authority).as_bytes().escaped(), what }
    }
}

/// Whether the port of `HOST[:PORT]` is missing or a number of a port.
pub fn has_valid_port(authority: &str) -> bool {
    let port = authority.rfind(':').filter(|at| !authority[*at..].contains(']')).map(|at| &authority[at + 1..]);
    port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// `Basic` authentication (RFC 7617) for `USER[:PASSWORD]` with percent-encoded special characters.
pub fn basic(user: &str) -> String {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let decoded = |text| percent_decode_str(text).collect::<Vec<u8>>();
    basic_of(&decoded(name), &decoded(password))
}

/// `Basic` authentication of a name and a password.
pub(crate) fn basic_of(name: &[u8], password: &[u8]) -> String {
    format!("Basic {}", BASE64_STANDARD.encode([name, b":", password].concat()))
}
