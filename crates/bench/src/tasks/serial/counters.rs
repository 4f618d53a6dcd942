//! Reads the counters in the head of a trace, and the bytes of content in a summary.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::report::SerialRun;

#[derive(Deserialize)]
struct Trace {
    #[serde(rename = "otherData")]
    head: Head,
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
}

/// Something that a thread did.
#[derive(Deserialize)]
struct Event {
    name: String,
    /// The pool.
    pid: u64,
    /// The thread: 0 is the main thread.
    tid: u64,
    #[serde(default)]
    args: Args,
}

#[derive(Default, Deserialize)]
struct Args {
    #[serde(default)]
    processor_ns: u64,
}

#[derive(Deserialize)]
struct Head {
    wall_ns: u64,
    counters: Counters,
}

#[derive(Deserialize)]
struct Counters {
    main_thread: Processor,
    all_threads: Processor,
    transfers: Transfers,
    pipeline: Pipeline,
}

#[derive(Deserialize)]
struct Processor {
    user_ns: u64,
    system_ns: u64,
}

#[derive(Deserialize)]
struct Transfers {
    read_bytes: u64,
    written_bytes: u64,
    calls: u64,
}

#[derive(Deserialize)]
struct Pipeline {
    committed: u64,
    locks: u64,
    contended: u64,
    sleeper_locks: u64,
    sleeper_contended: u64,
    reading_ns: u64,
    deciding_ns: u64,
    committing_ns: u64,
}

/// Reads the counters of a run from its trace.
///
/// # Errors
/// Returns an error if the file is not a trace with counters, as a packline of another version writes it.
pub(super) fn read(trace: &Path) -> Result<SerialRun, Error> {
    let Trace { head: Head { wall_ns, counters }, events } = parse(trace)?;
    let Counters { main_thread, all_threads, transfers, pipeline } = counters;
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    Ok(SerialRun {
        wall: seconds(wall_ns),
        main_user: seconds(main_thread.user_ns),
        main_system: seconds(main_thread.system_ns),
        user: seconds(all_threads.user_ns),
        system: seconds(all_threads.system_ns),
        reading: seconds(pipeline.reading_ns),
        deciding: seconds(pipeline.deciding_ns),
        committing: seconds(pipeline.committing_ns),
        reader: seconds(reader_ns(&events)),
        writer: seconds(writer_ns(&events)),
        blocks: pipeline.committed,
        locks: pipeline.locks + pipeline.sleeper_locks,
        contended: pipeline.contended + pipeline.sleeper_contended,
        read_bytes: transfers.read_bytes,
        written_bytes: transfers.written_bytes,
        calls: transfers.calls,
    })
}

/// Returns the processor time of a thread that only writes: a pool of one thread beside the one that hashes, or that has several threads.
fn writer_ns(events: &[Event]) -> u64 {
    let jobs = || events.iter().filter(|event| event.tid > 0);
    let pool = jobs().find(|event| event.name == "hash" || event.tid > 1).map(|event| event.pid);
    let writes = |event: &&Event| event.name == "map" && pool.is_some_and(|pool| event.pid != pool) && event.tid == 1;
    jobs().filter(writes).map(|event| event.args.processor_ns).sum()
}

/// Returns the processor time of a thread that only reads a stream.
fn reader_ns(events: &[Event]) -> u64 {
    events.iter().filter(|event| event.name == "read-ahead").map(|event| event.args.processor_ns).sum()
}

/// Reads the bytes of content from the summary of `pack --json`.
pub(super) fn content_bytes(summary: &Path) -> Result<u64, Error> {
    #[derive(Deserialize)]
    struct Summary {
        content_bytes: u64,
    }
    parse(summary).map(|Summary { content_bytes }| content_bytes)
}

fn parse<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = fs::read(path).map_err(|cause| Error::file("read", path, &cause))?;
    serde_json::from_slice(&text).map_err(|cause| Error::at(path, cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_head_of_a_trace() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("trace");
        let pipeline = r#"{"committed":7,"locks":14,"contended":1,"sleeper_locks":3,"sleeper_contended":2,"reading_ns":1,"deciding_ns":2,
            "committing_ns":4,"more":0}"#;
        let counters = format!(
            r#"{{"pipeline":{pipeline},"main_thread":{{"user_ns":500000000,"system_ns":250000000}},
            "all_threads":{{"user_ns":3000000000,"system_ns":0}},"transfers":{{"read_bytes":5,"written_bytes":6,"calls":7}}}}"#
        );
        let events = r#"{"name":"thread_name","pid":1,"tid":1},{"name":"hash","pid":1,"tid":1,"args":{"processor_ns":7}},
            {"name":"map","pid":2,"tid":1,"args":{"processor_ns":500000000}},
            {"name":"read-ahead","pid":3,"tid":1,"args":{"processor_ns":250000000}}"#;
        let trace =
            format!(r#"{{"otherData":{{"wall_ns":2000000000,"counters":{counters}}},"traceEvents":[{events}]}}"#);
        fs::write(&path, trace).unwrap();
        let run = read(&path).unwrap();
        assert_eq!((run.wall, run.main_user, run.main_system, run.user), (2.0, 0.5, 0.25, 3.0));
        assert_eq!((run.reader, run.writer), (0.25, 0.5));
        assert_eq!((run.blocks, run.locks, run.contended, run.calls), (7, 17, 3, 7));
        let tar = r#"[{"name":"map","pid":2,"tid":1,"args":{"processor_ns":5}},{"name":"map","pid":1,"tid":2,"args":{"processor_ns":7}}]"#;
        assert_eq!(writer_ns(&serde_json::from_str::<Vec<Event>>(tar).unwrap()), 5);
        fs::write(&path, "{}").unwrap();
        assert!(read(&path).is_err() && content_bytes(&path).is_err());
    }
}
