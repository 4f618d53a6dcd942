//! Handles signals that stop the process: it removes temporary files, and exits with a status that names the signal.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use packline_runtime::Temporaries;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;

type FirstAct = Box<dyn FnOnce() + Send>;
type LastAct = Box<dyn FnOnce() -> u8 + Send>;

/// Actions of a command to run before a signal ends the process.
#[derive(Clone, Default)]
pub struct ShutdownHook(Arc<Mutex<Acts>>);

#[derive(Default)]
struct Acts {
    /// The list of temporary files, until the thread that waits for signals starts.
    unwatched: Option<Temporaries>,
    first: Option<FirstAct>,
    notice: Option<FirstAct>,
    last: Option<LastAct>,
}

impl ShutdownHook {
    /// Returns the actions of this process, whose files are on the list `temporaries`. From now on, a file that exceeds the process's limit
    /// (`ulimit -f`) causes a write error instead of a fatal signal.
    pub fn of_process(temporaries: Temporaries) -> io::Result<ShutdownHook> {
        flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
        Ok(ShutdownHook(Arc::new(Mutex::new(Acts { unwatched: Some(temporaries), ..Acts::default() }))))
    }

    /// Starts the thread that waits for signals, unless it runs. A command that leaves nothing behind does without it: the thread costs such
    /// a command a tenth of its time.
    pub fn watch(&self) -> io::Result<()> {
        let unwatched = self.acts().unwatched.take();
        unwatched.map_or(Ok(()), |temporaries| handle_in_thread(temporaries, self.clone()))
    }

    /// Sets the action that runs after temporary files are removed, and replaces an earlier action. It returns the exit status, because
    /// a signal is the usual end of some commands.
    pub fn set(&self, last: impl FnOnce() -> u8 + Send + 'static) {
        self.acts().last = Some(Box::new(last));
    }

    /// Sets the action that runs before temporary files are removed, and replaces an earlier action. It stops the processes that still
    /// write the files, or restores a terminal.
    pub fn set_first(&self, first: impl FnOnce() + Send + 'static) {
        self.acts().first = Some(Box::new(first));
        // Without a thread, the signal ends the process without this action.
        let _: io::Result<()> = self.watch();
    }

    /// Sets the action that says on a terminal that the command was stopped. It does not run if there is a last action.
    pub fn set_notice(&self, notice: impl FnOnce() + Send + 'static) {
        self.acts().notice = Some(Box::new(notice));
    }

    fn acts(&self) -> MutexGuard<'_, Acts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of steps that a process gets to end by itself.
const GRACE: (u32, Duration) = (100, Duration::from_millis(10));

/// Waits for at most a second for the end of a process whose output has its name: an exit status that names the signal would say that
/// there is no output. The process ends meanwhile, or begins another output.
fn let_end(temporaries: &Temporaries) {
    let (steps, step) = GRACE;
    for _ in 0..steps {
        if !temporaries.is_settled() {
            return;
        }
        thread::sleep(step);
    }
}

/// Starts the thread that waits for SIGINT, SIGTERM and SIGHUP. On the first signal, unless the process ends by itself at once, the
/// thread removes every temporary file. It then ends the process with status 128 + signal, or runs the last action of `shutdown` and
/// ends with its status. SIGHUP stays ignored if the parent ignored it (`nohup`).
fn handle_in_thread(temporaries: Temporaries, shutdown: ShutdownHook) -> io::Result<()> {
    let mut wanted = vec![SIGINT, SIGTERM];
    if !hangup_is_ignored() {
        wanted.push(SIGHUP);
    }
    let mut signals = Signals::new(wanted)?;
    thread::Builder::new().name("signals".to_string()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let_end(&temporaries);
            let acts = std::mem::take(&mut *shutdown.acts());
            if let Some(first) = acts.first {
                first();
            }
            temporaries.remove_for_good();
            if let (Some(notice), None) = (acts.notice, &acts.last) {
                notice();
            }
            std::process::exit(acts.last.map_or(128 + signal, |last| i32::from(last())));
        }
    })?;
    Ok(())
}

/// Returns whether SIGHUP (signal 1, the lowest bit) is in the mask of ignored signals.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
