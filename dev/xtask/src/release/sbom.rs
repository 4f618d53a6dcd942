//! The software bill of materials in CycloneDX 1.5: each crate of the program with its licence, its hash and the crates that it needs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::metadata::{self, Metadata, Package};
use crate::release::{Job, VERSION, named};

/// Hashes of crates by `NAME@VERSION`, from Cargo.lock.
type Hashes = BTreeMap<String, String>;

/// Returns the document. It names the crates of all released processors.
pub fn document(job: &Job) -> Result<String, String> {
    let path = job.root.join("Cargo.lock");
    let lock = std::fs::read_to_string(&path).map_err(|cause| named(&path, cause))?;
    let mut used = BTreeSet::new();
    for target in metadata::TARGETS {
        used.extend(metadata::crates_of_program(target)?);
    }
    let document = describe(&Metadata::read()?, &used, &hashes(&lock), job.time);
    serde_json::to_string_pretty(&document).map(|text| text + "\n").map_err(|cause| cause.to_string())
}

fn describe(metadata: &Metadata, used: &BTreeSet<String>, hashes: &Hashes, time: u64) -> Value {
    let is_used = |package: &Package| used.contains(&name_and_version(package));
    let needed = metadata.needed_by("packline-cli");
    let packages: BTreeMap<String, (&str, &Package)> = needed
        .into_iter()
        .filter(|(_, package)| is_used(package))
        .map(|(id, package)| (reference(package), (id, package)))
        .collect();
    let references: BTreeMap<&str, &String> = packages.iter().map(|(reference, (id, _))| (*id, reference)).collect();
    let dependencies: Vec<Value> = packages
        .iter()
        .map(|(reference, (id, _))| {
            let needs: BTreeSet<&&String> = metadata.dependencies(id).filter_map(|id| references.get(id)).collect();
            json!({ "ref": reference, "dependsOn": needs })
        })
        .collect();
    let components: Vec<Value> = packages.values().map(|(_, package)| component(package, hashes)).collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": crate::clock::timestamp(time),
            "component": {
                "type": "application", "bom-ref": "packline", "name": "packline", "version": VERSION,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    })
}

fn name_and_version(package: &Package) -> String {
    format!("{}@{}", package.name, package.version)
}

/// The package URL (<https://github.com/package-url/purl-spec>), which is the same for the crates here as if they were published.
fn reference(package: &Package) -> String {
    // A plus begins the part of a version that names the C library in a crate.
    format!("pkg:cargo/{}@{}", package.name, package.version.replace('+', "%2B"))
}

fn component(package: &Package, hashes: &Hashes) -> Value {
    let licence = package.license.as_deref().unwrap_or("NOASSERTION").replace('/', " OR ");
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(package),
        "name": package.name,
        "version": package.version,
        "purl": reference(package),
        "licenses": [{ "expression": licence }],
    });
    if let Some(hash) = hashes.get(&name_and_version(package)) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": hash }]);
    }
    if let Some(description) = &package.description {
        component["description"] = json!(description.trim());
    }
    if let Some(repository) = &package.repository {
        component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    component
}

/// Reads the checksums. Cargo writes each field on a line, and the checksum after name and version.
fn hashes(lock: &str) -> Hashes {
    let mut hashes = Hashes::new();
    let (mut name, mut version) = ("", "");
    for line in lock.lines() {
        let Some((field, value)) = line.split_once(" = ") else { continue };
        let value = value.trim_matches('"');
        match field {
            "name" => name = value,
            "version" => version = value,
            "checksum" => _ = hashes.insert(format!("{name}@{version}"), value.to_owned()),
            _ => {}
        }
    }
    hashes
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"0.1.0+c\"\nchecksum = \"00ff\"\n";
    const METADATA: &str = r#"{
        "packages": [
            {"id": "cli", "name": "packline-cli", "version": "1.0.0", "license": "MIT", "source": null},
            {"id": "a", "name": "a", "version": "0.1.0+c", "license": "MIT/Apache-2.0", "source": "registry", "description": "A\n"},
            {"id": "b", "name": "b", "version": "0.1.0", "license": "MIT", "source": "registry"}
        ],
        "resolve": {"nodes": [
            {"id": "cli", "deps": [{"pkg": "a", "dep_kinds": [{"kind": null}]}, {"pkg": "b", "dep_kinds": [{"kind": null}]}]},
            {"id": "a", "deps": []},
            {"id": "b", "deps": []}
        ]},
        "workspace_members": ["cli"]
    }"#;

    #[test]
    fn used_crates_are_described_with_what_they_need() {
        let used = ["packline-cli@1.0.0", "a@0.1.0+c"].map(str::to_owned).into();
        let document = describe(&Metadata::parse(METADATA).unwrap(), &used, &hashes(LOCK), 0);
        assert_eq!(document["metadata"]["timestamp"], "1970-01-01T00:00:00Z");
        assert_eq!(
            document["components"][0],
            json!({
                "type": "library", "bom-ref": "pkg:cargo/a@0.1.0%2Bc", "name": "a", "version": "0.1.0+c",
                "purl": "pkg:cargo/a@0.1.0%2Bc", "licenses": [{ "expression": "MIT OR Apache-2.0" }],
                "hashes": [{ "alg": "SHA-256", "content": "00ff" }], "description": "A",
            })
        );
        assert_eq!(document["components"].as_array().map(Vec::len), Some(2));
        let expected = json!({ "ref": "pkg:cargo/packline-cli@1.0.0", "dependsOn": ["pkg:cargo/a@0.1.0%2Bc"] });
        assert_eq!(document["dependencies"][1], expected);
    }
}
