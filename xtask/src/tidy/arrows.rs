//! The floors: which crate may use which. Read from the manifests, since an arrow that is not there cannot be used.

use std::path::Path;

/// Each crate with those of ours that it may use.
const MAY_USE: [(&str, &[&str]); 12] = [
    ("engine", &[]),
    ("codec", &[]),
    ("tree", &[]),
    ("longrange", &[]),
    ("squashfs", &["engine", "codec", "tree"]),
    ("lrz", &["engine", "codec", "tree", "longrange"]),
    ("pln", &["engine", "codec", "tree", "longrange"]),
    ("packline", &["engine", "codec", "tree", "squashfs", "lrz", "pln"]),
    ("cli", &["packline"]),
    ("testkit", &["codec"]),
    ("simulate", &["testkit"]),
    ("bench", &["testkit", "packline", "engine", "codec", "tree", "squashfs", "lrz", "pln", "longrange"]),
];

/// Checks every crate's manifest.
pub fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut breaches = Vec::new();
    let crates = std::fs::read_dir(root.join("crates")).map_err(|cause| format!("crates: {cause}"))?;
    for directory in crates.flatten().map(|entry| entry.path()) {
        let manifest = directory.join("Cargo.toml");
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Ok(text) = std::fs::read_to_string(&manifest) else { continue };
        breaches.extend(breaches_of(&name, &text).into_iter().map(|breach| format!("crates/{name}: {breach}")));
    }
    breaches.sort();
    Ok(breaches)
}

fn breaches_of(name: &str, manifest: &str) -> Vec<String> {
    let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
        return vec!["no floor is known for it (add it to the floors in xtask)".into()];
    };
    let mut section = "";
    let mut breaches = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
        }
        let Some(used) = own_crate(line) else { continue };
        // Tests may use the test kit, and the crates below as their makers do.
        let in_tests = section == "dev-dependencies" && used == "testkit";
        if section.ends_with("dependencies") && !in_tests && !allowed.contains(&used) {
            breaches.push(format!("uses {used} in [{section}] (expected only {allowed:?})"));
        }
    }
    breaches
}

/// The crate of ours that a dependency's line names, as its directory is called.
fn own_crate(line: &str) -> Option<&str> {
    let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
    if name == "packline" { Some(name) } else { name.strip_prefix("packline-") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_point_down() {
        let manifest =
            |section: &str, name: &str| format!("[package]\nname = \"x\"\n\n[{section}]\n{name}.workspace = true\n");
        let breaches = |own: &str, section: &str, name: &str| breaches_of(own, &manifest(section, name)).len();
        assert_eq!(breaches("squashfs", "dependencies", "packline-codec"), 0);
        assert_eq!(breaches("engine", "dependencies", "packline-codec"), 1);
        assert_eq!(breaches("squashfs", "dependencies", "packline-pln"), 1);
        assert_eq!(breaches("tree", "dependencies", "packline"), 1);
        assert_eq!(breaches("cli", "dev-dependencies", "packline-testkit"), 0);
        assert_eq!(breaches("cli", "dependencies", "packline-testkit"), 1);
        assert_eq!(breaches("cli", "build-dependencies", "packline-engine"), 1);
        assert_eq!(breaches("cellar", "dependencies", "thiserror"), 1);
    }
}
