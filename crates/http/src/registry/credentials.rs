//! Passwords and tokens for registries.

use std::fmt;

use crate::authority::basic_of;

/// What a client may show to a registry, or to the server of its tokens. No text shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials(Kind);

#[derive(Clone, PartialEq, Eq)]
enum Kind {
    /// Value of the header `Authorization`.
    Basic(String),
    /// A token with which tokens for repositories are requested (OAuth 2).
    Identity(String),
}

impl Credentials {
    /// A name and a password.
    pub fn password(name: &str, password: &str) -> Credentials {
        Credentials(Kind::Basic(basic_of(name.as_bytes(), password.as_bytes())))
    }

    /// A name and a password as `NAME:PASSWORD` in Base64. `None` if a byte is not of that alphabet.
    pub fn encoded(text: &str) -> Option<Credentials> {
        let is_valid = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
        (is_valid && !text.is_empty()).then(|| Credentials(Kind::Basic(format!("Basic {text}"))))
    }

    /// An identity token, which only servers of tokens accept.
    pub fn identity_token(token: &str) -> Credentials {
        Credentials(Kind::Identity(token.to_string()))
    }

    pub(super) fn basic(&self) -> Option<&str> {
        if let Kind::Basic(header) = &self.0 { Some(header) } else { None }
    }

    pub(super) fn identity(&self) -> Option<&str> {
        if let Kind::Identity(token) = &self.0 { Some(token) } else { None }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_shows_them() {
        let password = Credentials::password("me", "secret");
        assert_eq!(Credentials::encoded("bWU6c2VjcmV0").as_ref(), Some(&password));
        for text in ["", "a b", "a\r\nHost: x"] {
            assert_eq!(Credentials::encoded(text), None, "{text:?}");
        }
        let token = Credentials::identity_token("secret");
        for shown in [password, token].map(|all| format!("{all:?}")) {
            assert_eq!(shown, "Credentials { .. }");
        }
    }
}
