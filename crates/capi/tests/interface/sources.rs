//! The declarations of the Rust sources, as C writes them. They are compared with the header where cbindgen is not installed.

use std::collections::BTreeMap;
use std::fs;

use crate::capi;
use crate::declarations::Declaration;

/// The declarations of all source files.
pub fn declarations() -> Vec<Declaration> {
    let mut files: Vec<_> = fs::read_dir(capi().join("src")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let names = names();
    files.iter().flat_map(|path| of_file(&fs::read_to_string(path).unwrap(), &names)).collect()
}

/// The names of types in C, from cbindgen's settings.
fn names() -> BTreeMap<String, String> {
    let settings = fs::read_to_string(capi().join("cbindgen.toml")).unwrap();
    let (_, list) = settings.split_once("[export.rename]\n").unwrap();
    let pairs = list.lines().map_while(|line| line.split_once(" = "));
    pairs.map(|(rust, c)| (rust.trim_matches('"').to_owned(), c.trim_matches('"').to_owned())).collect()
}

fn of_file(text: &str, names: &BTreeMap<String, String>) -> Vec<Declaration> {
    let text: String = text.lines().map(str::trim).filter(|line| !line.starts_with("//")).collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for (at, _) in text.match_indices("pub ") {
        let item = &text[at + 4..];
        let is_c = text[..at].rsplit(['}', ';']).next().unwrap().contains("#[repr(C)]");
        let item = item.strip_prefix("unsafe ").unwrap_or(item);
        if let Some(function) = item.strip_prefix("extern \"C\" fn ") {
            found.push(declaration_of(function.split('{').next().unwrap(), names));
        } else if let Some(alias) = item.strip_prefix("type ").filter(|_| item.contains("extern \"C\"")) {
            found.extend(callback(alias.split(';').next().unwrap(), names));
        } else if let Some(rest) = item.strip_prefix("struct ").filter(|_| is_c) {
            let (name, body) = rest.split_once(" {").unwrap();
            let fields = list(body.split('}').next().unwrap()).iter().map(|field| variable(field, names)).collect();
            found.push(Declaration::Struct { name: names[name].clone(), fields });
        } else if let Some(rest) = item.strip_prefix("enum ").filter(|_| is_c) {
            let body = rest.split_once(" {").unwrap().1.split('}').next().unwrap();
            found.push(Declaration::Constants(list(body).iter().map(|constant| screaming(constant)).collect()));
        }
    }
    found
}

/// The parts of a list that commas outside of parentheses separate.
fn list(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for letter in text.chars() {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        match letter {
            ',' if depth == 0 => parts.push(String::new()),
            letter => parts.last_mut().unwrap().push(letter),
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// A constant whose name has capitals where words begin.
fn screaming(constant: &str) -> String {
    let (name, value) = constant.split_once(" = ").unwrap();
    let words = name.chars().enumerate().flat_map(|(at, letter)| {
        let space = (at > 0 && letter.is_uppercase()).then_some('_');
        space.into_iter().chain([letter.to_ascii_uppercase()])
    });
    format!("{} = {value}", words.collect::<String>())
}

fn declaration_of(text: &str, names: &BTreeMap<String, String>) -> Declaration {
    let (name, rest) = text.split_once('(').unwrap();
    let text = signature(name, rest, names);
    Declaration::Function { name: name.to_owned(), text }
}

/// `NAME = Option<unsafe extern "C" fn(...) -> ...>`; `None` for a type that only the sources use.
fn callback(text: &str, names: &BTreeMap<String, String>) -> Option<Declaration> {
    let (name, value) = text.split_once(" = ").unwrap();
    let name = names.get(name)?;
    Some(Declaration::Callback { name: name.clone(), text: variable(&format!("{name}: {}", value.trim()), names) })
}

/// A declaration of `declarator`, from what follows the parenthesis: `a: T, b: U) -> V`.
fn signature(declarator: &str, rest: &str, names: &BTreeMap<String, String>) -> String {
    let (parameters, returned) = rest.rsplit_once(')').unwrap();
    let parameters: Vec<String> = list(parameters).iter().map(|parameter| variable(parameter, names)).collect();
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let returned = returned.trim().strip_prefix("->").map_or("()", str::trim);
    format!("{}({parameters})", declared(returned, declarator, names))
}

/// `name: Type` as C writes it.
fn variable(text: &str, names: &BTreeMap<String, String>) -> String {
    let (name, rust) = text.split_once(": ").unwrap();
    let name = name.trim_start_matches("r#");
    let inner = rust.trim().trim_start_matches("Option<").trim_end_matches(['>', ',', ' ']);
    match inner.trim().strip_prefix("unsafe extern \"C\" fn(") {
        Some(rest) => signature(&format!("(*{name})"), rest, names),
        None => declared(rust, name, names),
    }
}

fn declared(rust: &str, declarator: &str, names: &BTreeMap<String, String>) -> String {
    if let Some(target) = rust.strip_prefix("*mut ") {
        return declared(target, &format!("*{declarator}"), names);
    }
    if let Some(target) = rust.strip_prefix("*const ") {
        // A pointer to a constant pointer: `T *const *name`.
        return match target.strip_prefix("*const ") {
            Some(value) => format!("const {}", declared(value, &format!("*const *{declarator}"), names)),
            None => format!("const {}", declared(target, &format!("*{declarator}"), names)),
        };
    }
    let name = match rust {
        "()" | "c_void" => "void",
        "c_char" => "char",
        "c_int" => "int",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "i64" => "int64_t",
        "usize" => "size_t",
        other => names.get(other).unwrap_or_else(|| panic!("{other} has no name in C")),
    };
    format!("{name} {declarator}")
}

#[test]
fn types_have_names_in_c() {
    let names = BTreeMap::from([("Image".to_owned(), "image".to_owned())]);
    let text = "pub unsafe extern \"C\" fn open(a: *const *const c_char, b: *mut *mut Image, f: Option<unsafe extern \"C\" fn(x: u32) -> c_int>) \
                -> *mut Image { }";
    let found = of_file(text, &names);
    let [Declaration::Function { name, text }] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(
        (name.as_str(), text.as_str()),
        ("open", "image *open(const char *const *a, image **b, int (*f)(uint32_t x))")
    );
    assert_eq!(screaming("PacklineFile = 1"), "PACKLINE_FILE = 1");
}
