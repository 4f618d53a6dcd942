//! Reads small contents once before they are packed, and orders them by similarity.

use packline_engine::{Config, Fault, OrderedMap, Permit, Task};
use packline_runtime::WorkFault;
use packline_runtime::memory::{size_at_least, size_at_most};
use packline_tree::{Error, Extent, NodeId, Source};

use super::{MergedEntries, StackSource};
use crate::similarity::{ContentKind, Features, chain, content_kind, memory, minima, sketch};

/// Approximate bytes, and number, of contents that a worker gets at a time.
const BATCH: usize = 512 << 10;
const BATCH_FILES: usize = 1024;
/// Bytes of contents in flight.
const WINDOW: usize = 4 << 20;
/// Maximum number of workers: the caller reads no faster than they compare.
const WORKERS_MOST: usize = 4;

/// Contents, one after another.
struct Batch {
    bytes: Vec<u8>,
    /// The end of each content.
    ends: Vec<u32>,
    _permit: Permit,
}

/// The kind of each content, and the number of features that belong to it.
#[derive(Default)]
struct Sketched {
    contents: Vec<(ContentKind, u8)>,
    features: Vec<u32>,
}

struct Sketcher {
    minima: usize,
}

impl Task for Sketcher {
    type In = Batch;
    type Out = Sketched;
    type Error = Error;
    type Tool = Vec<u64>;

    fn tool(&self) -> Vec<u64> {
        vec![0; self.minima]
    }

    fn run(&self, minima: &mut Vec<u64>, batch: Batch) -> Result<Sketched, Error> {
        let mut sketched = Sketched::default();
        let mut start = 0;
        for end in batch.ends {
            let content = &batch.bytes[start..end as usize];
            let before = sketched.features.len();
            sketch(content, minima, &mut sketched.features);
            sketched.contents.push((content_kind(content), (sketched.features.len() - before) as u8));
            start = end as usize;
        }
        Ok(sketched)
    }
}

/// All sketches so far.
struct Sketches {
    kinds: Vec<ContentKind>,
    features: Features,
}

impl Sketches {
    fn add(&mut self, sketched: Sketched) {
        let mut features = sketched.features.as_slice();
        for (kind, count) in sketched.contents {
            let (own, rest) = features.split_at(usize::from(count));
            self.kinds.push(kind);
            self.features.push(own);
            features = rest;
        }
    }
}

impl StackSource {
    /// Orders files by similarity and, without similarity, by kind, name ending and path.
    ///
    /// # Errors
    /// The layers return an error, or the memory is too small.
    pub(super) fn similar(
        &mut self,
        files: Vec<NodeId>,
        compared: &mut dyn FnMut(u64, u64),
    ) -> Result<Vec<NodeId>, Error> {
        self.check_memory(files.len())?;
        let numbers = files.iter().filter_map(|node| Some(self.merged.as_ref()?.file(*node)?.0));
        let numbers: Vec<u32> = numbers.collect();
        self.announce(&numbers);
        let Sketches { kinds, mut features } = self.sketches(&files, compared)?;
        let Some(MergedEntries { merged, .. }) = &self.merged else { return Ok(files) };
        let mut plain: Vec<u32> = (0..files.len() as u32).collect();
        plain.sort_by_key(|at| (kinds[*at as usize], ending(merged.tree.name(files[*at as usize]))));
        let mut places = vec![0; plain.len()];
        (0..).zip(&plain).for_each(|(place, at): (u32, _)| places[*at as usize] = place);
        features.renumber(&places);
        Ok(chain(features).into_iter().map(|place| files[plain[place as usize] as usize]).collect())
    }

    fn check_memory(&self, contents: usize) -> Result<(), Error> {
        let needed = memory(contents) + (2 * WINDOW) as u64;
        let taken = self.memory() as u64;
        if taken.saturating_add(needed) <= self.options.memory {
            return Ok(());
        }
        let what = format!(
            "comparing {contents} files may need {} of memory and the tree needs {}, but only {} is available; raise the \
             memory limit, or order the files by path",
            size_at_least(needed),
            size_at_least(taken),
            size_at_most(self.options.memory)
        );
        Err(Error::Input { input: self.names(), what, expected: String::new() })
    }

