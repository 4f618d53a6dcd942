//! Stages that stay in a job until they are let go, to hold a line in a known state.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use packline_engine::{Caller, Outbox, Permit, Work};

/// A door that is opened once.
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

/// The first stage says that it has begun, and waits to be let go.
#[derive(Clone, Default)]
pub struct Gated {
    pub begun: Gate,
    pub go: Gate,
    pub running: Arc<AtomicBool>,
}

impl Work for Gated {
    type Raw = Option<Permit>;
    type Hashed = Option<Permit>;
    type Job = ();
    type Packed = ();
    type Error = String;
    type Tool = ();

    fn tool(&self) {}

    fn hash(&self, (): &mut (), raw: Option<Permit>) -> Result<Option<Permit>, String> {
        self.running.store(true, Ordering::SeqCst);
        self.begun.open();
        self.go.pass();
        self.running.store(false, Ordering::SeqCst);
        Ok(raw)
    }

    fn compress(&self, (): &mut (), (): ()) -> Result<(), String> {
        Ok(())
    }
}

/// Decides nothing.
pub struct Drain;

impl Caller<Gated> for Drain {
    fn decide(&mut self, _: Option<Permit>, _: &mut dyn Outbox<Gated>) -> Result<(), String> {
        Ok(())
    }

    fn commit(&mut self, (): ()) -> Result<(), String> {
        Ok(())
    }
}
