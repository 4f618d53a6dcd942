//! The name of an image in a registry: `[HOST[:PORT]/]NAME[:TAG][@DIGEST]`, as Docker, podman and skopeo write it.

use std::fmt;

/// The registry of names without a server, and where it answers.
const DOCKER: &str = "docker.io";
const DOCKER_SERVER: &str = "registry-1.docker.io";
/// Longest name and longest tag, in bytes.
const NAME_MOST: usize = 255;
const TAG_MOST: usize = 128;

/// An image in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    registry: String,
    repository: String,
    /// `latest` if neither a tag nor a digest is given.
    tag: Option<String>,
    /// Decides, if there is a tag too.
    digest: Option<String>,
}

impl Reference {
    /// Parses what follows `docker://`.
    ///
    /// # Errors
    /// A part that is not valid, with the form that is.
    pub fn parse(text: &str) -> Result<Reference, String> {
        let (name, digest) = text.split_once('@').map_or((text, None), |(name, digest)| (name, Some(digest)));
        if let Some(digest) = digest.filter(|digest| !is_digest(digest)) {
            // What precedes the sign may be a password.
            let what = if digest.contains('/') { "a name with '@' before a slash" } else { digest };
            return Err(format!("'{what}' is not a digest (expected sha256:HEX; a password comes from docker login)"));
        }
        let (name, tag) = match name.rfind(':').filter(|colon| !name[*colon..].contains('/')) {
            Some(colon) => (&name[..colon], Some(&name[colon + 1..])),
            None => (name, None),
        };
        let (registry, repository) = match name.split_once('/') {
            Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (first, rest),
            _ => (DOCKER, name),
        };
        let registry = if registry == "index.docker.io" { DOCKER } else { registry };
        let is_short = registry == DOCKER && !repository.contains('/');
        let repository = if is_short { format!("library/{repository}") } else { repository.to_string() };
        if !is_repository(&repository) {
            return Err(format!("'{name}' is not the name of an image (expected [HOST[:PORT]/]NAME in lower case)"));
        }
        if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
            return Err(format!("'{tag}' is not a tag (expected up to {TAG_MOST} letters, digits, '_', '.' and '-')"));
        }
        let tag = tag.or_else(|| digest.is_none().then_some("latest"));
        Ok(Reference {
            registry: registry.to_ascii_lowercase(),
            repository,
            tag: tag.map(str::to_string),
            digest: digest.map(str::to_string),
        })
    }

    /// The name of the registry: `HOST` or `HOST:PORT`. `docker.io` stands for Docker Hub.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The name of the image in the registry, without a tag.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The digest, if it is given.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// `HOST[:PORT]` of the server that answers.
    pub(super) fn server(&self) -> &str {
        if self.registry == DOCKER { DOCKER_SERVER } else { &self.registry }
    }

    /// The digest, or the tag without one.
    pub(super) fn wanted(&self) -> &str {
        self.digest().or(self.tag.as_deref()).unwrap_or_default()
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "docker://{}/{}", self.registry, self.repository)?;
        self.tag.iter().try_for_each(|tag| write!(f, ":{tag}"))?;
        self.digest.iter().try_for_each(|digest| write!(f, "@{digest}"))
    }
}

/// Whether a text has the form `ALGORITHM:HEX`.
fn is_digest(text: &str) -> bool {
    let is_hex = |hex: &str| hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    text.split_once(':')
        .is_some_and(|(name, hex)| matches!((name, hex.len()), ("sha256", 64) | ("sha512", 128)) && is_hex(hex))
}

fn is_tag(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let all = text.bytes().all(|byte| is_plain(byte) || matches!(byte, b'.' | b'-'));
    all && text.len() <= TAG_MOST && text.bytes().next().is_some_and(is_plain)
}

/// Whether each part between slashes has only lower-case letters, digits and separators, and begins and ends with one of the former.
fn is_repository(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let ends = part.bytes().next().zip(part.bytes().last());
        let all = part.bytes().all(|byte| is_plain(byte) || matches!(byte, b'.' | b'_' | b'-'));
        all && ends.is_some_and(|(first, last)| is_plain(first) && is_plain(last)) && !part.contains("..")
    };
    text.len() <= NAME_MOST && text.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_defaults() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        for (text, shown, server) in [
            ("debian", "docker.io/library/debian:latest", "registry-1.docker.io"),
            ("debian:12", "docker.io/library/debian:12", "registry-1.docker.io"),
            ("docker.io/library/debian:12", "docker.io/library/debian:12", "registry-1.docker.io"),
            ("index.docker.io/debian", "docker.io/library/debian:latest", "registry-1.docker.io"),
            ("user/app", "docker.io/user/app:latest", "registry-1.docker.io"),
            ("localhost/app", "localhost/app:latest", "localhost"),
            ("Localhost:5000/a/b-c__d:V.1", "localhost:5000/a/b-c__d:V.1", "localhost:5000"),
            ("[::1]:5000/a", "[::1]:5000/a:latest", "[::1]:5000"),
            (&format!("quay.io/a/b@{digest}"), &format!("quay.io/a/b@{digest}"), "quay.io"),
            (&format!("quay.io/a/b:1@{digest}"), &format!("quay.io/a/b:1@{digest}"), "quay.io"),
        ] {
            let found = Reference::parse(text).unwrap();
            assert_eq!((found.to_string(), found.server()), (format!("docker://{shown}"), server), "{text}");
        }
        assert_eq!(Reference::parse(&format!("a:1@{digest}")).unwrap().wanted(), digest);
    }

    #[test]
    fn rejects_invalid_names_without_showing_secrets() {
        for text in [
            "",
            "/",
            "Debian",
            "debian:",
            "debian:-1",
            "debian:a b",
            "debian?x",
            "quay.io/",
            "quay.io/a//b",
            "quay.io/../b",
            "quay.io/a/.b",
            "a@sha256:abc",
            "a@md5:00",
            "me:secret@quay.io/a",
            "a\u{1b}",
        ] {
            let error = Reference::parse(text).unwrap_err();
            assert!(error.contains("(expected ") && !error.contains("secret"), "{text}: {error}");
        }
    }
}
