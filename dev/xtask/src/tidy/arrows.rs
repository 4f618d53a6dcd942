//! The layers: which crate may depend on which, checked in the manifests, and the layers of files within the command.

use std::path::Path;

use super::imports::{self, Imports};

/// Folders and files of `crates/cli/src`, from the lowest layer. A file imports from its own layer and from lower ones; tests import from all.
const CLI_LAYERS: [&str; 6] = ["host", "ui", "args", "commands", "compat", "dispatch"];

/// Each crate with the workspace crates that it may depend on.
const MAY_USE: [(&str, &[&str]); 27] = [
    ("engine", &[]),
    ("runtime", &["engine"]),
    ("codec", &[]),
    ("tree", &["engine", "runtime"]),
    ("archives", &["engine", "runtime", "tree"]),
    ("manifests", &["runtime", "tree"]),
    ("longrange", &["engine"]),
    ("http", &["runtime"]),
    ("cache", &["runtime", "codec", "http"]),
    ("encryption", &["engine", "runtime"]),
    ("recovery", &["engine", "runtime"]),
    ("volume", &["engine", "runtime", "codec", "tree"]),
    ("blocks", &["engine", "runtime", "codec", "tree", "cache"]),
    ("squashfs", &["engine", "runtime", "codec", "tree", "cache", "volume", "blocks"]),
    ("erofs", &["engine", "runtime", "codec", "tree", "cache", "volume", "blocks"]),
    ("lrz", &["engine", "runtime", "codec", "longrange"]),
    ("pln", &["engine", "runtime", "codec", "cache", "recovery"]),
    ("verity", &["engine", "runtime"]),
    ("image", &["engine", "runtime", "codec", "tree", "archives", "manifests", "volume", "squashfs", "erofs"]),
    ("delta", &["engine", "runtime", "codec", "tree", "longrange", "cache", "squashfs"]),
    (
        "packline",
        &[
            "engine",
            "runtime",
            "codec",
            "tree",
            "archives",
            "manifests",
            "cache",
            "encryption",
            "volume",
            "blocks",
            "squashfs",
            "erofs",
            "lrz",
            "pln",
            "image",
            "delta",
            "recovery",
            "verity",
        ],
    ),
    (
        "cli",
        &[
            "packline",
            "bench",
            "image",
            "engine",
            "runtime",
            "codec",
            "tree",
            "archives",
            "manifests",
            "http",
            "cache",
            "encryption",
            "volume",
            "blocks",
            "squashfs",
            "erofs",
            "lrz",
            "pln",
            "delta",
            "recovery",
            "verity",
        ],
    ),
    ("capi", &["packline"]),
    ("testkit", &["codec"]),
    ("simulate", &["testkit"]),
    ("bench", &["packline", "runtime", "codec", "tree", "archives"]),
    (
        "microbench",
        &[
            "testkit",
            "packline",
            "engine",
            "codec",
            "tree",
            "archives",
            "volume",
            "squashfs",
            "lrz",
            "pln",
            "longrange",
        ],
    ),
];

/// Tools that may use each crate.
const ANY_CRATE: [&str; 2] = ["xtask", "fuzz"];

pub fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut violations = Vec::new();
    let entries_of = |folder: &str| std::fs::read_dir(root.join(folder)).map_err(|cause| format!("{folder}: {cause}"));
    let entries = entries_of("crates")?.chain(entries_of("dev")?);
    for directory in entries.flatten().map(|entry| entry.path()) {
        let manifest = directory.join("Cargo.toml");
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if ANY_CRATE.contains(&name.as_str()) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&manifest) else { continue };
        let imports = imports::below(&directory.join("src"))?;
        let mut found = violations_of(&name, &text);
        found.extend(imports::large_circle(&imports));
        if name == "cli" {
            found.extend(upward(&imports));
        }
        violations.extend(found.into_iter().map(|violation| format!("{name}: {violation}")));
    }
    violations.sort();
    Ok(violations)
}

fn violations_of(name: &str, manifest: &str) -> Vec<String> {
    let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
        return vec!["not in the list of layers (add it to MAY_USE in xtask)".into()];
    };
    let mut section = "";
    let mut violations = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
        }
        let Some(used) = own_crate(line) else { continue };
        // Tests may use the test kit.
        let in_tests = section == "dev-dependencies" && used == "testkit";
        if section.ends_with("dependencies") && !in_tests && !allowed.contains(&used) {
            violations.push(format!("uses {used} in [{section}] (expected only {allowed:?})"));
        }
    }
    violations
}

/// Imports from a higher layer of the command.
fn upward(imports: &Imports) -> Vec<String> {
    let layer = |module: &str| {
        let first = module.split("::").next();
        CLI_LAYERS.iter().position(|known| Some(*known) == first).unwrap_or(CLI_LAYERS.len())
    };
    let pairs = imports.iter().flat_map(|(from, targets)| targets.iter().map(move |target| (from, target)));
    let upward = pairs.filter(|(from, target)| layer(from) < layer(target));
    upward
        .map(|(from, target)| format!("{from} imports {target}, which is a layer above (layers: {CLI_LAYERS:?})"))
        .collect()
}

/// The directory of the workspace crate that a dependency's line names.
fn own_crate(line: &str) -> Option<&str> {
    let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
    if name == "packline" { Some(name) } else { name.strip_prefix("packline-") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_of_the_command_point_down() {
        let imports = |from: &str, target: &str| Imports::from([(from.to_owned(), [target.to_owned()].into())]);
        assert!(upward(&imports("commands::pack", "ui::io")).is_empty());
        assert!(upward(&imports("compat::lrzip", "commands::info")).is_empty());
        assert!(upward(&imports("tests::pack", "dispatch::table")).is_empty());
        assert_eq!(upward(&imports("ui::io", "args")).len(), 1);
        assert_eq!(upward(&imports("args::value", "dispatch::table")).len(), 1);
    }

    #[test]
    fn arrows_point_down() {
        let manifest =
            |section: &str, name: &str| format!("[package]\nname = \"x\"\n\n[{section}]\n{name}.workspace = true\n");
        let violations = |own: &str, section: &str, name: &str| violations_of(own, &manifest(section, name)).len();
        assert_eq!(violations("squashfs", "dependencies", "packline-codec"), 0);
        assert_eq!(violations("engine", "dependencies", "packline-codec"), 1);
        assert_eq!(violations("squashfs", "dependencies", "packline-pln"), 1);
        assert_eq!(violations("tree", "dependencies", "packline"), 1);
        assert_eq!(violations("archives", "dependencies", "packline-tree"), 0);
        assert_eq!(violations("tree", "dependencies", "packline-archives"), 1);
        assert_eq!(violations("manifests", "dependencies", "packline-archives"), 1);
        assert_eq!(violations("cli", "dev-dependencies", "packline-testkit"), 0);
        assert_eq!(violations("cli", "dependencies", "packline-testkit"), 1);
        assert_eq!(violations("cli", "build-dependencies", "packline-longrange"), 1);
        assert_eq!(violations("cellar", "dependencies", "thiserror"), 1);
    }
}
