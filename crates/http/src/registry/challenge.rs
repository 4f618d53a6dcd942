//! The header `WWW-Authenticate` (RFC 9110, section 11.6.1): how a registry wants a client to identify itself.

use std::collections::BTreeMap;

use ureq::http::HeaderMap;
use ureq::http::header::WWW_AUTHENTICATE;

use crate::Fault;

/// What a registry asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Challenge {
    /// A name and a password.
    Basic,
    /// A token of another server.
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

impl Challenge {
    /// The challenge of an answer. A token is preferred to a password.
    ///
    /// # Errors
    /// [`Fault::Challenge`] if there is neither.
    pub fn of(headers: &HeaderMap) -> Result<Challenge, Fault> {
        let texts: Vec<&str> =
            headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok()).collect();
        let found: Vec<(String, BTreeMap<String, String>)> = texts.iter().flat_map(|text| parsed(text)).collect();
        let bearer = found.iter().find_map(|(scheme, values)| {
            let value = |name: &str| values.get(name).cloned();
            let realm = value("realm").filter(|_| scheme == "bearer")?;
            Some(Challenge::Bearer { realm, service: value("service"), scope: value("scope") })
        });
        let basic = || found.iter().any(|(scheme, _)| scheme == "basic").then_some(Challenge::Basic);
        let schemes = || found.iter().map(|(scheme, _)| scheme.as_str()).collect::<Vec<_>>().join(", ");
        bearer.or_else(basic).ok_or_else(|| Fault::Challenge(schemes()))
    }
}

/// The schemes of a header, in lower case, with their parameters.
fn parsed(text: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut found: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    let mut rest = text.trim_start_matches([' ', ',']);
    while !rest.is_empty() {
        let end = rest.find([' ', ',', '=']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let word = word.to_ascii_lowercase();
        let Some(value) = after.strip_prefix('=') else {
            if !word.is_empty() {
                found.push((word, BTreeMap::new()));
            }
            rest = after.trim_start_matches([' ', ',']);
            continue;
        };
        let (value, after) = value_of(value);
        if let Some((_, values)) = found.last_mut() {
            values.entry(word).or_insert(value);
        }
        rest = after.trim_start_matches([' ', ',', '=']);
    }
    found
}

/// The value at the start of a text, which may be in quotes, and what follows it.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = text.split_at(text.find([' ', ',']).unwrap_or(text.len()));
        return (value.to_string(), rest);
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            letter => value.push(letter),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge(headers: &[&str]) -> Result<Challenge, Fault> {
        let mut map = HeaderMap::new();
        for header in headers {
            map.append(WWW_AUTHENTICATE, header.parse().unwrap());
        }
        Challenge::of(&map)
    }

    #[test]
    fn finds_realm_service_and_scope() {
        let bearer = |service: Option<&str>, scope: Option<&str>| Challenge::Bearer {
            realm: "https://auth.example/token".to_string(),
            service: service.map(str::to_string),
            scope: scope.map(str::to_string),
        };
        for (headers, expected) in [
            (
                &[r#"Bearer realm="https://auth.example/token",service="registry",scope="repository:a/b:pull,push""#][..],
                bearer(Some("registry"), Some("repository:a/b:pull,push")),
            ),
            (&["bearer realm=https://auth.example/token , error=\"x\\\"y\""], bearer(None, None)),
            (&["Basic realm=\"x\", Bearer realm=\"https://auth.example/token\""], bearer(None, None)),
            (&["Basic", "Bearer realm=\"https://auth.example/token\",service=s"], bearer(Some("s"), None)),
            (&["BASIC realm=\"Registry\""], Challenge::Basic),
            (&["Negotiate", "Basic realm=\"open"], Challenge::Basic),
        ] {
            assert_eq!(challenge(headers), Ok(expected), "{headers:?}");
        }
    }

    #[test]
    fn rejects_what_is_no_challenge() {
        for (headers, schemes) in [
            (&[][..], ""),
            (&[""], ""),
            (&["=,=\"", "\"\\"], "\", \"\\"),
            (&["Negotiate abc=", "Digest realm=\"x\""], "negotiate, digest"),
            (&["Bearer service=\"x\""], "bearer"),
        ] {
            assert_eq!(challenge(headers), Err(Fault::Challenge(schemes.to_string())), "{headers:?}");
        }
    }
}
