//! The changes of one version, from CHANGELOG.md.

use std::path::Path;

use crate::release::named;

/// Returns the section of a version with its heading.
pub fn of_version(root: &Path, version: &str) -> Result<String, String> {
    let path = root.join("CHANGELOG.md");
    let text = std::fs::read_to_string(&path).map_err(|cause| named(&path, cause))?;
    section(&text, version).ok_or_else(|| format!("CHANGELOG.md has no section `## [{version}]`"))
}

fn section(text: &str, version: &str) -> Option<String> {
    let head = format!("## [{version}]");
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&head));
    let first = lines.next()?;
    // The links that a changelog ends with belong to no version.
    let rest = lines.take_while(|line| !line.starts_with("## ") && !line.starts_with("[Unreleased]: "));
    Some(std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\n").trim_end().to_owned() + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_before_the_next() {
        let text = "# Changelog\n\n## [0.2.0] - x\n\nnew\n\n### Added\n- a\n\n## [0.1.0]\n\nold\n";
        assert_eq!(section(text, "0.2.0").unwrap(), "## [0.2.0] - x\n\nnew\n\n### Added\n- a\n");
        assert_eq!(section(text, "0.1.0").unwrap(), "## [0.1.0]\n\nold\n");
        assert_eq!(section(text, "0.3.0"), None);
        assert!(of_version(crate::shell::root(), env!("CARGO_PKG_VERSION")).is_ok());
    }
}
