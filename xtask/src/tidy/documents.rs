//! Documents name only paths that exist.

use std::path::Path;

const DOCUMENTS: [&str; 4] = ["docs/architecture.md", "docs/benchmarks.md", "README.md", "bench/README.md"];

pub fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut violations = Vec::new();
    for name in DOCUMENTS {
        match std::fs::read_to_string(root.join(name)) {
            Err(cause) => violations.push(format!("{name}: {cause}")),
            Ok(text) => {
                violations.extend(missing(root, &text).into_iter().map(|path| format!("{name}: {path} does not exist")))
            }
        }
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
