//! Escapes names, which may be any bytes, for text and JSON: reversibly, and without control characters.

pub use packline_runtime::escape::Escape;
pub use packline_runtime::hex;
use serde_json::{Map, Value};

/// Escapes a name to one line of text. The escapes are reversible.
pub fn escaped(name: &[u8]) -> String {
    name.escaped()
}

/// Inserts bytes into a JSON object: as a string if they are UTF-8. Otherwise `KEY_hex` has the exact bytes, and `KEY` has U+FFFD for
/// the invalid bytes.
pub fn put_json(object: &mut Map<String, Value>, key: &str, bytes: &[u8]) {
    object.insert(key.to_string(), String::from_utf8_lossy(bytes).into());
    if std::str::from_utf8(bytes).is_err() {
        object.insert(format!("{key}_hex"), hex(bytes).into());
    }
}

/// Escapes a path for text. The root, which has no name, is shown as `.`.
pub fn escaped_path(path: &[u8]) -> String {
    if path.is_empty() { ".".to_string() } else { escaped(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_root_as_dot() {
        assert_eq!(escaped_path(b""), ".");
        assert_eq!(escaped_path(b"\x1b"), "\\x1b");
    }

    #[test]
    fn json_keeps_every_byte() {
        let mut object = Map::new();
        put_json(&mut object, "path", b"a\nb");
        put_json(&mut object, "target", b"\xffx");
        assert_eq!(Value::from(object).to_string(), r#"{"path":"a\nb","target":"�x","target_hex":"ff78"}"#);
    }
}
