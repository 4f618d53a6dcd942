//! Timing events of pipelines. They are buffered while the pipelines run, and written as a trace for Perfetto and chrome://tracing.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use packline_engine::{Event, EventKind, JobFacts, Tracer};
use serde_json::{Value, json};

use crate::host::clock::{self, Stopwatch};

/// The number of event buffers. Each thread has its own buffer unless there are more threads.
const BUFFERS: usize = 64;

/// A clock, and optionally a buffer of all events. The buffer takes about 150 bytes of memory per event.
#[derive(Debug)]
pub struct Recorder {
    clock: Stopwatch,
    /// The number of pools so far.
    pools: AtomicU64,
    buffers: Option<Vec<Mutex<Vec<Event>>>>,
}

impl Recorder {
    /// Returns a recorder that is only a clock.
    pub fn clock() -> Recorder {
        Recorder { clock: Stopwatch::start(), pools: AtomicU64::new(0), buffers: None }
    }

    /// Returns a recorder that buffers every event.
    pub fn buffering() -> Recorder {
        Recorder { buffers: Some((0..BUFFERS).map(|_| Mutex::default()).collect()), ..Recorder::clock() }
    }

    /// Returns the events in Chrome's trace format, one per line, ordered by start; `about` describes the command. Each pool of workers
    /// is a process in the trace, and each worker a thread. Returns `None` without buffers.
    pub fn trace(&self, about: &Value) -> Option<String> {
        let mut events: Vec<Event> = Vec::new();
        for buffer in self.buffers.as_ref()? {
            events.append(&mut buffer.lock().unwrap_or_else(PoisonError::into_inner));
        }
        events.sort_by_key(|event| (event.begin, event.worker, event.end));
        let threads: BTreeSet<(u64, usize)> = events.iter().map(|event| (event.pool, event.worker)).collect();
        let pipelines = pipeline_numbers(&events);
        let number = |event: &Event| {
            pipelines.iter().position(|pipeline| *pipeline == (event.pool, event.pipeline)).unwrap_or(0) + 1
        };
        let names = threads.into_iter().map(thread_name);
        let lines: Vec<String> = names.chain(events.iter().map(|event| event_line(event, number(event)))).collect();
        let all = lines.join(",\n");
        Some(format!("{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[\n{all}\n]}}\n"))
    }
}

/// The pipelines by pool and by number in the pool. The index is the unique number in the trace.
fn pipeline_numbers(events: &[Event]) -> Vec<(u64, u64)> {
    let pipelines: BTreeSet<(u64, u64)> = events.iter().map(|event| (event.pool, event.pipeline)).collect();
    pipelines.into_iter().collect()
}

impl Tracer for Recorder {
    fn pool(&self) -> u64 {
        self.pools.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn now(&self) -> u64 {
        self.clock.nanoseconds()
    }

    fn processor_time(&self) -> u64 {
        clock::thread_time().as_nanos() as u64
    }

    fn record(&self, event: Event) {
        if let Some(buffers) = &self.buffers {
            buffers[(event.worker + event.pool as usize) % BUFFERS]
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

fn event_line(event: &Event, pipeline: usize) -> String {
    let name = event.kind.name();
    let pool = event.pool;
    let worker = event.worker;
    let category = match event.kind {
        EventKind::Job(_) => "job",
        EventKind::ReadAhead => "thread",
        _ => "caller",
    };
    let begin = microseconds(event.begin);
    let length = microseconds(event.end.saturating_sub(event.begin));
    let args = args(event, pipeline);
    format!(
        "{{\"name\":\"{name}\",\"cat\":\"{category}\",\"ph\":\"X\",\"pid\":{pool},\"tid\":{worker},\"ts\":{begin},\"dur\":{length},\"args\":{args}}}"
    )
}

/// Microseconds, the unit of the format, exact to the nanosecond.
fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}

fn args(event: &Event, pipeline: usize) -> String {
    let mut args = format!("{{\"ticket\":{},\"pipeline\":{pipeline}", event.ticket);
    // Writing to a String cannot fail.
    if event.kind != EventKind::Wait {
        let Event { bytes_in, bytes_out, processor_ns, .. } = event;
        let _ = write!(args, ",\"bytes_in\":{bytes_in},\"bytes_out\":{bytes_out},\"processor_ns\":{processor_ns}");
    }
    if let Some(JobFacts { stage, class, queue, queue_wait, item }) = event.job {
        let stage = stage.name();
        let class = class.name();
        let item = item.map_or(Value::Null, Value::from);
        let _ = write!(
            args,
            ",\"stage\":\"{stage}\",\"class\":\"{class}\",\"queue\":{queue},\"queue_wait_ns\":{queue_wait},\"item\":{item}"
        );
    }
    args.push('}');
    args
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_engine::{Class, StageName};

    fn event(kind: EventKind, worker: usize, begin: u64, job: Option<JobFacts>) -> Event {
        Event {
            kind,
            pool: 1,
            pipeline: 1,
            worker,
            begin,
            end: begin + 1500,
            processor_ns: 1200,
            ticket: 7,
            bytes_in: 100,
            bytes_out: 40,
            job,
        }
    }

    #[test]
    fn a_trace_is_json_in_order_of_time() {
        let recorder = Recorder::buffering();
        let facts =
            JobFacts { stage: StageName::Compress, class: Class::Normal, queue: 1, queue_wait: 250, item: Some(3) };
        recorder.record(event(EventKind::Job(StageName::Compress), 2, 5_000_001, Some(facts)));
        recorder.record(event(EventKind::Wait, 0, 4_000, None));
        let text = recorder.trace(&json!({"workers": 2})).unwrap();
        let trace: Value = serde_json::from_str(&text).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        assert_eq!((trace["otherData"]["workers"].as_u64(), events.len()), (Some(2), 2 + 2));
        assert_eq!(
            (&events[2]["name"], &events[2]["ts"], &events[2]["dur"]),
            (&json!("wait"), &json!(4.0), &json!(1.5))
        );
        let wanted = json!({"ticket": 7, "pipeline": 1, "bytes_in": 100, "bytes_out": 40, "processor_ns": 1200, "stage": "compress", "class": "normal",
            "queue": 1, "queue_wait_ns": 250, "item": 3});
        assert_eq!((&events[3]["args"], &events[3]["ts"]), (&wanted, &json!(5000.001)));
    }

    #[test]
    fn pools_are_processes_and_pipelines_have_unique_numbers() {
        let recorder = Recorder::buffering();
        let [first, second] = [recorder.pool(), recorder.pool()];
        for (pool, pipeline) in [(second, 1), (first, 1), (first, 2)] {
            recorder.record(Event {
                pool,
                pipeline,
                ..event(EventKind::Job(StageName::Hash), 1, 10 * pool + pipeline, None)
            });
        }
        let trace: Value = serde_json::from_str(&recorder.trace(&Value::Null).unwrap()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
        let places: Vec<_> = events.map(|event| (event["pid"].as_u64(), event["args"]["pipeline"].as_u64())).collect();
        assert_eq!(places, [(Some(1), Some(1)), (Some(1), Some(2)), (Some(2), Some(3))]);
    }

    #[test]
    fn clock_without_buffers_has_no_trace() {
        let recorder = Recorder::clock();
        recorder.record(event(EventKind::Job(StageName::Hash), 1, 0, None));
        assert_eq!(recorder.trace(&Value::Null), None);
        assert!(recorder.now() <= recorder.now());
    }
}
