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

/// Options of lrzip that name a codec.
const LRZIP_CODECS: [&str; 6] = ["-n", "-l", "-g", "-b", "-z", "--lzma"];

/// What a command line tries: its commands, its codecs and the ending of its output. Lines of one kind differ in inputs and in other options.
pub fn kind(line: &str) -> String {
    let commands = line.split(" && ").filter_map(|line| line.split(' ').find(|word| !word.contains('=')));
    let words: Vec<&str> = line.split(' ').collect();
    let named = words.windows(2).filter(|pair| ["-c", "-C"].contains(&pair[0]));
    let codecs = named.filter_map(|pair| pair[1].split(':').next());
    let flags = words.iter().copied().filter(|word| line.starts_with("lrz") && LRZIP_CODECS.contains(word));
    let output = words.iter().find(|word| word.starts_with("out")).and_then(|word| Some(word.split_once('.')?.1));
    commands.chain(codecs).chain(flags).chain(output).collect::<Vec<_>>().join(" ")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_differ_in_commands_codecs_and_outputs() {
        assert_eq!(kind("SOURCE_DATE_EPOCH=7 pack in/tree out.sqfs -c xz:level=1 -b 16K"), "pack xz sqfs");
        assert_eq!(kind("pack in/tree t.sqfs -c lz4 && unpack t.sqfs out.tar.gz -q"), "pack unpack lz4 tar.gz");
        assert_eq!(kind("lrzip -Q -z -o out.lrz in/text -p 7"), "lrzip -z lrz");
        assert_eq!(kind("compress -q -C none -C zle -o out in/text"), "compress none zle");
    }
}
