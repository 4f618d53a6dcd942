//! Who is told how far the work is.

/// Told of progress on the caller's thread, often and cheaply.
pub trait Observer {
    /// So many bytes of content are done, of `total` if that is known.
    fn progress(&mut self, done: u64, total: Option<u64>);
    /// Something a user should know that is no error: fewer workers than wanted.
    fn notice(&mut self, message: &str);
}

/// Nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn progress(&mut self, _done: u64, _total: Option<u64>) {}
    fn notice(&mut self, _message: &str) {}
}
