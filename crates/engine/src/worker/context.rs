//! The task of a stage, and the tool with which one thread runs its jobs.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::caller::waker::CallerWaker;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::task::Outcome;
use crate::{Fault, Task};

/// SharedStage by the caller of a stage and the workers.
pub(crate) struct SharedStage<T: Task> {
    pub(crate) task: T,
    pub(crate) waker: Arc<CallerWaker>,
    /// Set by the caller when it ends the pipeline: no further job of the stage is run.
    pub(crate) closed: AtomicBool,
}

impl<T: Task> SharedStage<T> {
    pub(crate) fn new(task: T, waker: Arc<CallerWaker>) -> Arc<Self> {
        Arc::new(Self { task, waker, closed: AtomicBool::new(false) })
    }
}

/// A stage of any task, as its pool knows it.
pub(crate) trait AnyStage: Send + Sync {
    /// A [`WorkerContext`] for the current thread.
    fn context(self: Arc<Self>) -> Box<dyn Any>;
    fn is_closed(&self) -> bool;
}

impl<T: Task> AnyStage for SharedStage<T> {
    fn context(self: Arc<Self>) -> Box<dyn Any> {
        Box::new(WorkerContext::new(self))
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}

/// The task, and the tool of one thread, made when it is first needed.
pub(crate) struct WorkerContext<T: Task> {
    pub(crate) shared: Arc<SharedStage<T>>,
    tool: Option<T::Tool>,
}

impl<T: Task> WorkerContext<T> {
    pub(crate) fn new(shared: Arc<SharedStage<T>>) -> Self {
        Self { shared, tool: None }
    }

    /// Runs the task. After a panic the tool is in an unknown state: it is dropped, and the next job makes a new one.
    pub(crate) fn run(&mut self, input: T::In) -> Outcome<T> {
        let task = &self.shared.task;
        let run = AssertUnwindSafe(|| task.run(self.tool.get_or_insert_with(|| task.tool()), input));
        match catch_unwind(run) {
            Ok(result) => result.map_err(Fault::Work),
            Err(payload) => {
                discard(self.tool.take());
                Err(Fault::Panic(message(payload)))
            }
        }
    }
}

/// The text of a panic's payload.
fn message(payload: Box<dyn Any + Send>) -> String {
    let text = match payload.downcast_ref::<&str>() {
        Some(text) => Some((*text).to_owned()),
        None => payload.downcast_ref::<String>().cloned(),
    };
    discard(payload);
    text.unwrap_or_else(|| "no message".to_owned())
}

/// Drops `value` and catches a panic of its drop.
pub(crate) fn discard<T>(value: T) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        std::mem::forget(second);
    }
}
