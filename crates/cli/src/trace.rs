//! What a line tells of itself, kept while it runs and written as a trace that Perfetto and chrome://tracing show.

use std::fmt::Write;
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
    books: Option<Vec<Mutex<Vec<Event>>>>,
}

impl Recorder {
    /// One that only tells the time.
    pub fn clock() -> Recorder {
        Recorder { watch: Stopwatch::start(), books: None }
    }

    /// One that writes down what happens.
    pub fn book() -> Recorder {
        Recorder { books: Some((0..BOOKS).map(|_| Mutex::default()).collect()), ..Recorder::clock() }
    }

    /// Chrome's trace format, an event a line, in the order of their beginnings; `about` says what was done and with what.
    /// `None` if nothing was written down.
    pub fn trace(&self, about: &Value) -> Option<String> {
        let mut events: Vec<Event> = Vec::new();
        for book in self.books.as_ref()? {
            events.append(&mut book.lock().unwrap_or_else(PoisonError::into_inner));
        }
        events.sort_by_key(|event| (event.begin, event.worker, event.end));
        let workers = events.iter().map(|event| event.worker).max().unwrap_or(0);
        let lines: Vec<String> = (0..=workers).map(thread_name).chain(events.iter().map(event_line)).collect();
        let all = lines.join(",\n");
        Some(format!("{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[\n{all}\n]}}\n"))
    }
}

impl Tracer for Recorder {
    fn now(&self) -> u64 {
        self.watch.nanoseconds()
    }

    fn record(&self, event: Event) {
        if let Some(books) = &self.books {
            books[event.worker % BOOKS].lock().unwrap_or_else(PoisonError::into_inner).push(event);
        }
    }
}

fn thread_name(worker: usize) -> String {
    let name = if worker == 0 { "caller".to_owned() } else { format!("worker {worker}") };
    json!({"name": "thread_name", "ph": "M", "pid": 1, "tid": worker, "args": {"name": name}}).to_string()
}

fn event_line(event: &Event) -> String {
    let (name, worker) = (event.deed.name(), event.worker);
    let category = if event.deed.is_job() { "job" } else { "caller" };
    let (begin, length) = (microseconds(event.begin), microseconds(event.end.saturating_sub(event.begin)));
    let args = args(event);
    format!(
        "{{\"name\":\"{name}\",\"cat\":\"{category}\",\"ph\":\"X\",\"pid\":1,\"tid\":{worker},\"ts\":{begin},\"dur\":{length},\"args\":{args}}}"
    )
}

/// The format's unit, with nothing lost.
fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}

fn args(event: &Event) -> String {
    let mut args = format!("{{\"ticket\":{},\"line\":{}", event.ticket, event.line);
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
        Event { deed, line: 1, worker, begin, end: begin + 1500, ticket: 7, bytes_in: 100, bytes_out: 40, job }
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
        assert_eq!((trace["otherData"]["workers"].as_u64(), events.len()), (Some(2), 3 + 2));
        assert_eq!(
            (&events[3]["name"], &events[3]["ts"], &events[3]["dur"]),
            (&json!("wait"), &json!(4.0), &json!(1.5))
        );
        let wanted = json!({"ticket": 7, "line": 1, "bytes_in": 100, "bytes_out": 40, "lane": "commit", "class": "normal",
            "queue": 1, "queue_wait_ns": 250, "item": 3});
        assert_eq!((&events[4]["args"], &events[4]["ts"]), (&wanted, &json!(5000.001)));
    }

    #[test]
    fn a_clock_keeps_nothing() {
        let recorder = Recorder::clock();
        recorder.record(event(Deed::Hash, 1, 0, None));
        assert_eq!(recorder.trace(&Value::Null), None);
        assert!(recorder.now() <= recorder.now());
    }
}
