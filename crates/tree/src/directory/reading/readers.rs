//! Workers that read batches ahead of the caller, in order. The result does not depend on their number or speed.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::Arc;

use packline_engine::{Config, OrderedMap, Task};

use super::batch::Batch;
use crate::Error;
use crate::directory::xattr::XattrReader;

/// The workers, and the batches that they have read.
pub(super) struct Readers {
    map: OrderedMap<Load>,
    loaded: VecDeque<Batch>,
    root: Arc<Path>,
}

/// The root of all paths.
struct Load(Arc<Path>);

impl Task for Load {
    type In = Batch;
    type Out = Batch;
    type Error = Infallible;
    type Tool = XattrReader;

    fn tool(&self) -> XattrReader {
        XattrReader::default()
    }

    fn run(&self, xattrs: &mut XattrReader, mut batch: Batch) -> Result<Batch, Infallible> {
        batch.load(xattrs, &self.0);
        Ok(batch)
    }
}

impl Readers {
    /// Starts `count` threads, or as many as the system allows. Without threads the caller reads all batches. The caller also
    /// reads a batch that no thread has begun when the caller needs it.
    pub fn start(count: usize, root: &Arc<Path>) -> io::Result<Self> {
        let config = Config { help_out: true, ..Config::new(count, usize::MAX) };
        let map = OrderedMap::new(Load(Arc::clone(root)), config)?;
        Ok(Self { map, loaded: VecDeque::new(), root: Arc::clone(root) })
    }

    pub fn submit(&mut self, batch: Batch) -> Result<(), Error> {
        let Self { map, loaded, root } = self;
        map.submit(batch, &mut keep(loaded)).map_err(|_| panicked(root))
    }

    /// Waits for the earliest batch that has not been taken.
    pub fn take(&mut self) -> Result<Option<Batch>, Error> {
        let Self { map, loaded, root } = self;
        if loaded.is_empty() {
            map.advance(&mut keep(loaded)).map_err(|_| panicked(root))?;
        }
        Ok(loaded.pop_front())
    }
}

fn keep(loaded: &mut VecDeque<Batch>) -> impl FnMut(Batch) -> Result<(), Infallible> {
    |batch| {
        loaded.push_back(batch);
        Ok(())
    }
}

fn panicked(root: &Path) -> Error {
    let cause = io::Error::other("internal error: a thread that read files of it panicked");
    Error::Io { path: root.to_owned(), action: "cannot read", cause }
}
