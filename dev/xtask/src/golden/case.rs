//! A case: command lines of packline separated by `&&`, and the output of the last one.

use packline_testkit::{snapshot, tools};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Hash and size of a case's output: its files whose names begin with `out`, or the last standard output if there are none. Runs in `directory`, which
/// is created and removed.
pub fn output(binary: &Path, line: &str, directory: &Path) -> Result<String, String> {
    let named = |cause: io::Error| format!("{}: {cause}", directory.display());
    std::fs::create_dir(directory)
        .and_then(|()| std::os::unix::fs::symlink("../in", directory.join("in")))
        .map_err(named)?;
    let mut printed = Vec::new();
    for words in line.split(" && ") {
        printed = tools::run(&mut command(binary, words, directory)?)?.stdout;
    }
    let described = match product(directory).map_err(named)? {
        None => digest(printed.as_slice()),
        Some(path) if path.is_dir() => describe(&path).and_then(|text| digest(text.as_bytes())),
        Some(path) => File::open(path).and_then(digest),
    };
    std::fs::remove_dir_all(directory).and(described).map_err(named)
}

/// One command line: environment variables as `NAME=VALUE` before the command's name, `< FILE` for standard input.
fn command(binary: &Path, line: &str, directory: &Path) -> Result<Command, String> {
    let (line, input) = line.split_once(" < ").map_or((line, "/dev/null"), |(line, input)| (line, input));
    let input = File::open(directory.join(input)).map_err(|cause| format!("{input}: {cause}"))?;
    let mut command = Command::new(binary);
    command.current_dir(directory).stdin(Stdio::from(input)).env_remove("SOURCE_DATE_EPOCH").env("LRZIP", "NOCONFIG");
    for word in line.split_whitespace() {
        match word.split_once('=').filter(|_| command.get_args().next().is_none()) {
            Some((name, value)) => command.env(name, value),
            None => command.arg(word),
        };
    }
    Ok(command)
}

fn product(directory: &Path) -> io::Result<Option<PathBuf>> {
    let paths = std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let is_product = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("out"));
    Ok(paths.into_iter().find(is_product))
}

fn digest(mut content: impl io::Read) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    let size = io::copy(&mut content, &mut hasher)?;
    Ok(format!("{} {size}", hasher.finalize().to_hex()))
}

/// A directory as text: a line for each path with all its attributes except access and change times.
fn describe(directory: &Path) -> io::Result<String> {
    let line = |(path, found): (Vec<u8>, snapshot::Attributes)| {
        let snapshot::Attributes { kind, mode, uid, gid, mtime, first_name, links, xattrs } = found;
        format!("{:?}\n", (path, kind, mode, uid, gid, mtime, first_name, links, xattrs))
    };
    Ok(snapshot::of_directory(directory)?.into_iter().map(line).collect())
}
