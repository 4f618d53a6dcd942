//! Credentials for registries, from the files that `docker login`, `podman login` and `skopeo login` write: Docker's `config.json`, and
//! containers-auth.json(5). A program `docker-credential-NAME` may keep them instead.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use packline_http::Credentials;
use packline_runtime::open_regular;
use serde_json::{Map, Value};

use crate::host::commands::credential_helper;
use crate::ui::escape::Escape;

/// Largest file, and largest answer of a program, in bytes.
const FILE_MOST: u64 = 1 << 20;
/// The name under which a program keeps the credentials for Docker Hub.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";
/// The name that a program gives to an identity token.
const IDENTITY: &str = "<token>";

/// Returns the credentials for an image: those of the first file that has some.
///
/// # Errors
/// A file cannot be read, or a program fails.
pub fn find(files: &[PathBuf], registry: &str, repository: &str) -> Result<Option<Credentials>, String> {
    for path in files {
        let failed = |what: String| format!("{}: {what}", path.escaped());
        let Some(file) = read(path).map_err(failed)? else { continue };
        if let Some(found) = find_in(&file, registry, repository, credential_helper).map_err(failed)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Reads a file. `None` if it does not exist.
fn read(path: &Path) -> Result<Option<Value>, String> {
    let mut bytes = Vec::new();
    let read = open_regular(path).and_then(|file| file.take(FILE_MOST).read_to_end(&mut bytes));
    match read {
        Ok(_) if bytes.trim_ascii().is_empty() => Ok(None),
        Ok(_) => serde_json::from_slice(&bytes).map(Some).map_err(|error| error.to_string()),
        Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(cause) => Err(format!("cannot read: {cause}")),
    }
}

/// Returns the credentials in a file, or those of a program that it names. `ask` runs a program.
fn find_in(
    file: &Value,
    registry: &str,
    repository: &str,
    ask: impl Fn(&str, &str) -> io::Result<Vec<u8>>,
) -> Result<Option<Credentials>, String> {
    let server = if registry == "docker.io" { DOCKER_HUB } else { registry };
    let text =
        |value: Option<&Value>| value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_string);
    let helpers = file.get("credHelpers").and_then(Value::as_object);
    let own = helpers.and_then(|helpers| helpers.iter().find(|(name, _)| host_of(name) == registry));
    if let Some(helper) = own.and_then(|(_, helper)| text(Some(helper))) {
        return asked(&helper, server, ask);
    }
    let entries = file.get("auths").and_then(Value::as_object);
    if let Some(found) = entries.and_then(|entries| entry(entries, registry, repository)) {
        return found.map(Some);
    }
    match text(file.get("credsStore")) {
        Some(helper) => asked(&helper, server, ask),
        None => Ok(None),
    }
}

/// The credentials of the entry with the longest name that fits: the registry, or a part of the path of the image.
fn entry(entries: &Map<String, Value>, registry: &str, repository: &str) -> Option<Result<Credentials, String>> {
    let mut name = format!("{registry}/{repository}");
    loop {
        let mut fitting =
            entries.iter().filter(|(key, _)| **key == name || !name.contains('/') && host_of(key) == name);
        if let Some(found) = fitting.find_map(|(_, value)| credentials_of(value)) {
            return Some(found);
        }
        name.truncate(name.rfind('/')?);
    }
}

/// The server of a name in a file, which may be an address: `https://index.docker.io/v1/` is `docker.io`.
fn host_of(name: &str) -> String {
    let (is_address, rest) = match name.split_once("://") {
        Some((_, rest)) => (true, rest),
        None => (false, name),
    };
    let host = if is_address || rest.ends_with('/') { rest.split('/').next().unwrap_or_default() } else { rest };
    let host = host.to_ascii_lowercase();
    if host == "index.docker.io" { "docker.io".to_string() } else { host }
}

/// The credentials of an entry. `None` for an empty entry, which stands for a program that keeps them.
fn credentials_of(entry: &Value) -> Option<Result<Credentials, String>> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let Some(token) = text("identitytoken") {
        return Some(Ok(Credentials::identity_token(token)));
    }
    if let Some(encoded) = text("auth") {
        let what = || "an entry with an invalid 'auth' (expected NAME:PASSWORD in Base64)".to_string();
        return Some(Credentials::encoded(encoded).ok_or_else(what));
    }
    Some(Ok(Credentials::password(text("username")?, text("password")?)))
}

