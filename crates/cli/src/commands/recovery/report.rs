//! Summaries of recovery data, and of comparisons of files with it.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use packline::requests::{RecoveryState, sidecar_of};
use packline_recovery::{Protected, Shape};
use serde_json::{Map, Value, json};

use crate::ui::escape::{Escape, hex, put_json};
use crate::ui::size::{count, show_bytes, show_ratio};

/// Returns an object and text about new recovery data.
pub fn protected(made: &Protected, file: &Path, output: &Path) -> (Value, String) {
    let mut object = names(&[("file", file), ("recovery", output)]);
    object.insert("recovery_bytes".into(), made.bytes.into());
    object.insert("blake3".into(), hex(&made.blake3).into());
    object.extend(shape_members(&made.shape));
    let text = format!(
        "{}: {} protected by {}{}, {}\n{}",
        file.escaped(),
        show_bytes(made.shape.length()),
        show_bytes(made.bytes),
        show_ratio(made.bytes, made.shape.length()),
        output.escaped(),
        shape_text(&made.shape),
    );
    (object.into(), text)
}

/// Returns an object and text about a file that already had recovery data.
pub fn unchanged(found: &RecoveryState, file: &Path, output: &Path) -> (Value, String) {
    let mut object = names(&[("file", file), ("recovery", output)]);
    object.insert("unchanged".into(), true.into());
    object.insert("blake3".into(), hex(&found.blake3).into());
    object.extend(shape_members(&found.shape));
    (object.into(), format!("{}: unchanged since {} was written", file.escaped(), output.escaped()))
}

/// Returns why a damaged file is not protected again: new recovery data could no longer repair it.
pub fn damaged_before_protection(file: &Path, output: &Path) -> String {
    let file = file.escaped();
    let output = output.escaped();
    let hint = "'packline repair' repairs it; --force protects its present content";
    format!("{file}: is damaged: it differs from the protected file and is not newer than {output} ({hint})")
}

/// Returns the number of shards, and how many of them can be lost.
pub fn shape_text(shape: &Shape) -> String {
    let shards = shape.shards() as u64;
    let recovery = shape.recovery() as u64;
    let size = show_bytes(shape.shard_bytes());
    format!("{} of {size}, any {recovery} of which can be lost and repaired", count(shards, "shard"))
}

/// Returns the numbers of shards as members of an object.
pub fn shape_members(shape: &Shape) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert("protected_bytes".into(), shape.length().into());
    members.insert("shard_bytes".into(), shape.shard_bytes().into());
    members.insert("shards".into(), shape.shards().into());
    members.insert("recovery_shards".into(), shape.recovery().into());
    members
}

/// Returns an object and text about a file after repair, or about an intact file.
pub fn repaired(found: &RecoveryState, file: &Path, output: &Path, recovery: Option<&Path>) -> (Value, String) {
    let mut object = names(&[("file", file), ("output", output)]);
    object.extend(state_members(found));
    let place = if output == file { String::new() } else { format!(", {}", output.escaped()) };
    let text = if found.examined.is_whole() {
        format!("{}: intact, unchanged since it was protected{place}", file.escaped())
    } else {
        let change = if found.is_missing { "was missing, rebuilt" } else { "repaired" };
        format!("{}: {change}{place}, BLAKE3 {}\n{}", file.escaped(), hex(&found.blake3), damage(found))
    };
    let made_again = recovery.is_none();
    (object.into(), text + &of_recovery(found, recovery.unwrap_or(file), made_again))
}

/// Returns an object and text about a file that was compared with its recovery data.
pub fn state(found: &RecoveryState, file: &Path, recovery: Option<&Path>) -> (Value, String) {
    let mut object = state_members(found);
    if let Some(recovery) = recovery {
        put_json(&mut object, "recovery", recovery.as_os_str().as_bytes());
    }
    let text = if found.examined.is_whole() {
        format!("{}: intact, unchanged since it was protected\n{}", file.escaped(), shape_text(&found.shape))
    } else {
        format!("{}: {}\n{}", file.escaped(), verdict(found, file, recovery), damage(found))
    };
    (object.into(), text + &of_recovery(found, recovery.unwrap_or(file), false))
}

