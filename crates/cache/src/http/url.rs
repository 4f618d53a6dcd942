//! The address of a server and its user. No text shows the password.

use std::fmt;

use packline_http::{WrongUrl, basic, has_valid_port, split};

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
        let parts = split(text);
        if parts.scheme.eq_ignore_ascii_case("s3") {
            let what = "cannot be used (expected http:// or https://); bazel-remote serves a bucket of S3 by HTTP";
            return Err(parts.wrong(what));
        }
        let https = parts.is_https()?;
        if text.contains(['?', '#']) {
            return Err(parts.wrong("has a query or a fragment (expected http://HOST[:PORT][/PREFIX])"));
        }
        let url = Url {
            https,
            authority: parts.authority.to_ascii_lowercase(),
            prefix: parts.path.trim_end_matches('/').to_string(),
            authorization: parts.user.map(basic),
        };
        // The client's own syntax decides.
        match url.entry("").parse::<ureq::http::Uri>() {
            Ok(uri) if uri.host().is_some_and(|host| !host.is_empty()) && has_valid_port(&url.authority) => Ok(url),
            _ => Err(parts.wrong("is not a valid address (expected http://HOST[:PORT][/PREFIX])")),
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
    use base64::prelude::{BASE64_STANDARD, Engine as _};

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