/// The credentials that a program keeps for a server.
fn asked(
    helper: &str,
    server: &str,
    ask: impl Fn(&str, &str) -> io::Result<Vec<u8>>,
) -> Result<Option<Credentials>, String> {
    let name = helper.as_bytes().escaped();
    if helper.contains('/') {
        return Err(format!("'{name}' is not the name of a program for credentials (expected a name without slash)"));
    }
    let program = format!("docker-credential-{helper}");
    let answer = ask(&program, server).map_err(|cause| format!("docker-credential-{name}: {cause}"))?;
    let answer = answer.get(..FILE_MOST as usize).unwrap_or(&answer);
    let answer: Option<Value> = serde_json::from_slice(answer).ok();
    let text = |name: &str| answer.as_ref()?.get(name)?.as_str();
    match (text("Username"), text("Secret")) {
        (Some(IDENTITY), Some(token)) => Ok(Some(Credentials::identity_token(token))),
        (Some(user), Some(password)) => Ok(Some(Credentials::password(user, password))),
        // The program answers in words if it has no credentials.
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(file: &Value, registry: &str, repository: &str) -> Option<Credentials> {
        let ask = |program: &str, server: &str| match (program, server) {
            ("docker-credential-store", DOCKER_HUB) => Ok(br#"{"Username":"hub","Secret":"s"}"#.to_vec()),
            ("docker-credential-store", "token.example") => Ok(br#"{"Username":"<token>","Secret":"t"}"#.to_vec()),
            ("docker-credential-own", "own.example") => Ok(br#"{"Username":"own","Secret":"s"}"#.to_vec()),
            ("docker-credential-store", _) => Ok(b"credentials not found in native keychain\n".to_vec()),
            _ => Err(io::ErrorKind::NotFound.into()),
        };
        find_in(file, registry, repository, ask).unwrap()
    }

    #[test]
    fn finds_the_entry_of_an_image_or_of_its_registry() {
        let file = json!({
            "auths": {
                "https://index.docker.io/v1/": {"auth": "aHViOnM="},
                "Localhost:5000": {"username": "a", "password": "b"},
                "quay.io/team": {"auth": "dDpz"},
                "quay.io": {"auth": "cTpz"},
                "ghcr.io": {"identitytoken": "t"},
                "empty.example": {},
            }
        });
        let password = |name, password| Some(Credentials::password(name, password));
        assert_eq!(found(&file, "docker.io", "library/debian"), password("hub", "s"));
        assert_eq!(found(&file, "localhost:5000", "x"), password("a", "b"));
        assert_eq!(found(&file, "quay.io", "team/x"), password("t", "s"));
        assert_eq!(found(&file, "quay.io", "teams/x"), password("q", "s"));
        assert_eq!(found(&file, "ghcr.io", "x"), Some(Credentials::identity_token("t")));
        for registry in ["empty.example", "localhost", "evil.example", "io"] {
            assert_eq!(found(&file, registry, "quay.io/team"), None, "{registry}");
        }
        for none in [json!({}), json!([]), json!(null), json!({"auths": 1, "credsStore": 2, "credHelpers": []})] {
            assert_eq!(found(&none, "quay.io", "x"), None);
        }
    }

    #[test]
    fn a_program_may_keep_them() {
        let file = json!({
            "auths": {"https://index.docker.io/v1/": {}, "quay.io": {"auth": "cTpz"}, "own.example": {"auth": "cTpz"}},
            "credsStore": "store",
            "credHelpers": {"own.example": "own"},
        });
        assert_eq!(found(&file, "docker.io", "library/x"), Some(Credentials::password("hub", "s")));
        assert_eq!(found(&file, "own.example", "x"), Some(Credentials::password("own", "s")));
        assert_eq!(found(&file, "quay.io", "x"), Some(Credentials::password("q", "s")));
        assert_eq!(found(&file, "token.example", "x"), Some(Credentials::identity_token("t")));
        assert_eq!(found(&file, "other.example", "x"), None);
        let never = |_: &str, _: &str| -> io::Result<Vec<u8>> { Err(io::Error::other("no such program")) };
        let failed = |file: Value| find_in(&file, "x.example", "x", never).unwrap_err();
        assert!(failed(json!({"credsStore": "../../bin/x"})).contains("without slash"));
        assert_eq!(failed(json!({"credsStore": "none"})), "docker-credential-none: no such program");
        assert!(
            failed(json!({"auths": {"x.example": {"auth": "a\r\nb"}}})).contains("(expected NAME:PASSWORD in Base64)")
        );
    }
}