/// Returns the verdict about a damaged file, with a hint.
fn verdict(found: &RecoveryState, file: &Path, recovery: Option<&Path>) -> String {
    let can_be_repaired = found.examined.can_be_repaired();
    if let Some(recovery) = recovery.filter(|_| found.changed_later) {
        let protect = way_to_protect(file, recovery);
        let then = if can_be_repaired {
            hint_after_change(file, recovery)
        } else {
            format!("If you changed it, protect it again ({protect}); if not, it is damaged and cannot be repaired")
        };
        let recovery = recovery.escaped();
        return format!("differs from the protected file; it was changed after {recovery} was written. {then}");
    }
    if can_be_repaired {
        return "damaged; 'packline repair' repairs it".to_string();
    }
    let is_other = found.examined.lost == found.shape.shards() && found.recovery_is_whole;
    let what = if is_other { "has nothing in common with the protected file" } else { "damaged" };
    format!("{what}; it cannot be repaired")
}

/// Returns what a user can do about a file that was changed after its recovery data was written.
pub fn hint_after_change(file: &Path, recovery: &Path) -> String {
    let option =
        if recovery == sidecar_of(file) { String::new() } else { format!("--recovery {} ", recovery.escaped()) };
    let protect = way_to_protect(file, recovery);
    let file = file.escaped();
    format!(
        "If you changed it, protect it again ({protect}); if not, packline repair -f {option}{file} restores the protected content"
    )
}

fn way_to_protect(file: &Path, recovery: &Path) -> String {
    let option = if recovery == sidecar_of(file) { String::new() } else { format!("-o {} ", recovery.escaped()) };
    format!("packline protect -f {option}{}", file.escaped())
}

/// Returns the numbers of lost, moved and repairable shards.
fn damage(found: &RecoveryState) -> String {
    let examined = &found.examined;
    let moved = if examined.moved > 0 { format!(", {} moved", examined.moved) } else { String::new() };
    let mut text = format!(
        "{} of {} lost{moved}; up to {} can be repaired",
        examined.lost,
        count(found.shape.shards() as u64, "shard"),
        examined.repairable
    );
    match examined.excess {
        0 => {}
        more @ 1.. => text.push_str(&format!("; {more} bytes longer than before")),
        fewer => text.push_str(&format!("; {} bytes shorter than before", -fewer)),
    }
    text
}

/// Returns a line about damaged recovery data.
fn of_recovery(found: &RecoveryState, recovery: &Path, made_again: bool) -> String {
    if found.recovery_is_whole {
        return String::new();
    }
    let whole = found.examined.repairable;
    let all = found.shape.recovery();
    let then = if made_again { "written again" } else { "'packline protect --force' writes it again" };
    format!(
        "\n{}: the recovery data is damaged: {whole} of {all} recovery shards are intact; {then}",
        recovery.escaped()
    )
}

fn state_members(found: &RecoveryState) -> Map<String, Value> {
    let examined = &found.examined;
    let mut members = shape_members(&found.shape);
    let figures = json!({
        "whole": examined.is_whole(),
        "missing": found.is_missing,
        "changed_after_protection": found.changed_later,
        "lost_shards": examined.lost,
        "moved_shards": examined.moved,
        "repairable_shards": examined.repairable,
        "can_be_repaired": examined.can_be_repaired(),
        "recovery_data_whole": found.recovery_is_whole,
        "blake3": hex(&found.blake3),
    });
    if let Value::Object(figures) = figures {
        members.extend(figures);
    }
    members
}

fn names(names: &[(&str, &Path)]) -> Map<String, Value> {
    let mut object = Map::new();
    for (key, path) in names {
        put_json(&mut object, key, path.as_os_str().as_bytes());
    }
    object
}
