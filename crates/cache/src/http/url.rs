//! The address of a server and its user. No text shows the password.

use std::fmt;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use packline_runtime::escape::Escape;
use percent_encoding::percent_decode_str;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{shown} {what}")]
pub struct WrongUrl {
    shown: String,
    what: &'static str,
}

/// An address `http://[USER[:PASSWORD]@]HOST[:PORT][/PREFIX]`, or with `https`.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    https: bool,
    /// `HOST`, or `HOST:PORT`.
    authority: String,
    /// Path without a trailing slash: empty, or beginning with a slash.
    prefix: String,
    /// Value of the header `Authorization`.
    authorization: Option<String>,
}

impl Url {
    /// # Errors
    /// [`WrongUrl`], which does not show the password.
    pub fn parse(text: &str) -> Result<Url, WrongUrl> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, authority) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
        let shown = || format!("{scheme}://{authority}{path}").as_bytes().escaped();
        let wrong = |what| WrongUrl { shown: shown(), what };
        let https = match &*scheme.to_ascii_lowercase() {
            "http" => false,
            "https" if cfg!(feature = "https") => true,
            "https" => {
                return Err(wrong("cannot be used (expected http://); a build with the feature 'https' can use it"));
            }
            "s3" => {
                return Err(wrong(
                    "cannot be used (expected http:// or https://); bazel-remote serves a bucket of S3 by HTTP",
                ));
            }
            _ => return Err(wrong("is of an unknown kind (expected http:// or https://)")),
        };
        if text.contains(['?', '#']) {
            return Err(wrong("has a query or a fragment (expected http://HOST[:PORT][/PREFIX])"));
        }
        let url = Url {
            https,
            authority: authority.to_ascii_lowercase(),
            prefix: path.trim_end_matches('/').to_string(),
            authorization: user.map(basic),
        };
        // The client's own syntax decides.
        match url.entry("").parse::<ureq::http::Uri>() {
            Ok(uri) if uri.host().is_some_and(|host| !host.is_empty()) && has_valid_port(&url.authority) => Ok(url),
            _ => Err(wrong("is not a valid address (expected http://HOST[:PORT][/PREFIX])")),
        }
    }

    /// The address of an entry.
    pub(crate) fn entry(&self, key: &str) -> String {
        format!("{self}/ac/{key}")
    }

    pub(crate) fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }
}

fn has_valid_port(authority: &str) -> bool {
    let port = authority.rfind(':').filter(|at| !authority[*at..].contains(']')).map(|at| &authority[at + 1..]);
    port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// `Basic` authentication (RFC 7617) for `USER[:PASSWORD]` with percent-encoded special characters.
fn basic(user: &str) -> String {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let decoded = |text| percent_decode_str(text).collect::<Vec<u8>>();
    let pair = [&decoded(name)[..], b":", &decoded(password)].concat();
    format!("Basic {}", BASE64_STANDARD.encode(pair))
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.prefix)
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, shown, entry) in [
            ("http://host", "http://host", "http://host/ac/k"),
            ("HTTP://Host:8080/", "http://host:8080", "http://host:8080/ac/k"),
            ("http://[::1]:80/a/b//", "http://[::1]:80/a/b", "http://[::1]:80/a/b/ac/k"),
            ("http://127.0.0.1/x", "http://127.0.0.1/x", "http://127.0.0.1/x/ac/k"),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!((url.to_string(), url.entry("k"), url.authorization()), (shown.into(), entry.into(), None));
        }
        assert_eq!(Url::parse("https://host").is_ok(), cfg!(feature = "https"));
    }

    #[test]
    fn sends_the_password_but_does_not_show_it() {
        for (text, pair) in [
            ("http://Aladdin:open%20sesame@host/x", "Aladdin:open sesame"),
            ("http://me@host", "me:"),
            ("http://me:a:b%40c@host", "me:a:b@c"),
            ("http://me:a@b@host", "me:a@b"),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!(url.authorization(), Some(&*format!("Basic {}", BASE64_STANDARD.encode(pair))));
            assert!(format!("{url} {url:?}").starts_with("http://host") && !url.to_string().contains("me"));
        }
    }

    #[test]
    fn rejects_invalid_addresses_without_showing_the_password() {
        for text in [
            "http://",
            "http:///x",
            "http://u:secret@",
            "http://u:secret@host:port",
            "http://u:secret@host:0",
            "http://host:70000",
            "http://u:secret@host/?x",
            "http://host/#x",
            "http://a b",
            "http://host/a b",
            "ftp://u:secret@host",
            "s3://u:secret@bucket/x",
            "http://u:secret@ho\u{1b}st",
            "host",
        ] {
            let error = Url::parse(text).unwrap_err().to_string();
            assert!(error.contains("(expected ") && !error.contains("secret") && !error.contains('\u{1b}'), "{error}");
        }
    }
}
