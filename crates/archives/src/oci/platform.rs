//! Platforms of an image: `OS/ARCHITECTURE[/VARIANT]`, in Go's terms.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform {
    os: String,
    architecture: String,
    variant: Option<String>,
}

impl Platform {
    /// Parses a platform. Linux's names of architectures are accepted too.
    pub fn parse(text: &str) -> Option<Platform> {
        let mut parts = text.split('/');
        let os = parts.next()?;
        let architecture = parts.next()?;
        let variant = parts.next();
        let empty = os.is_empty() || architecture.is_empty() || variant == Some("");
        if empty || parts.next().is_some() {
            return None;
        }
        Some(Platform::new(os, architecture, variant))
    }

    pub(super) fn new(os: &str, architecture: &str, variant: Option<&str>) -> Platform {
        let architecture = go_name(architecture);
        // The default variant.
        let variant = variant.filter(|variant| !variant.is_empty() && (architecture, *variant) != ("arm64", "v8"));
        Platform { os: os.to_string(), architecture: architecture.to_string(), variant: variant.map(str::to_string) }
    }

    /// Linux on the machine that this program was compiled for.
    pub fn this_machine() -> Platform {
        Platform::new("linux", std::env::consts::ARCH, None)
    }

    /// Whether an image for `other` is accepted. Without a variant, any variant is.
    pub(super) fn takes(&self, other: &Platform) -> bool {
        let variant = self.variant.is_none() || self.variant == other.variant;
        (&self.os, &self.architecture) == (&other.os, &other.architecture) && variant
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        self.variant.iter().try_for_each(|variant| write!(f, "/{variant}"))
    }
}

fn go_name(architecture: &str) -> &str {
    match architecture {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" | "i386" | "i686" => "386",
        "powerpc64le" => "ppc64le",
        "loongarch64" => "loong64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_and_variants() {
        let parse = |text| Platform::parse(text).unwrap();
        assert_eq!(parse("linux/x86_64"), parse("linux/amd64"));
        assert_eq!(parse("linux/arm64/v8").to_string(), "linux/arm64");
        assert!(parse("linux/arm").takes(&parse("linux/arm/v6")));
        assert!(!parse("linux/arm/v7").takes(&parse("linux/arm/v6")));
        assert!(!parse("linux/arm/v7").takes(&parse("linux/arm")));
        assert!(!parse("linux/amd64").takes(&parse("windows/amd64")));
        for text in ["", "linux", "linux/", "/amd64", "linux/arm/", "linux/arm/v7/x"] {
            assert_eq!(Platform::parse(text), None, "{text}");
        }
    }
}
