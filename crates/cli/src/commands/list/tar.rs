//! `packline list` of a tar or a cpio archive, plain or compressed, of the tar in a .lrz file, or of a zip archive.

use std::io::Write;

use packline::requests::Archive;
use packline_archives::tar::TarOptions;
use packline_image::Selection;
use packline_runtime::escape;
use packline_squashfs::read::NodeType;
use packline_tree::{Entry, Kind};
use serde_json::{Map, Value, json};

use super::{Columns, Form, all_patterns_matched, ended, xattr};
use crate::ui::escape::{escaped, escaped_path, put_json};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::mode::{mode_string, node_type, type_name};
use crate::ui::time::put_nanoseconds;

/// Lists the selected entries in the order of the archive. An entry that appears twice is listed twice.
///
/// # Errors
/// A pattern matches nothing; the error names the first.
pub fn run(archive: &mut Archive, form: &Form, selection: &Selection, io: &mut Io) -> Result<(), Failure> {
    let resources = io.host.resources();
    let path = archive.display_path();
    let mut printed = Ok(());
    let read = archive.read_tar(TarOptions::default(), &resources, &mut |source| {
        while let Some(entry) = source.next_entry()? {
            if selection.selects(&entry.path, entry.kind == Kind::Dir) {
                let line = line(&entry, source.owner_names(), form);
                printed = io.stdout.write_all(&line).map_err(Failure::printing);
            }
            if printed.is_err() {
                break;
            }
        }
        Ok(())
    });
    let printed = printed.and_then(|()| io.stdout.flush().map_err(Failure::printing));
    read?.iter().for_each(|warning| io.warn(warning));
    let sound = printed.is_err() || all_patterns_matched(selection, &path, io);
    ended(printed, sound)
}

fn line(entry: &Entry, names: (&[u8], &[u8]), form: &Form) -> Vec<u8> {
    let path: &[u8] = if entry.path.is_empty() { b"." } else { &entry.path };
    match form {
        Form::Raw => [path, b"\0"].concat(),
        Form::Short => format!("{}\n", escaped(path)).into_bytes(),
        Form::Long(columns) => long(entry, names, columns).into_bytes(),
        Form::Json => format!("{}\n", escape::json(&object(path, entry, names).to_string())).into_bytes(),
    }
}

fn long(entry: &Entry, names: (&[u8], &[u8]), columns: &Columns) -> String {
    let mut line = columns.row(&mode(entry), entry.meta, names, &extent(&entry.kind, columns), &entry.path);
    match &entry.kind {
        Kind::Symlink(target) => line.push_str(&format!(" -> {}", escaped(target))),
        Kind::HardLink(target) => line.push_str(&format!(" link to {}", escaped_path(target))),
        _ => {}
    }
    line.push('\n');
    line
}

/// Returns the mode, as for an image. A hard link has no type of its own and begins with `h`.
fn mode(entry: &Entry) -> String {
    match node_type(&entry.kind) {
        Some(kind) => mode_string(kind, entry.meta.mode),
        None => mode_string(NodeType::File, entry.meta.mode).replacen('-', "h", 1),
    }
}

/// Returns the size, or the device number.
fn extent(kind: &Kind, columns: &Columns) -> String {
    match kind {
        Kind::BlockDevice(device) | Kind::CharDevice(device) => format!("{},{}", device.major, device.minor),
        kind => columns.size(size(kind)),
    }
}

fn size(kind: &Kind) -> u64 {
    match kind {
        Kind::File { size } => *size,
        Kind::Symlink(target) => target.len() as u64,
        _ => 0,
    }
}

fn object(path: &[u8], entry: &Entry, (user, group): (&[u8], &[u8])) -> Value {
    let mut object = Map::new();
    let meta = entry.meta;
    put_json(&mut object, "path", path);
    let members = [
        ("type", json!(node_type(&entry.kind).map_or("hard link", type_name))),
        ("mode", json!(format!("{:04o}", meta.mode))),
        ("uid", json!(meta.uid)),
        ("gid", json!(meta.gid)),
        ("mtime", json!(meta.mtime.seconds())),
        ("size", json!(size(&entry.kind))),
    ];
    object.extend(members.map(|(key, value)| (key.to_string(), value)));
    put_nanoseconds(&mut object, "mtime_nanoseconds", meta.mtime);
    for (key, name) in [("user", user), ("group", group)] {
        if !name.is_empty() {
            put_json(&mut object, key, name);
        }
    }
    match &entry.kind {
        Kind::Symlink(target) | Kind::HardLink(target) => put_json(&mut object, "target", target),
        Kind::BlockDevice(device) | Kind::CharDevice(device) => {
            object.insert("major".to_string(), json!(device.major));
            object.insert("minor".to_string(), json!(device.minor));
        }
        _ => {}
    }
    if !entry.xattrs.is_empty() {
        object.insert("xattrs".to_string(), entry.xattrs.iter().map(xattr).collect());
    }
    object.into()
}
