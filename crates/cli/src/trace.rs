//! What a line tells of itself, kept while it runs and written as a trace that Perfetto and chrome://tracing show.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use packline::line::{Deed, Event, JobFacts, Tracer};
use serde_json::{Value, json};

use crate::clock::Stopwatch;

/// Books that threads write in; a thread has one of its own unless there are more threads.
const BOOKS: usize = 64;

/// A clock, and if it is to be one, a book of all that happens. The book is kept in memory: about 150 bytes an event.
#[derive(Debug)]
pub struct Recorder {
    watch: Stopwatch,
    /// Pools that were made.
    pools: AtomicU64,
    books: Option<Vec<Mutex<Vec<Event>>>>,
}

impl Recorder {
    /// One that only tells the time.
    pub fn clock() -> Recorder {
        Recorder { watch: Stopwatch::start(), pools: AtomicU64::new(0), books: None }
    }

    /// One that writes down what happens.
    pub fn book() -> Recorder {
        Recorder { books: Some((0..BOOKS).map(|_| Mutex::default()).collect()), ..Recorder::clock() }
    }

    /// Chrome's trace format, an event a line, in the order of their beginnings; `about` says what was done and with what. Each pool
    /// of workers is a process there, each of its workers a thread. `None` if nothing was written down.
    pub fn trace(&self, about: &Value) -> Option<String> {
        let mut events: Vec<Event> = Vec::new();
        for book in self.books.as_ref()? {
            events.append(&mut book.lock().unwrap_or_else(PoisonError::into_inner));
        }
        events.sort_by_key(|event| (event.begin, event.worker, event.end));
        let threads: BTreeSet<(u64, usize)> = events.iter().map(|event| (event.pool, event.worker)).collect();
        let lines = line_numbers(&events);
        let number = |event: &Event| lines.iter().position(|line| *line == (event.pool, event.line)).unwrap_or(0) + 1;
        let names = threads.into_iter().map(thread_name);
        let lines: Vec<String> = names.chain(events.iter().map(|event| event_line(event, number(event)))).collect();
        let all = lines.join(",\n");
        Some(format!("{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[\n{all}\n]}}\n"))
    }
}

/// Lines by pool and number there; where they stand is their number in the trace, in which they are all told apart.
fn line_numbers(events: &[Event]) -> Vec<(u64, u64)> {
    let lines: BTreeSet<(u64, u64)> = events.iter().map(|event| (event.pool, event.line)).collect();
    lines.into_iter().collect()
}

impl Tracer for Recorder {
    fn pool(&self) -> u64 {
        self.pools.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn now(&self) -> u64 {
        self.watch.nanoseconds()
    }

    fn record(&self, event: Event) {
        if let Some(books) = &self.books {
            books[(event.worker + event.pool as usize) % BOOKS]
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(event);
        }
    }
}

fn thread_name((pool, worker): (u64, usize)) -> String {
    let name = if worker == 0 { "caller".to_owned() } else { format!("worker {worker}") };
    json!({"name": "thread_name", "ph": "M", "pid": pool, "tid": worker, "args": {"name": name}}).to_string()
}

fn event_line(event: &Event, line: usize) -> String {
    let (name, pool, worker) = (event.deed.name(), event.pool, event.worker);
    let category = if event.deed.is_job() { "job" } else { "caller" };
    let (begin, length) = (microseconds(event.begin), microseconds(event.end.saturating_sub(event.begin)));
    let args = args(event, line);
    format!(
        "{{\"name\":\"{name}\",\"cat\":\"{category}\",\"ph\":\"X\",\"pid\":{pool},\"tid\":{worker},\"ts\":{begin},\"dur\":{length},\"args\":{args}}}"
    )
}

/// The format's unit, with nothing lost.
fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}

fn args(event: &Event, line: usize) -> String {
    let mut args = format!("{{\"ticket\":{},\"line\":{line}", event.ticket);
    // Writing to a String cannot fail.
    if event.deed != Deed::Wait {
        let _ = write!(args, ",\"bytes_in\":{},\"bytes_out\":{}", event.bytes_in, event.bytes_out);
    }
    if let Some(JobFacts { lane, class, queue, queue_wait, item }) = event.job {
        let (lane, class, item) = (lane.name(), class.name(), item.map_or(Value::Null, Value::from));
        let _ = write!(
            args,
            ",\"lane\":\"{lane}\",\"class\":\"{class}\",\"queue\":{queue},\"queue_wait_ns\":{queue_wait},\"item\":{item}"
        );
    }
    args.push('}');
    args
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline::line::{Class, LaneName};

    fn event(deed: Deed, worker: usize, begin: u64, job: Option<JobFacts>) -> Event {
        Event { deed, pool: 1, line: 1, worker, begin, end: begin + 1500, ticket: 7, bytes_in: 100, bytes_out: 40, job }
    }

    #[test]
    fn a_trace_is_json_in_order_of_time() {
        let recorder = Recorder::book();
        let facts = JobFacts { lane: LaneName::Commit, class: Class::Normal, queue: 1, queue_wait: 250, item: Some(3) };
        recorder.record(event(Deed::Compress, 2, 5_000_001, Some(facts)));
        recorder.record(event(Deed::Wait, 0, 4_000, None));
        let text = recorder.trace(&json!({"workers": 2})).unwrap();
        let trace: Value = serde_json::from_str(&text).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        assert_eq!((trace["otherData"]["workers"].as_u64(), events.len()), (Some(2), 2 + 2));
        assert_eq!(
            (&events[2]["name"], &events[2]["ts"], &events[2]["dur"]),
            (&json!("wait"), &json!(4.0), &json!(1.5))
        );
        let wanted = json!({"ticket": 7, "line": 1, "bytes_in": 100, "bytes_out": 40, "lane": "commit", "class": "normal",
            "queue": 1, "queue_wait_ns": 250, "item": 3});
        assert_eq!((&events[3]["args"], &events[3]["ts"]), (&wanted, &json!(5000.001)));
    }

    #[test]
    fn pools_are_processes_and_their_lines_are_told_apart() {
        let recorder = Recorder::book();
        let [first, second] = [recorder.pool(), recorder.pool()];
        for (pool, line) in [(second, 1), (first, 1), (first, 2)] {
            recorder.record(Event { pool, line, ..event(Deed::Hash, 1, 10 * pool + line, None) });
        }
        let trace: Value = serde_json::from_str(&recorder.trace(&Value::Null).unwrap()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
        let places: Vec<_> = events.map(|event| (event["pid"].as_u64(), event["args"]["line"].as_u64())).collect();
        assert_eq!(places, [(Some(1), Some(1)), (Some(1), Some(2)), (Some(2), Some(3))]);
    }

    #[test]
    fn a_clock_keeps_nothing() {
        let recorder = Recorder::clock();
        recorder.record(event(Deed::Hash, 1, 0, None));
        assert_eq!(recorder.trace(&Value::Null), None);
        assert!(recorder.now() <= recorder.now());
    }
}
