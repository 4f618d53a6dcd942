//! A task whose job waits until the test releases it, to hold a map in a known state.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use packline_engine::{OrderedMap, Permit, Task};

/// A gate that is opened once.
#[derive(Clone, Default)]
pub struct Gate {
    open: Arc<(Mutex<bool>, Condvar)>,
}

impl Gate {
    pub fn open(&self) {
        *self.open.0.lock().unwrap() = true;
        self.open.1.notify_all();
    }

    pub fn pass(&self) {
        let guard = self.open.0.lock().unwrap();
        drop(self.open.1.wait_while(guard, |open| !*open).unwrap());
    }
}

/// Opens `begun`, and waits for `go`.
#[derive(Clone, Default)]
pub struct Gated {
    pub begun: Gate,
    pub go: Gate,
    pub running: Arc<AtomicBool>,
}

impl Task for Gated {
    type In = Option<Permit>;
    type Out = Option<Permit>;
    type Error = String;
    type Tool = ();

    fn tool(&self) {}

    fn run(&self, (): &mut (), raw: Option<Permit>) -> Result<Option<Permit>, String> {
        self.running.store(true, Ordering::SeqCst);
        self.begun.open();
        self.go.pass();
        self.running.store(false, Ordering::SeqCst);
        Ok(raw)
    }
}

pub type GatedMap = OrderedMap<Gated>;

/// Drops a result.
pub fn ignore(_: Option<Permit>) -> Result<(), String> {
    Ok(())
}
