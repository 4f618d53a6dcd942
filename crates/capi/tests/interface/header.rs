//! The header says what the sources say.

use std::collections::BTreeSet;
use std::fs;

use packline_testkit::c_library::{has_cbindgen, make_header, symbols};

use crate::declarations::Declaration;
use crate::{capi, header, sources};

/// Declarations as text, without handles, which have no content.
fn texts(declarations: Vec<Declaration>) -> BTreeSet<String> {
    let declared = declarations.iter().filter(|declared| !matches!(declared, Declaration::Handle(_)));
    declared.map(|declared| format!("{declared:?}")).collect()
}

#[test]
fn the_header_declares_what_the_sources_define() {
    let declared = texts(header());
    let defined = texts(sources::declarations());
    assert!(defined.len() > 50, "{defined:#?}");
    let differences: Vec<&String> = declared.symmetric_difference(&defined).collect();
    assert!(differences.is_empty(), "cargo xtask c-header makes the header anew: {differences:#?}");
}

#[test]
fn each_function_is_declared_once_and_exported() {
    let names: Vec<String> = header()
        .into_iter()
        .filter_map(|declared| match declared {
            Declaration::Function { name, .. } => Some(name),
            _ => None,
        })
        .collect();
    let unique: BTreeSet<String> = names.iter().cloned().collect();
    assert_eq!(unique.len(), names.len());
    let exported = symbols(&capi().join("packline.map")).unwrap();
    assert!(exported.is_sorted());
    assert_eq!(unique, exported.into_iter().collect());
}

/// Comments are compared, too, where cbindgen is installed. Without it the other tests compare all declarations.
#[test]
fn cbindgen_makes_the_same_header() {
    if let Err(cause) = has_cbindgen() {
        println!("only the declarations are compared: {cause}");
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let made = top.path().join("packline.h");
    make_header(capi(), &made).unwrap();
    let [made, kept] = [made, capi().join("include/packline.h")].map(|path| fs::read_to_string(path).unwrap());
    assert!(made == kept, "cargo xtask c-header makes the header anew");
}
