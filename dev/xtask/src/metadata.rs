//! What cargo knows of the crates: names, versions, licences and who depends on whom.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde::Deserialize;

use crate::shell;

/// The processors that releases are built for. Crates that only other systems need are left out of every list.
pub const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// Answer of `cargo metadata`.
#[derive(Debug, Deserialize)]
pub struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
    workspace_members: BTreeSet<String>,
}

/// A crate of one version.
#[derive(Debug, Clone, Deserialize)]
pub struct Package {
    pub id: String,
    pub name: String,
    pub version: String,
    /// An SPDX expression.
    pub license: Option<String>,
    pub description: Option<String>,
    pub repository: Option<String>,
    /// The registries that the crate may go to: an empty list if it is not published, `None` for any.
    pub publish: Option<Vec<String>>,
    /// `None` for the crates of this repository.
    pub source: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Debug, Deserialize)]
struct Kind {
    kind: Option<String>,
}

impl Kind {
    /// Tests and benchmarks do not reach a user.
    fn reaches_users(&self) -> bool {
        self.kind.as_deref() != Some("dev")
    }
}

impl Metadata {
    /// Asks cargo, which reads Cargo.lock and the manifests of all crates.
    pub fn read() -> Result<Metadata, String> {
        let mut command = shell::cargo();
        command.args(["metadata", "--format-version", "1", "--locked"]);
        command.args(TARGETS.iter().flat_map(|target| ["--filter-platform", target]));
        Metadata::parse(&shell::output(&mut command)?)
    }

    pub fn parse(text: &str) -> Result<Metadata, String> {
        serde_json::from_str(text).map_err(|cause| format!("cargo metadata: {cause}"))
    }

    /// All crates from outside this repository, those of tests included, sorted by name and version.
    pub fn foreign(&self) -> Vec<&Package> {
        let used: BTreeSet<&str> = self.resolve.nodes.iter().map(|node| node.id.as_str()).collect();
        let is_foreign = |package: &&Package| package.source.is_some() && used.contains(package.id.as_str());
        let mut packages: Vec<&Package> = self.packages.iter().filter(is_foreign).collect();
        packages.sort_by_key(|package| (&package.name, numbers(&package.version)));
        packages
    }

    /// The crates of this repository that are not published.
    pub fn unpublished(&self) -> impl Iterator<Item = &str> {
        let own = self.packages.iter().filter(|package| self.workspace_members.contains(&package.id));
        own.filter(|package| package.publish.as_ref().is_some_and(Vec::is_empty)).map(|package| package.name.as_str())
    }

    /// The crates that one crate of this repository needs to be built, itself included, by id.
    pub fn needed_by(&self, name: &str) -> BTreeMap<&str, &Package> {
        let packages: BTreeMap<&str, &Package> = self.packages.iter().map(|found| (found.id.as_str(), found)).collect();
        let is_root = |package: &&&Package| package.name == name && self.workspace_members.contains(&package.id);
        let mut pending: Vec<&str> = packages.values().filter(is_root).map(|package| package.id.as_str()).collect();
        let mut needed = BTreeMap::new();
        while let Some(id) = pending.pop() {
            let Some(package) = packages.get(id) else { continue };
            if needed.insert(id, *package).is_none() {
                pending.extend(self.dependencies(id));
            }
        }
        needed
    }

    /// The crates that a crate is built with, by id.
    pub fn dependencies(&self, id: &str) -> impl Iterator<Item = &str> {
        let node = self.resolve.nodes.iter().find(|node| node.id == id);
        let edges = node.into_iter().flat_map(|node| &node.deps);
        edges.filter(|edge| edge.dep_kinds.iter().any(Kind::reaches_users)).map(|edge| edge.pkg.as_str())
    }
}

/// Returns the `NAME@VERSION` of the crates that are linked into the program, or run to build it, on one processor with the default
/// features. `cargo metadata` joins the features of the whole workspace, so it names a few more.
pub fn crates_of_program(target: &str) -> Result<BTreeSet<String>, String> {
    let mut command: Command = shell::cargo();
    command.args(["tree", "--locked", "--package", "packline-cli", "--edges", "normal,build", "--target", target]);
    let tree = shell::output(command.args(["--prefix", "none", "--format", "{p}"]))?;
    Ok(tree.lines().filter_map(name_and_version).collect())
}

/// The numbers of a version, by which versions are in order.
fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

/// The crate of a line `NAME vVERSION [(SOURCE)] [(*)]`.
fn name_and_version(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    Some(format!("{}@{}", words.next()?, words.next()?.strip_prefix('v')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"{
        "packages": [
            {"id": "own", "name": "tool", "version": "1.0.0", "license": "MIT", "source": null},
            {"id": "b", "name": "b", "version": "0.2.0", "license": "MIT", "source": "registry"},
            {"id": "a", "name": "a", "version": "0.1.0", "license": null, "source": "registry"},
            {"id": "t", "name": "t", "version": "0.1.0", "license": "MIT", "source": "registry"},
            {"id": "w", "name": "windows", "version": "0.1.0", "license": "MIT", "source": "registry"}
        ],
        "resolve": {"nodes": [
            {"id": "own", "deps": [
                {"pkg": "b", "dep_kinds": [{"kind": "build"}]},
                {"pkg": "t", "dep_kinds": [{"kind": "dev"}]}
            ]},
            {"id": "b", "deps": [{"pkg": "a", "dep_kinds": [{"kind": null}, {"kind": "dev"}]}]},
            {"id": "a", "deps": []},
            {"id": "t", "deps": []}
        ]},
        "workspace_members": ["own"]
    }"#;

    #[test]
    fn crates_of_tests_are_foreign_but_not_needed() {
        let metadata = Metadata::parse(SMALL).unwrap();
        assert_eq!(metadata.foreign().iter().map(|package| &*package.name).collect::<Vec<_>>(), ["a", "b", "t"]);
        assert_eq!(metadata.needed_by("tool").into_keys().collect::<Vec<_>>(), ["a", "b", "own"]);
    }

    #[test]
    fn versions_are_in_order_of_their_numbers() {
        assert!(numbers("0.9.6") < numbers("0.10.2"));
        assert_eq!(numbers("1.11.1+lz4-1.10.0"), [1, 11, 1]);
    }

    #[test]
    fn lines_of_a_tree() {
        assert_eq!(name_and_version("serde v1.0.2 (*)").as_deref(), Some("serde@1.0.2"));
        assert_eq!(name_and_version("syn v2.0.1 (proc-macro)").as_deref(), Some("syn@2.0.1"));
        assert_eq!(name_and_version(""), None);
    }
}
