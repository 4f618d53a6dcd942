//! Documents name only paths that exist.

use crate::shell;
use std::path::Path;

/// Checks every document below `root` except the changelog, which names files of the past.
pub fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut violations = Vec::new();
    for path in shell::files(root)? {
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        if !name.ends_with(".md") || name == "CHANGELOG.md" {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(|cause| format!("{name}: {cause}"))?;
        violations.extend(missing(root, &text).into_iter().map(|path| format!("{name}: {path} does not exist")));
    }
    Ok(violations)
}

/// The names in backticks or links that look like paths in the repository and do not exist.
fn missing(root: &Path, text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let linked = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    quoted.chain(linked).filter(|name| is_ours(name) && !root.join(name).exists()).map(str::to_owned).collect()
}

/// Whether a quoted text looks like a path in the repository.
fn is_ours(name: &str) -> bool {
    const PLACES: [&str; 8] = ["crates/", "xtask/", "docs/", "fuzz/", "bench/", ".ci/", ".cargo/", "tests/"];
    let plain = !name.contains([' ', '*', '<', '{', '$', ':', '#']);
    plain && PLACES.iter().any(|place| name.starts_with(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_paths_are_found() {
        let root = crate::shell::root();
        assert!(missing(root, "`xtask/Cargo.toml`, [x](xtask/src/main.rs), `cargo test`, `a/b.rs`").is_empty());
        assert_eq!(
            missing(root, "see `xtask/src/gone.rs` and [y](docs/gone.md)"),
            ["xtask/src/gone.rs", "docs/gone.md"]
        );
    }
}