    fn names(&self) -> String {
        self.layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Reads files in their order.
    fn sketches(&mut self, files: &[NodeId], compared: &mut dyn FnMut(u64, u64)) -> Result<Sketches, Error> {
        let total = files.iter().map(|node| self.size(*node) as u64).sum();
        let minima = minima(files.len());
        let workers = self.options.engine.workers.min(WORKERS_MOST);
        let config = Config { workers, budget: WINDOW, ..self.options.engine.clone() };
        let map = OrderedMap::new(Sketcher { minima }, config);
        let mut map =
            map.map_err(|cause| Error::Io { path: self.names().into(), action: "cannot start the workers", cause })?;
        // An upper bound: untouched memory is not resident.
        let features = Features::with_capacity(files.len(), files.len() * minima);
        let mut sketches = Sketches { kinds: Vec::with_capacity(files.len()), features };
        let mut add = |sketched| {
            sketches.add(sketched);
            Ok(())
        };
        let mut left = files;
        while !left.is_empty() {
            let count = self.batch(left);
            let (own, rest) = left.split_at(count);
            let size = own.iter().map(|node| self.size(*node)).sum();
            let permit = map.reserve(size, &mut add).map_err(|fault| self.of_fault(fault))?;
            let batch = self.read_batch(own, size, permit)?;
            map.submit(batch, &mut add).map_err(|fault| self.of_fault(fault))?;
            left = rest;
            compared(self.done, total);
        }
        map.drain(&mut add).map_err(|fault| self.of_fault(fault))?;
        self.done = 0;
        Ok(sketches)
    }

    /// Number of files that are read together, at least one.
    fn batch(&self, files: &[NodeId]) -> usize {
        let mut bytes = 0;
        let fit = files.iter().take(BATCH_FILES).take_while(|node| {
            bytes += self.size(**node);
            bytes <= BATCH
        });
        fit.count().max(1)
    }

    /// The size of a file that is smaller than a block.
    fn size(&self, node: NodeId) -> usize {
        self.merged.as_ref().and_then(|listed| listed.file(node)).map_or(0, |(_, size)| size as usize)
    }

    fn read_batch(&mut self, files: &[NodeId], size: usize, permit: Permit) -> Result<Batch, Error> {
        let mut batch = Batch { bytes: vec![0; size], ends: Vec::with_capacity(files.len()), _permit: permit };
        let mut start = 0;
        for node in files {
            let end = start + self.size(*node);
            self.read_content(*node, &mut batch.bytes[start..end])?;
            batch.ends.push(end as u32);
            start = end;
        }
        Ok(batch)
    }

    fn read_content(&mut self, node: NodeId, mut bytes: &mut [u8]) -> Result<(), Error> {
        let Some(listed) = &self.merged else { return Ok(()) };
        let (Some((number, _)), path) = (listed.file(node), listed.merged.tree.path(node)) else { return Ok(()) };
        self.go_to(number, &path)?;
        while !bytes.is_empty() {
            let read = match self.read(bytes)? {
                Extent::Data(count) => count,
                Extent::Hole(count) => usize::try_from(count).unwrap_or(usize::MAX),
                Extent::End => break,
            };
            let read = read.min(bytes.len());
            bytes = &mut bytes[read..];
        }
        Ok(())
    }

    fn of_fault(&self, fault: Fault<Error>) -> Error {
        WorkFault::task_error(fault).unwrap_or_else(|fault| {
            let cause = std::io::Error::other(fault);
            Error::Io { path: self.names().into(), action: "cannot compare contents", cause }
        })
    }
}

/// The ending of a name, without a version after it: `.so` for `libc.so.6`.
fn ending(name: &[u8]) -> &[u8] {
    let versioned = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let length = name.iter().rposition(|byte| !versioned(byte)).map_or(0, |last| last + 1);
    let name = &name[..length];
    match memchr::memrchr(b'.', name) {
        Some(dot) if dot > 0 && name.len() - dot <= 8 => &name[dot..],
        _ => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::ending;

    #[test]
    fn endings_have_no_version() {
        for (name, expected) in [
            ("libc.so.6", ".so"),
            ("libfoo.so.1.2.3", ".so"),
            ("a.py", ".py"),
            (".profile", ""),
            ("README", ""),
            ("1.2", ""),
            ("x.verylongending", ""),
        ] {
            assert_eq!(ending(name.as_bytes()), expected.as_bytes(), "{name}");
        }
    }
}
