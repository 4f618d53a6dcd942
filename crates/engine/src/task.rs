//! The work of one parallel stage.

use crate::Fault;

/// A pure function that workers run.
///
/// The result of [`Task::run`] depends only on its input, never on the worker, on earlier calls or on time.
pub trait Task: Send + Sync + 'static {
    type In: Send + 'static;
    type Out: Send + 'static;
    /// The error of `run` and of the caller's own steps.
    type Error: Send + 'static;
    /// State that a worker keeps between calls (codec contexts, scratch buffers). The worker makes it for its first job, and
    /// again after a panic.
    type Tool: 'static;

    fn tool(&self) -> Self::Tool;
    /// Processes one input.
    ///
    /// # Errors
    /// The task defines them.
    fn run(&self, tool: &mut Self::Tool, input: Self::In) -> Result<Self::Out, Self::Error>;

    /// Bytes of content in an input, for traces; 0 if unknown.
    fn bytes_in(&self, _: &Self::In) -> u64 {
        0
    }
    /// Bytes of content in a result, for traces; 0 if unknown.
    fn bytes_out(&self, _: &Self::Out) -> u64 {
        0
    }
}

/// The result of a job, or why there is none.
pub(crate) type Outcome<T> = Result<<T as Task>::Out, Fault<<T as Task>::Error>>;

#[cfg(test)]
pub(crate) mod tests {
    use super::Task;

    /// Returns its input.
    #[derive(Clone, Default)]
    pub(crate) struct Echo;

    impl Task for Echo {
        type In = u32;
        type Out = u32;
        type Error = ();
        type Tool = ();

        fn tool(&self) {}

        fn run(&self, (): &mut (), input: u32) -> Result<u32, ()> {
            Ok(input)
        }
    }
}
