//! First contact, word for word: shell commands and all that they print, in files below `tests/transcripts`.
//!
//! `sh` runs a line `$ COMMAND`, in a directory that all commands of the file share, with `packline` and its drop-ins in `PATH`. The output
//! follows, including standard error, and `[STATUS]` if it is not 0. `[..]` in a line of output stands for any text, and replaces the times at
//! the ends of summaries. Lines that begin with `#`, and empty lines before a command, are for readers. `UPDATE_TRANSCRIPTS=1` rewrites the
//! files, except for lines of output that still match.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use packline_testkit::{Ran, Sandbox, tools};

/// One command of a transcript.
struct Step {
    /// Comments and empty lines before it.
    lead: String,
    command: String,
    expected: Vec<String>,
}

/// The place where the commands of one file run: `work`, next to `bin` with packline and its drop-ins.
struct Shell(Sandbox);

impl Shell {
    fn new() -> Shell {
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_packline"));
        sandbox.create_dir("bin");
        sandbox.create_dir("work/tree/docs");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_packline"), sandbox.at("bin/packline")).unwrap();
        let shell = Shell(sandbox);
        let prepare = "packline links --quiet --target packline ../bin && \
            printf 'hello\\n' > tree/hello.txt && seq 1 20000 > tree/docs/numbers && ln -s hello.txt tree/link && \
            printf 'not an archive\\n' > notes.txt && chmod -R u=rwX,go=rX tree && touch -h -d @1000000000 tree/* tree/docs/* tree/docs tree && \
            tar --sort=name --owner=0 --group=0 --numeric-owner -cf tree.tar tree";
        assert_eq!(shell.run(prepare), (String::new(), 0));
        shell
    }

    /// Runs a command and returns its output and its exit status.
    fn run(&self, command: &str) -> (String, i32) {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", self.0.arg("bin"));
        let script = format!("exec 2>&1\n{command}");
        let mut shell = self.0.program("sh", &["-c", &script]);
        shell.current_dir(self.0.at("work")).env_clear().envs([
            ("PATH", path.as_str()),
            ("LC_ALL", "C.UTF-8"),
            ("TZ", "UTC"),
            ("HOME", "/nonexistent"),
        ]);
        let ran = Ran::of(&mut shell);
        (String::from_utf8_lossy(&ran.stdout).replace(&self.0.arg(""), "/TOP/"), ran.status)
    }

    /// The lines that a command leaves in a transcript.
    fn lines(&self, command: &str) -> Vec<String> {
        let (text, status) = self.run(command);
        let mut lines: Vec<String> = text.lines().map(|line| without_time(line.trim_end())).collect();
        if status != 0 {
            lines.push(format!("[{status}]"));
        }
        lines
    }
}

/// A line of output with `[..]` for the time at its end, and for a rate after that.
fn without_time(line: &str) -> String {
    let is_of = |text: &str, unit: &str| {
        text.strip_suffix(unit).is_some_and(|number| !number.is_empty() && number.parse::<f64>().is_ok())
    };
    let (head, last) = line.rsplit_once(", ").unwrap_or((line, ""));
    let (head, last) = if is_of(last, " MB/s") { head.rsplit_once(", ").unwrap_or((head, "")) } else { (head, last) };
    if is_of(last, " ms") || is_of(last, " s") { format!("{head}, [..]") } else { line.to_string() }
}

fn parse(text: &str) -> Vec<Step> {
    let (mut steps, mut lead): (Vec<Step>, String) = (Vec::new(), String::new());
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            let step = Step { lead: std::mem::take(&mut lead), command: command.to_string(), expected: Vec::new() };
            steps.push(step);
        } else if line.starts_with('#') || line.is_empty() && (steps.is_empty() || !lead.is_empty()) {
            lead.push_str(line);
            lead.push('\n');
        } else if let Some(step) = steps.last_mut().filter(|_| lead.is_empty()) {
            step.expected.push(line.to_string());
        }
    }
    for step in &mut steps {
        // The empty line before a comment or the next command is not output.
        while step.expected.last().is_some_and(String::is_empty) {
            step.expected.pop();
        }
    }
    steps
}

/// Returns whether a line matches the expected line, in which `[..]` is any text.
fn is_alike(expected: &str, line: &str) -> bool {
    let Some((head, rest)) = expected.split_once("[..]") else { return expected == line };
    let Some(mut tail) = line.strip_prefix(head) else { return false };
    loop {
        if is_alike(rest, tail) {
            return true;
        }
        let mut letters = tail.chars();
        if letters.next().is_none() {
            return false;
        }
        tail = letters.as_str();
    }
}

/// The transcript as it should be: lines that match are kept as they are.
fn merged(expected: &[String], lines: &[String]) -> String {
    let mut merged = String::new();
    for (at, line) in lines.iter().enumerate() {
        let known = expected.get(at).filter(|known| is_alike(known, line)).unwrap_or(line);
        let _ = writeln!(merged, "{known}");
    }
    merged
}

#[allow(clippy::disallowed_methods, reason = "a test that writes its own files reads the environment")]
fn check(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let shell = Shell::new();
    let mut whole = String::new();
    for Step { lead, command, expected } in parse(&text) {
        let lines = shell.lines(&command);
        let _ = write!(
            whole,
            "{}{lead}$ {command}\n{}",
            if whole.is_empty() || !lead.is_empty() { "" } else { "\n" },
            merged(&expected, &lines)
        );
    }
    if whole == text {
        return None;
    }
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        std::fs::write(file, &whole).unwrap();
        return None;
    }
    let difference = text.lines().zip(whole.lines()).find(|(expected, line)| expected != line);
    Some(format!("{}: {difference:#?}\nin full:\n{whole}", file.display()))
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
fn times_at_the_ends_of_summaries_are_any_text() {
    for (line, expected) in [
        ("1 worker, 5.0 MiB peak memory, 12 ms", "1 worker, 5.0 MiB peak memory, [..]"),
        ("x: 5 MiB, 1.25 s, 4 MB/s", "x: 5 MiB, [..]"),
        ("2 files, 3 ms of", "2 files, 3 ms of"),
        ("waits, s", "waits, s"),
        ("", ""),
    ] {
        assert_eq!(without_time(line), expected);
    }
}

#[test]
fn there_are_enough_commands_to_learn_from() {
    let commands: usize = files().iter().map(|file| parse(&std::fs::read_to_string(file).unwrap()).len()).sum();
    assert!(commands >= 120, "{commands}");
}
