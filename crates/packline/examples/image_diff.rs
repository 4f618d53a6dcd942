//! Lists the paths at which two images differ: `cargo run --example image_diff OLD NEW`.

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write, stdout};

use packline::{Entry, Error, Image, Selection};

/// Entries by path. Contents are not read.
fn entries(image: &Image) -> Result<BTreeMap<Vec<u8>, Entry>, Error> {
    image.entries(&Selection::all()).map(|entry| entry.map(|entry| (entry.path().to_vec(), entry))).collect()
}

fn has_same_content(old: &Image, new: &Image, path: &[u8]) -> Result<bool, Box<dyn std::error::Error>> {
    let [old, new] = [old.open_file(path)?, new.open_file(path)?].map(|file| BufReader::new(file).bytes());
    for (old, new) in old.zip(new) {
        if old? != new? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns a line for each path: `-` only in the old image, `+` only in the new one, `!` different.
pub fn differences(old: &Image, new: &Image) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let old_entries = entries(old)?;
    let mut added = entries(new)?;
    let mut lines = Vec::new();
    let line = |sign: char, path: &[u8]| format!("{sign} {}", String::from_utf8_lossy(path));
    for (path, entry) in old_entries {
        let Some(now) = added.remove(&path) else {
            lines.push(line('-', &path));
            continue;
        };
        let is_same = (entry.kind(), entry.meta()) == (now.kind(), now.meta());
        if !is_same || (entry.is_file() && !has_same_content(old, new, &path)?) {
            lines.push(line('!', &path));
        }
    }
    lines.extend(added.keys().map(|path| line('+', path)));
    Ok(lines)
}

#[allow(dead_code, clippy::disallowed_methods)] // A program of its own; the tests use the function above.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(old), Some(new)) = (arguments.next(), arguments.next()) else {
        return Err("expected two images".into());
    };
    let lines = differences(&Image::open(old)?, &Image::open(new)?)?;
    lines.iter().try_for_each(|line| Ok(writeln!(stdout(), "{line}")?))
}
