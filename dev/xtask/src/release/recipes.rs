//! Recipes of other package managers, which build from the source archive.

use std::path::Path;

use crate::shell;

/// What the templates in dev/packaging leave open.
pub struct Values<'a> {
    pub version: &'a str,
    /// Where the source archive can be downloaded, without its name.
    pub url: &'a str,
    /// The hash of the source archive, in hexadecimal.
    pub sha256: &'a str,
}

const TEMPLATES: [(&str, &str); 3] = [
    ("PKGBUILD", include_str!("../../../packaging/PKGBUILD")),
    ("packline.nix", include_str!("../../../packaging/packline.nix")),
    ("packline.rb", include_str!("../../../packaging/packline.rb")),
];

/// Writes all recipes.
pub fn write(out: &Path, values: &Values) -> Result<(), String> {
    TEMPLATES.iter().try_for_each(|(name, template)| shell::write(&out.join(name), &filled(template, values)))
}

fn filled(template: &str, values: &Values) -> String {
    let filled = template.replace("@VERSION@", values.version).replace("@SHA256@", values.sha256);
    filled.replace("@URL@", values.url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_open() {
        let values = Values { version: "1.2.3", url: "https://host/v1.2.3", sha256: "00ff" };
        for (name, template) in TEMPLATES {
            let text = filled(template, &values);
            assert!(!text.contains('@') && text.contains("1.2.3") && text.contains("00ff"), "{name}: {text}");
            assert!(text.contains("https://host/v1.2.3/packline-"), "{name}: {text}");
        }
    }
}
