//! The same as JSON. Rows are written one at a time, because an image may have millions of files.

use std::io::Write;

use packline_image::Use;
use packline_runtime::escape;
use serde_json::{Map, Value, json};

use super::groups::Groups;
use super::rows::{By, Label, Row, Rows};
use super::source::Measured;
use crate::ui::escape::put_json;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::mode::type_name;

/// Writes one object, whose last member is a list.
pub struct Document<'o> {
    io: &'o mut Io,
    is_first: bool,
}

impl Document<'_> {
    /// Begins with the members of `head`, and a list of this name.
    pub fn begin<'o>(head: &Map<String, Value>, list: &str, io: &'o mut Io) -> Result<Document<'o>, Failure> {
        let head = Value::from(head.clone()).to_string();
        let mut document = Document { io, is_first: true };
        document.put(head.strip_suffix('}').unwrap_or(&head))?;
        document.put(&format!("{}{}:[", if head == "{}" { "" } else { "," }, json!(list)))?;
        Ok(document)
    }

    pub fn add(&mut self, value: Map<String, Value>) -> Result<(), Failure> {
        let comma = if std::mem::take(&mut self.is_first) { "" } else { "," };
        self.put(&format!("{comma}{}", Value::from(value)))
    }

    pub fn end(mut self) -> Result<(), Failure> {
        self.put("]}\n")?;
        self.io.stdout.flush().map_err(Failure::printing)
    }

    fn put(&mut self, text: &str) -> Result<(), Failure> {
        self.io.stdout.write_all(escape::json(text).as_bytes()).map_err(Failure::printing)
    }
}

/// Returns the members that describe the measured image.
pub fn head(measured: &Measured) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("format".to_string(), json!(measured.format));
    if measured.has_stored {
        let structures = measured.usage.metadata();
        let structures: Vec<Value> = structures
            .iter()
            .map(|part| json!({ "name": part.name, "bytes": part.bytes, "metadata": part.is_metadata }))
            .collect();
        head.insert("file_bytes".to_string(), json!(measured.usage.total()));
        head.insert("structures".to_string(), structures.into());
    }
    head
}

/// Inserts the bytes of a row.
pub fn put_bytes(object: &mut Map<String, Value>, bytes: &Use, has_stored: bool) {
    object.insert("size".to_string(), json!(bytes.size));
    object.insert("files".to_string(), json!(bytes.files));
    if has_stored {
        let members = [
            ("stored_bytes", bytes.stored()),
            ("own_bytes", bytes.own),
            ("shared_bytes", bytes.shared),
            ("saved_bytes", bytes.saved),
        ];
        object.extend(members.map(|(key, value)| (key.to_string(), json!(value))));
    }
}

/// Inserts what a row is about.
pub fn put_label(object: &mut Map<String, Value>, row: &Row, measured: &Measured, by: By) {
    let path = |number| match measured.usage.path(number) {
        path if path.is_empty() => b".".to_vec(),
        path => path,
    };
    match &row.label {
        Label::Entry(number) => {
            put_json(object, "path", &path(*number));
            let kind = measured.usage.entry(*number).map(|entry| type_name(entry.kind));
            object.insert("type".to_string(), json!(kind));
        }
        Label::FilesIn(number) => {
            put_json(object, "files_in", &path(*number));
        }
        Label::Text(text) => {
            let name = if by == By::Extension { "extension" } else { "kind" };
            let text = if text == "(no extension)" { "" } else { text.as_str() };
            object.insert(name.to_string(), json!(text));
        }
        Label::Structure(name) => {
            object.insert("structure".to_string(), json!(name));
        }
    }
}

pub fn rows(measured: &Measured, rows: &Rows, io: &mut Io) -> Result<(), Failure> {
    let mut head = head(measured);
    let mut total = Map::new();
    put_bytes(&mut total, &rows.total, measured.has_stored);
    head.insert("total".to_string(), total.into());
    if let Some((number, bytes)) = &rows.others {
        let mut others = Map::new();
        others.insert("rows".to_string(), json!(number));
        put_bytes(&mut others, bytes, measured.has_stored);
        head.insert("others".to_string(), others.into());
    }
    let mut document = Document::begin(&head, "rows", io)?;
    for row in &rows.rows {
        let mut object = Map::new();
        put_label(&mut object, row, measured, rows.by);
        put_bytes(&mut object, &row.bytes, measured.has_stored);
        if rows.by == By::File && row.has_files() && measured.has_stored {
            object.insert("users".to_string(), json!(row.users));
        }
        document.add(object)?;
    }
    document.end()
}

pub fn groups(measured: &Measured, groups: &Groups, io: &mut Io) -> Result<(), Failure> {
    let mut head = head(measured);
    let mut total = Map::new();
    put_bytes(&mut total, &groups.total, true);
    head.insert("total".to_string(), total.into());
    let mut document = Document::begin(&head, "groups", io)?;
    for group in &groups.groups {
        let mut object = Map::new();
        put_bytes(&mut object, &group.bytes, true);
        let path = |path: &Vec<u8>| {
            let mut object = Map::new();
            put_json(&mut object, "path", path);
            Value::from(object)
        };
        object.insert("entries".to_string(), group.paths.iter().map(path).collect());
        document.add(object)?;
    }
    document.end()
}
