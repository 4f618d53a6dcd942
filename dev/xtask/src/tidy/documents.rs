//! Documents name only paths that exist.

use std::path::Path;

/// A violation for each name in backticks or links that looks like a path in the repository and does not exist.
pub fn missing(root: &Path, text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let linked = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let gone = quoted.chain(linked).filter(|name| is_ours(name) && !root.join(name).exists());
    gone.map(|name| format!("{name} does not exist")).collect()
}

/// Whether a quoted text looks like a path in the repository.
fn is_ours(name: &str) -> bool {
    const PLACES: [&str; 7] = ["crates/", "dev/", "docs/", "bench/", ".ci/", ".cargo/", "tests/"];
    let plain = !name.contains([' ', '*', '<', '{', '$', ':', '#']);
    plain && PLACES.iter().any(|place| name.starts_with(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_paths_are_found() {
        let root = crate::shell::root();
        assert!(missing(root, "`dev/xtask/Cargo.toml`, [x](dev/xtask/src/main.rs), `cargo test`, `a/b.rs`").is_empty());
        assert_eq!(
            missing(root, "see `dev/xtask/src/gone.rs` and [y](docs/gone.md)"),
            ["dev/xtask/src/gone.rs does not exist", "docs/gone.md does not exist"]
        );
    }
}
