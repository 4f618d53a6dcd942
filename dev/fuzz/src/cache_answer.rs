//! Uses any bytes as the answer of a server, as the entry in the answer, and as the address of a server: nothing panics, the compressed block
//! is correct, and no password is shown.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use packline_cache::http::{Url, action_result};
use packline_cache::{BlockCache, BlockEncoder, Lookup, Remote, RemoteCounts, RemoteMemory};
use packline_codec::{Outcome, Spec};

const BLOCK: [u8; 300] = [b'x'; 300];
static SPEC: LazyLock<Spec> = LazyLock::new(|| Spec::parse("lz4").expect("a codec"));
static EXPECTED: LazyLock<Vec<u8>> = LazyLock::new(|| compressed(Lookup::default()));

/// A server that has one answer.
#[derive(Debug)]
struct Answer(Vec<u8>);

impl Remote for Answer {
    fn get(&self, _: &[u8; 32], _: usize, bytes: &mut Vec<u8>) {
        bytes.clear();
        bytes.extend_from_slice(&self.0);
    }

    fn judge(&self, _: bool) {}

    fn put(&self, _: &[u8; 32], _: [&[u8]; 2]) {}

    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn encoded(&self, _: usize, _: Duration) {}

    fn wants_time(&self) -> bool {
        false
    }

    fn memory(&self, _: usize) -> RemoteMemory {
        RemoteMemory::default()
    }

    fn finish(&self) -> RemoteCounts {
        RemoteCounts::default()
    }
}

fn compressed(lookup: Lookup) -> Vec<u8> {
    let mut encoder = BlockEncoder::new(&lookup, &SPEC, BLOCK.len()).expect("an encoder");
    let mut to = [0; BLOCK.len()];
    match encoder.compress(&BLOCK, None, &mut to).expect("a block") {
        Outcome::Smaller(size) => to[..size].to_vec(),
        Outcome::NotSmaller => Vec::new(),
    }
}

pub fn cache_answer(bytes: &[u8]) {
    let entry = action_result::stdout_raw(bytes).map(|range| &bytes[range]);
    for entry in entry.into_iter().chain([bytes]) {
        let again = action_result::encode(&[entry]);
        assert_eq!(action_result::stdout_raw(&again).map(|range| &again[range]), Some(entry));
        let cache = Arc::new(BlockCache::shared(Box::new(Answer(entry.to_vec()))));
        assert_eq!(compressed(Lookup { known: Vec::new(), cache: Some(cache) }), *EXPECTED);
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = Url::parse(text);
    if !text.contains(['/', '@', '\\']) && text.len() > 8 {
        let shown = match Url::parse(&format!("http://user:{text}@host/x")) {
            Ok(url) => format!("{url} {url:?}"),
            Err(error) => error.to_string(),
        };
        assert!(!shown.contains(text));
    }
}
