//! First contact, word for word: shell commands and all that they print, in files below `tests/transcripts`.
//!
//! `sh` runs a line `$ COMMAND`, in a directory that all commands of the file share, with `packline` and its drop-ins in `PATH`. The output
//! follows, including standard error, and `[STATUS]` if it is not 0. `[..]` in a line of output stands for any text, and replaces the times at
//! the ends of summaries. Lines that begin with `#`, and empty lines before a command, are for readers. `UPDATE_TRANSCRIPTS=1` rewrites the
//! files, except for lines of output that still match.

pub mod session;
pub mod shell;

use std::path::{Path, PathBuf};

use packline_testkit::tools;
use shell::Shell;

const PREPARE: &str = "mkdir -p tree/docs && printf 'hello\\n' > tree/hello.txt && seq 1 20000 > tree/docs/numbers && ln -s hello.txt tree/link && \
    printf 'not an archive\\n' > notes.txt && chmod -R u=rwX,go=rX tree && touch -h -d @1000000000 tree/* tree/docs/* tree/docs tree && \
    tar --sort=name --owner=0 --group=0 --numeric-owner -cf tree.tar tree";

fn check(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let shell = Shell::new(PREPARE);
    settle(file, &text, &session::rewritten(&text, |command| shell.timeless_lines(command)))
}

/// Compares a file with the text that it should have. Returns the difference, or replaces the file if the caller of the tests asks for that.
#[allow(clippy::disallowed_methods, reason = "a test that writes its own files reads the environment")]
pub fn settle(file: &Path, text: &str, whole: &str) -> Option<String> {
    if whole == text {
        return None;
    }
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        std::fs::write(file, whole).unwrap();
        return None;
    }
    let different: Vec<String> = (text.lines().zip(whole.lines()))
        .filter(|(expected, line)| expected != line)
        .map(|(expected, line)| format!("- {expected}\n+ {line}\n"))
        .collect();
    let shown = different.iter().take(10).map(String::as_str).collect::<String>();
    Some(format!("{}:\n{shown}(UPDATE_TRANSCRIPTS=1 rewrites the file)", file.display()))
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// A test for each transcript, so that transcripts run side by side.
macro_rules! transcripts {
    ($($name:ident $file:literal),* $(,)?) => {
        const NAMES: &[&str] = &[$($file),*];
        $(
            #[test]
            fn $name() {
                commands_print_what_is_shown($file);
            }
        )*
    };
}

transcripts! {
    first_steps "1-first-steps.txt",
    mistakes "2-mistakes.txt",
    streams_and_terminals "3-streams-and-terminals.txt",
    lists_of_names "4-lists-of-names.txt",
    reading "5-reading.txt",
    squashfs_tools "6-squashfs-tools.txt",
    rebuilds "7-rebuilds.txt",
    deltas "8-deltas.txt",
    encryption "8-encryption.txt",
    erofs "8-erofs.txt",
    layers "8-layers.txt",
    recovery "8-recovery.txt",
    mksquashfs "9-mksquashfs.txt",
    verity "10-verity.txt",
}

fn commands_print_what_is_shown(name: &str) {
    if !tools::need(&["tar"]) || !tools::terminal() {
        return;
    }
    let difference = check(&directory().join(name));
    assert!(difference.is_none(), "{}", difference.unwrap_or_default());
}

#[test]
fn each_transcript_has_a_test() {
    let mut names: Vec<&str> = NAMES.to_vec();
    names.sort_unstable();
    let found: Vec<PathBuf> = names.iter().map(|name| directory().join(name)).collect();
    assert_eq!(found, files());
}

#[test]
fn there_are_enough_commands_to_learn_from() {
    let commands: usize =
        files().iter().map(|file| session::parse(&std::fs::read_to_string(file).unwrap()).len()).sum();
    assert!(commands >= 120, "{commands}");
}
