//! Programs of a distribution that call squashfs-tools, squashfs-tools-ng or erofs-utils, run with the originals and with the drop-ins on the
//! same input. Both runs must end as expected, print the same and leave the same trees.

mod disks;
mod erofs;
mod outcome;
mod packages;
mod run;
mod systems;

use crate::{environment, shell};
use clap::Args;
use outcome::Outcome;
use packline_testkit::tools;
use run::{Programs, Run};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, Default, Args)]
pub struct Options {
    /// Only the clients that install small and run in seconds
    #[arg(long)]
    short: bool,
    /// Only these clients [default: all for which this release of Debian has the packages]
    #[arg(value_name = "CLIENT", value_parser = CLIENTS.map(|client| client.name))]
    only: Vec<String>,
    /// The packline to run [default: a debug build]
    #[arg(long, value_name = "PROGRAM")]
    binary: Option<PathBuf>,
}

/// A program that calls those that the drop-ins replace.
struct Client {
    name: &'static str,
    /// The programs that it needs, each with its Debian package, or with the command that installs it.
    needs: &'static [(&'static str, &'static str)],
    /// The first release of Debian whose packages suffice.
    debian: u32,
    /// Whether it belongs to the short form.
    short: bool,
    /// A description of the client's work, for its line of the report.
    does: &'static str,
    /// Creates the client's input in an empty directory and runs the client there. Returns an error if it does not end as expected.
    exercise: fn(&mut Run) -> Result<(), String>,
}

const CLIENTS: [Client; 16] = [
    erofs::UTIL_LINUX,
    disks::GENIMAGE,
    packages::RAUC,
    packages::SNAP,
    packages::DIFFOSCOPE,
    disks::REPART,
    systems::LIVE_BUILD,
    systems::LTSP,
    systems::REMASTER,
    systems::MMDEBSTRAP,
    packages::CHARLIECLOUD,
    disks::MKOSI,
    systems::DRACUT,
    erofs::KIWI,
    erofs::REPART,
    systems::DRACUT_EROFS,
];

/// Runs the chosen clients. Clients of a later Debian run only by name. If a client fails, the others still run, and the error has the output of each failed client. No client runs if
/// one of them is not installed.
pub fn run(options: &Options) -> Result<(), String> {
    let release = debian_release(&std::fs::read_to_string("/etc/os-release").unwrap_or_default());
    let clients: Vec<&Client> = CLIENTS.iter().filter(|client| options.choose(client, release)).collect();
    require(&clients)?;
    let target = environment::target_directory();
    let named = |cause| format!("{}: {cause}", target.display());
    let scratch = tempfile::tempdir_in(target.canonicalize().map_err(named)?).map_err(named)?;
    let drop_ins = options.drop_ins(scratch.path())?;
    let failures: Vec<String> = clients.iter().filter_map(|client| client.report(scratch.path(), &drop_ins)).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

impl Options {
    pub fn short() -> Options {
        Options { short: true, ..Options::default() }
    }

    fn choose(&self, client: &Client, release: u32) -> bool {
        let named = self.only.iter().any(|name| name == client.name);
        let is_possible = self.only.is_empty() && client.debian <= release;
        (named || is_possible) && (client.short || !self.short)
    }

    /// A directory of links to packline.
    fn drop_ins(&self, scratch: &Path) -> Result<PathBuf, String> {
        let binary = self.binary.clone().map_or_else(shell::debug_binary, Ok)?;
        let binary = binary.canonicalize().map_err(|cause| format!("{}: {cause}", binary.display()))?;
        let links = scratch.join("links");
        std::fs::create_dir(&links).map_err(|cause| format!("{}: {cause}", links.display()))?;
        shell::output(Command::new(&binary).args(["links", "--quiet"]).arg(&links))?;
        Ok(links)
    }
}

/// The release of Debian that a file of os-release(5) describes. Another distribution counts as the latest.
fn debian_release(text: &str) -> u32 {
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        Some(line.trim_matches('"'))
    };
    let version = value("VERSION_ID").filter(|_| value("ID") == Some("debian"));
    version.and_then(|version| version.parse().ok()).unwrap_or(u32::MAX)
}

/// An error unless this is root, because images are mounted, and all programs are installed.
fn require(clients: &[&Client]) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("the clients run as root only, because their images are mounted".into());
    }
    let needs = clients.iter().flat_map(|client| client.needs.iter().map(|need| (client.name, need)));
    let missing = |(client, (program, package)): (&str, &(&str, &str))| {
        let apt = if package.starts_with("pip ") { "" } else { "apt-get install " };
        let line = format!("{client}: {program} is not installed ({apt}{package})");
        tools::find(program).is_none().then_some(line)
    };
    let missing: Vec<String> = needs.filter_map(missing).collect();
    if missing.is_empty() { Ok(()) } else { Err(missing.join("\n")) }
}

impl Client {
    /// Runs it with both, and prints its line unless it fails. Returns the failure.
    fn report(&self, scratch: &Path, drop_ins: &Path) -> Option<String> {
        let ours = Programs::Ours(drop_ins);
        let outcomes = [Programs::Peers, ours].map(|programs| self.outcome(scratch, programs));
        let [peers, ours] = outcomes;
        let same = peers.and_then(|peers| ours.and_then(|ours| peers.same(&ours)));
        match same {
            Ok(seen) => {
                shell::print(&format!("{}: {}; {seen}", self.name, self.does));
                None
            }
            Err(cause) => Some(format!("{}: {cause}", self.name)),
        }
    }

    fn outcome(&self, scratch: &Path, programs: Programs) -> Result<Outcome, String> {
        let mut run = Run::begin(&scratch.join("run"), programs)?;
        (self.exercise)(&mut run).and_then(|()| run.end()).map_err(|cause| format!("with {programs}: {cause}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn release_of_debian() {
        assert_eq!(debian_release("NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nID=debian\n"), 12);
        assert_eq!(debian_release("ID=fedora\nVERSION_ID=42\n"), u32::MAX);
        assert_eq!(debian_release(""), u32::MAX);
    }

    #[test]
    fn clients_of_a_later_debian_run_by_name() {
        let later = CLIENTS.iter().find(|client| client.debian > 12).unwrap();
        assert!(!Options::default().choose(later, 12) && Options::default().choose(later, 13));
        assert!(Options { only: vec![later.name.into()], ..Options::default() }.choose(later, 12));
    }

    #[test]
    fn continuous_integration_installs_what_the_short_form_needs() {
        let script = std::fs::read_to_string(shell::root().join(".ci/run")).unwrap();
        let short: Vec<&Client> = CLIENTS.iter().filter(|client| client.short).collect();
        assert!(!short.is_empty());
        for (program, package) in short.iter().flat_map(|client| client.needs) {
            let pair = format!("{program}:{package}");
            assert!(script.split_whitespace().any(|word| word == pair), ".ci/run does not have {pair}");
        }
    }
}
