//! Which files of a crate import from which, by `crate::` and `super::`, and the circles that they form.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::shell;

/// Files that import from one another, directly or through others, are hard to read one at a time.
const MAX_CIRCLE: usize = 5;

/// Each module that is a file, by its path in the crate, with the modules that the file imports from. The root is the empty path.
pub type Imports = BTreeMap<String, BTreeSet<String>>;

/// Reads the imports between the files below a crate's `src`. The imports of inline tests do not count.
pub fn below(src: &Path) -> Result<Imports, String> {
    let mut texts = BTreeMap::new();
    for path in shell::files(src)?.into_iter().filter(|path| path.extension().is_some_and(|kind| kind == "rs")) {
        let name = path.strip_prefix(src).unwrap_or(&path).with_extension("").to_string_lossy().replace('/', "::");
        let text = std::fs::read_to_string(&path).map_err(|cause| format!("{}: {cause}", path.display()))?;
        let module = if name == "main" || name == "lib" { "" } else { name.strip_suffix("::mod").unwrap_or(&name) };
        texts.insert(module.to_owned(), text);
    }
    let imports_of = |module: &str, text: &str| {
        let targets =
            paths_in(module, text).into_iter().filter_map(|path| file_of(&path, |name| texts.contains_key(name)));
        targets.filter(|target| target != module).collect()
    };
    Ok(texts.iter().map(|(module, text)| (module.clone(), imports_of(module, text))).collect())
}

/// Returns the violation of a crate whose largest circle has too many files.
pub fn large_circle(imports: &Imports) -> Option<String> {
    let largest = largest_circle(imports);
    let size = largest.len();
    let files = || largest.join(", ");
    (size > MAX_CIRCLE)
        .then(|| format!("{size} files import from one another (expected at most {MAX_CIRCLE}): {}", files()))
}

fn largest_circle(imports: &Imports) -> Vec<&str> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|module| (module.as_str(), reached_from(module, imports))).collect();
    let circle_of = |module: &&str| {
        let others = reached[*module].iter().filter(|other| reached[**other].contains(*module));
        others.copied().collect::<Vec<_>>()
    };
    reached.keys().map(circle_of).max_by_key(Vec::len).unwrap_or_default()
}

fn reached_from<'i>(module: &'i str, imports: &'i Imports) -> BTreeSet<&'i str> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![module];
    while let Some(module) = pending.pop() {
        pending.extend(imports[module].iter().map(String::as_str).filter(|target| reached.insert(*target)));
    }
    reached
}

/// The longest part of a path that names a file.
fn file_of(path: &str, is_file: impl Fn(&str) -> bool) -> Option<String> {
    let parts: Vec<&str> = path.split("::").collect();
    (0..=parts.len()).rev().map(|length| parts[..length].join("::")).find(|name| is_file(name))
}

/// The paths from the crate's root in the text of a module.
fn paths_in(module: &str, text: &str) -> Vec<String> {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let code: Vec<&str> = text.lines().filter(is_code).collect();
    // A condition may have more than `test`: `#[cfg(all(test, not(loom)))]`.
    let is_condition = |line: &str| line == "#[cfg(test)]" || line.starts_with("#[cfg(all(test,");
    let is_tests = |pair: &[&str]| is_condition(pair[0]) && pair[1].starts_with("mod ") && pair[1].ends_with('{');
    let end = code.windows(2).position(is_tests).unwrap_or(code.len());
    let code = code[..end].join("\n");
    let mut paths = Vec::new();
    for (at, start) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        if code[..at].ends_with(|before: char| before.is_alphanumeric() || "_:$".contains(before)) {
            continue;
        }
        let mut base = if start == "crate::" { "" } else { parent_of(module) };
        let mut rest = &code[at + start.len()..];
        while let Some(above) = rest.strip_prefix("super::") {
            base = parent_of(base);
            rest = above;
        }
        expand(base, &mut rest, &mut paths);
    }
    paths
}

fn parent_of(module: &str) -> &str {
    module.rsplit_once("::").map_or("", |(parent, _)| parent)
}

/// Takes `a::{b, c::d}` off the text and adds `a::b` and `a::c::d`, each after `base`.
fn expand(base: &str, rest: &mut &str, paths: &mut Vec<String>) {
    let end =
        rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':').unwrap_or(rest.len());
    let path = format!("{base}::{}", &rest[..end]);
    let path = path.trim_matches(':').to_owned();
    *rest = &rest[end..];
    let Some(mut inside) = rest.strip_prefix('{') else { return paths.push(path) };
    while !inside.is_empty() && !inside.starts_with('}') {
        inside = inside.trim_start_matches([',', ' ', '\n']);
        expand(&path, &mut inside, paths);
        // A new name of the import, or the space before the end.
        inside = inside.trim_start_matches(|letter| letter != ',' && letter != '}');
    }
    *rest = inside.strip_prefix('}').unwrap_or(inside);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_imports_and_code() {
        let text = "use crate::a::{b, c::{D, E as F},\n    self};\n// crate::z\nuse super::x::Y;\nlet _ = super::super::w();\n\
                    #[cfg(test)]\nmod tests {\nuse crate::t;\n}\n";
        assert_eq!(paths_in("m::n", &text.replace("(test)", "(all(test, not(loom)))")), paths_in("m::n", text));
        assert_eq!(paths_in("m::n", text), ["a::b", "a::c::D", "a::c::E", "a::self", "m::x::Y", "w"]);
    }

    #[test]
    fn circles_are_found() {
        let imports = |pairs: &[(&str, &[&str])]| -> Imports {
            pairs.iter().map(|(from, to)| (from.to_string(), to.iter().map(ToString::to_string).collect())).collect()
        };
        let chain = imports(&[("a", &["b"]), ("b", &["c"]), ("c", &[])]);
        assert!(largest_circle(&chain).is_empty());
        let circle = imports(&[("a", &["b"]), ("b", &["c", "d"]), ("c", &["a"]), ("d", &[])]);
        assert_eq!(largest_circle(&circle), ["a", "b", "c"]);
    }
}
