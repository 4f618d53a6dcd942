//! Sends signals by system call, because the program `kill` is not on every machine.

use rustix::process::{Pid, Signal, kill_process};

/// Sends the signal of this name (`INT`, `TERM`, `HUP`, `KILL`) to a process. Returns an error for any other name, and if the call fails.
pub fn send(name: &str, process: u32) -> Result<(), String> {
    let signal = named(name).ok_or_else(|| format!("{name}: unknown signal"))?;
    let number = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = number.ok_or_else(|| format!("{process}: no process has this number"))?;
    kill_process(pid, signal).map_err(|cause| format!("cannot send {name} to process {process}: {cause}"))
}

fn named(name: &str) -> Option<Signal> {
    match name {
        "INT" => Some(Signal::INT),
        "TERM" => Some(Signal::TERM),
        "HUP" => Some(Signal::HUP),
        "KILL" => Some(Signal::KILL),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    #[test]
    fn process_ends_by_the_signal_sent() {
        for (name, number) in [("INT", 2), ("TERM", 15), ("KILL", 9)] {
            // The tests may run with SIGINT ignored, as background jobs of a shell do, and a child inherits that.
            let program = ["--default-signal=INT", "sh", "-c", "echo; exec sleep 600"];
            let mut child = Command::new("env").args(program).stdout(Stdio::piped()).spawn().unwrap();
            child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
            send(name, child.id()).unwrap();
            assert_eq!(child.wait().unwrap().signal(), Some(number), "{name}");
        }
        assert!(send("nonesuch", 1).unwrap_err().contains("unknown signal"));
        assert!(send("INT", 0).is_err(), "process 0 would be this process group");
    }
}
