//! The address of a file on a server. No text shows its user or its query: both may be secrets.

use std::fmt;

use packline_runtime::escape::Escape;

use crate::authority::{WrongUrl, basic, has_valid_port, split};

/// Whether an operand is an address: it begins with `http://` or `https://`.
pub fn is_url(text: &[u8]) -> bool {
    let begins = |prefix: &[u8]| text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    begins(b"http://") || begins(b"https://")
}

/// An address `http://[USER[:PASSWORD]@]HOST[:PORT]/PATH[?QUERY]`, or with `https`.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    https: bool,
    /// `HOST`, or `HOST:PORT`, in lower case.
    authority: String,
    /// Begins with a slash.
    path: String,
    /// With its question mark; empty without a query.
    query: String,
    /// Value of the header `Authorization`.
    authorization: Option<String>,
}

impl Address {
    /// # Errors
    /// [`WrongUrl`], which shows neither the user nor the query.
    pub fn parse(text: &str) -> Result<Address, WrongUrl> {
        let parts = split(text);
        let https = parts.is_https()?;
        let after = parts.path.split('#').next().unwrap_or_default();
        let (path, query) = after.split_at(after.find('?').unwrap_or(after.len()));
        let address = Address {
            https,
            authority: parts.authority.to_ascii_lowercase(),
            path: if path.is_empty() { "/".to_string() } else { path.to_string() },
            query: query.to_string(),
            authorization: parts.user.map(basic),
        };
        // The client's own syntax decides.
        match address.uri().parse::<ureq::http::Uri>() {
            Ok(uri) if uri.host().is_some_and(|host| !host.is_empty()) && has_valid_port(&address.authority) => {
                Ok(address)
            }
            _ => Err(parts.wrong("is not a valid address (expected http://HOST[:PORT]/PATH)")),
        }
    }

    /// The address with its query, for requests.
    pub(crate) fn uri(&self) -> String {
        format!("{}{}", self.without_query(), self.query)
    }

    /// The path and name of the file, without the query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The name of the server, without its port.
    pub fn host(&self) -> &str {
        let port = self.authority.rfind(':').filter(|at| !self.authority[*at..].contains(']'));
        self.authority[..port.unwrap_or(self.authority.len())].trim_matches(['[', ']'])
    }

    pub(crate) fn is_https(&self) -> bool {
        self.https
    }

    pub(crate) fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    /// Whether two addresses have the same scheme, server and port.
    pub(crate) fn is_same_server(&self, other: &Address) -> bool {
        self.https == other.https && self.authority == other.authority
    }

    /// The same address, for a user who is not in its text.
    pub(crate) fn authorized(self, authorization: Option<String>) -> Address {
        Address { authorization: self.authorization.or(authorization), ..self }
    }

    /// The address to which a server redirects. Another server never gets the user and the password.
    ///
    /// # Errors
    /// [`WrongUrl`] for an address that cannot be used, and if a file on an `https` server would be read by `http`.
    pub(crate) fn redirected(&self, location: &str) -> Result<Address, WrongUrl> {
        let scheme = if self.https { "https" } else { "http" };
        let directory = &self.path[..=self.path.rfind('/').unwrap_or(0)];
        let text = if location.split(['/', '?', '#']).next().is_some_and(|start| start.ends_with(':')) {
            location.to_string()
        } else if let Some(rest) = location.strip_prefix("//") {
            format!("{scheme}://{rest}")
        } else if location.starts_with('/') {
            format!("{scheme}://{}{location}", self.authority)
        } else if location.starts_with('?') {
            format!("{}{location}", self.without_query())
        } else {
            format!("{scheme}://{}{directory}{location}", self.authority)
        };
        let mut next = Address::parse(&text)?;
        if self.https && !next.https {
            return Err(split(&text).wrong("is the target of a redirect from https:// to http:// (expected https://)"));
        }
        next.authorization = self.authorization.clone().filter(|_| next.is_same_server(self));
        Ok(next)
    }

    fn without_query(&self) -> String {
        format!("{}://{}{}", if self.https { "https" } else { "http" }, self.authority, self.path)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.without_query().as_bytes().escaped())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, shown, uri, host) in [
            ("http://Host/a.sqfs", "http://host/a.sqfs", "http://host/a.sqfs", "host"),
            ("HTTP://h:8080/a?b=/c#d", "http://h:8080/a", "http://h:8080/a?b=/c", "h"),
            ("http://u:p@[::1]:80/a", "http://[::1]:80/a", "http://[::1]:80/a", "::1"),
            ("http://h?q", "http://h/", "http://h/?q", "h"),
        ] {
            let address = Address::parse(text).unwrap();
            let found = (address.to_string(), address.uri(), address.host().to_string());
            assert_eq!(found, (shown.to_string(), uri.to_string(), host.to_string()));
            assert!(is_url(text.as_bytes()));
        }
        assert_eq!(Address::parse("https://host/a").is_ok(), cfg!(feature = "https"));
        assert!(!is_url(b"http:/x") && !is_url(b"ftp://x") && !is_url(b"root.sqfs"));
    }

    #[test]
    fn rejects_invalid_addresses_without_showing_secrets() {
        for text in [
            "http://",
            "http://u:secret@",
            "http://u:secret@host:port/",
            "http://host:0/?secret",
            "http://host/a b?secret",
            "ftp://u:secret@host/x?secret",
            "http://u:secret@ho\u{1b}st/",
        ] {
            let error = Address::parse(text).unwrap_err().to_string();
            assert!(error.contains("(expected ") && !error.contains("secret") && !error.contains('\u{1b}'), "{error}");
        }
    }

    #[test]
    fn redirects() {
        let from = Address::parse("http://u:p@host/dir/file?query").unwrap();
        for (location, uri, keeps_user) in [
            ("http://other/x?y", "http://other/x?y", false),
            ("HTTP://HOST/x", "http://host/x", true),
            ("http://host:81/x", "http://host:81/x", false),
            ("http://evil:secret@other/x", "http://other/x", false),
            ("//other/x", "http://other/x", false),
            ("/x?a:b", "http://host/x?a:b", true),
            ("?other", "http://host/dir/file?other", true),
            ("x/y", "http://host/dir/x/y", true),
            ("a#b", "http://host/dir/a", true),
        ] {
            let next = from.redirected(location).unwrap();
            assert_eq!((next.uri(), next.authorization().is_some()), (uri.to_string(), keeps_user), "{location}");
        }
        assert!(from.redirected("ftp://other/x").is_err() && from.redirected("http:///x").is_err());
        if cfg!(feature = "https") {
            let from = Address::parse("https://host/file").unwrap();
            let error = from.redirected("http://host/file?secret").unwrap_err().to_string();
            assert!(error.contains("from https:// to http://") && !error.contains("secret"), "{error}");
        }
    }
}
