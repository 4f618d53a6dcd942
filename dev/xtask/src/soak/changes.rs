//! Changes files while a command reads them. The output must be well formed and must have each unchanged file. If the source was
//! removed, no content may be lost.

use super::scene::{Scene, ensure};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Child;
use std::time::Duration;

pub fn round(scene: &mut Scene) -> Result<(), String> {
    match scene.random.below(4) {
        0 => pack(scene, &["mksquashfs", "tree", "out.sqfs", "-noappend", "-quiet", "-no-progress"], "out.sqfs"),
        1 => pack(scene, &["pack", "-q", "tree", "out.lrz"], "out.lrz"),
        2 => pack(scene, &["pack", "-q", "-c", "lz4", "tree", "out.sqfs"], "out.sqfs"),
        _ => compress(scene),
    }
}

fn pack(scene: &mut Scene, words: &[&str], image: &str) -> Result<(), String> {
    scene.plant("tree", 30, 400_000)?;
    let child = scene.command(words).spawn().map_err(|cause| cause.to_string())?;
    for _ in 0..40 {
        let file = format!("tree/f{}", 2 * scene.random.below(15));
        change(scene, &file)?;
        std::thread::sleep(Duration::from_micros(scene.random.below(1500)));
    }
    if !finish(child)? {
        return ensure(scene.read(image).is_none(), || format!("{words:?} failed and left {image}"));
    }
    scene.succeed(&["verify", "-q", image])?;
    for file in (1..30).step_by(2) {
        let packed = scene.succeed(&["cat", image, &format!("f{file}")])?;
        let same = scene.read(&format!("tree/f{file}")).as_deref() == Some(&packed[..]);
        ensure(same, || format!("{words:?}: f{file} was not changed, and differs in {image}"))?;
    }
    Ok(())
}

/// Appends to a file, truncates it, overwrites a part of it, replaces it, or removes it.
fn change(scene: &mut Scene, file: &str) -> Result<(), String> {
    let path = scene.path(file);
    let bytes = scene.random.noise(5000);
    let done = match scene.random.below(5) {
        0 => append(&path, &bytes),
        1 => std::fs::OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(700)),
        2 => overwrite(&path, &bytes),
        3 => std::fs::write(scene.path("new"), &bytes).and_then(|()| std::fs::rename(scene.path("new"), &path)),
        _ => std::fs::remove_file(&path),
    };
    match done {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => Err(format!("{file}: {cause}")),
        _ => Ok(()),
    }
}

fn append(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::OpenOptions::new().append(true).open(path)?.write_all(bytes)
}

fn overwrite(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::OpenOptions::new().write(true).open(path)?.write_all(bytes)
}

/// One change of a file at a random moment while `compress --rm` reads it. A file that was removed is in the output with its change.
fn compress(scene: &mut Scene) -> Result<(), String> {
    let content = scene.content(3_000_000);
    scene.write("log", &content)?;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.read(true).write(true).open(scene.path("log")).map_err(|cause| cause.to_string())?;
    let child = scene.command(&["compress", "-q", "--rm", "log"]).spawn().map_err(|cause| cause.to_string())?;
    std::thread::sleep(Duration::from_micros(scene.random.below(20_000)));
    let place = if scene.random.below(2) == 0 { SeekFrom::End(0) } else { SeekFrom::Start(0) };
    let bytes = scene.random.noise(100);
    let changed = file.seek(place).and_then(|_| file.write_all(&bytes));
    changed.map_err(|cause| format!("log: {cause}"))?;
    let changed_before_removal = scene.path("log").exists();
    finish(child)?;
    if scene.path("log").exists() {
        return Ok(());
    }
    // The open file still has the content that the path had.
    let mut now = Vec::new();
    file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut now)).map_err(|cause| format!("log: {cause}"))?;
    let kept = scene.succeed(&["decompress", "-q", "--stdout", "log.pln"])?;
    let expected = if changed_before_removal { now } else { content };
    ensure(kept == expected, || "log was removed, and log.pln does not have its last content".to_owned())
}

/// Waits for a command. Returns whether it succeeded.
fn finish(child: Child) -> Result<bool, String> {
    let output = child.wait_with_output().map_err(|cause| cause.to_string())?;
    Ok(output.status.success())
}
