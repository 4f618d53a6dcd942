//! Names as people and programs are shown them: any bytes, without loss, and without a byte that a terminal would obey.

pub use packline_runtime::escape::Escape;
use serde_json::{Map, Value};

/// A name on one line of text, from which the name can be had back.
pub fn escaped(name: &[u8]) -> String {
    name.escaped()
}

/// Puts bytes into a JSON object: as the string they are if they are UTF-8. If they are not, `KEY_hex` has them exactly, and
/// `KEY` a likeness with U+FFFD where they are not.
pub fn put_json(object: &mut Map<String, Value>, key: &str, bytes: &[u8]) {
    object.insert(key.to_string(), String::from_utf8_lossy(bytes).into());
    if std::str::from_utf8(bytes).is_err() {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        object.insert(format!("{key}_hex"), hex.into());
    }
}

/// A path in text: the root has no name of its own and is shown as `.`.
pub fn escaped_path(path: &[u8]) -> String {
    if path.is_empty() { ".".to_string() } else { escaped(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_a_dot() {
        assert_eq!(escaped_path(b""), ".");
        assert_eq!(escaped_path(b"\x1b"), "\\x1b");
    }

    #[test]
    fn json_has_every_byte() {
        let mut object = Map::new();
        put_json(&mut object, "path", b"a\nb");
        put_json(&mut object, "target", b"\xffx");
        assert_eq!(Value::from(object).to_string(), r#"{"path":"a\nb","target":"�x","target_hex":"ff78"}"#);
    }
}
