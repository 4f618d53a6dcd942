//! A directory in which a shell runs commands that use packline.

use packline_testkit::{Ran, Sandbox};

use super::session;

/// The place where the commands of one file run: `work`, next to `bin` with packline and its drop-ins.
pub struct Shell(Sandbox);

impl Shell {
    /// A shell in whose directory a script has made the inputs.
    pub fn new(prepare: &str) -> Shell {
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_packline"));
        sandbox.create_dir("bin");
        sandbox.create_dir("work");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_packline"), sandbox.at("bin/packline")).unwrap();
        let shell = Shell(sandbox);
        assert_eq!(shell.run("packline links --quiet --target packline ../bin"), (String::new(), 0));
        assert_eq!(shell.script(prepare), (String::new(), 0));
        shell
    }

    /// Runs a command and returns its output and its exit status.
    pub fn run(&self, command: &str) -> (String, i32) {
        self.with_arguments(&["-c", &format!("exec 2>&1\n{command}")])
    }

    /// Runs commands up to the first that fails.
    pub fn script(&self, commands: &str) -> (String, i32) {
        self.with_arguments(&["-euc", &format!("exec 2>&1\n{commands}")])
    }

    fn with_arguments(&self, arguments: &[&str]) -> (String, i32) {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", self.0.arg("bin"));
        let mut shell = self.0.program("sh", arguments);
        shell.current_dir(self.0.at("work")).env_clear().envs([
            ("PATH", path.as_str()),
            ("LC_ALL", "C.UTF-8"),
            ("NO_COLOR", "1"),
            ("TZ", "UTC"),
            ("HOME", "/nonexistent"),
        ]);
        let ran = Ran::of(&mut shell);
        (String::from_utf8_lossy(&ran.stdout).replace(&self.0.arg(""), "/TOP/"), ran.status)
    }

    /// The lines that a command leaves in a transcript.
    pub fn lines(&self, command: &str) -> Vec<String> {
        let (text, status) = self.run(command);
        let mut lines: Vec<String> = text.lines().map(|line| line.trim_end().to_string()).collect();
        if status != 0 {
            lines.push(format!("[{status}]"));
        }
        lines
    }

    /// [`Shell::lines`] without times, which would differ each time that a file is rewritten.
    pub fn timeless_lines(&self, command: &str) -> Vec<String> {
        self.lines(command).iter().map(|line| session::without_time(line)).collect()
    }
}
