//! Reads a trace of a real run, as `packline --trace` writes it, into a workload.
//!
//! The format is Chrome's: an object with `traceEvents`. Only events with `"ph":"X"` are used. Thread 0 is the caller, with the
//! events `read`, `decide` and `commit`. Its events `wait` (the caller is idle) and `write` (a part of `commit`) are ignored. The
//! other threads are workers, whose events are the jobs `hash` and `compress`, or `map` in a pipeline of one stage, whose commits are
//! simulated as decisions. Times are in microseconds. Events with `processor_ns` count processor time, so that other threads on the
//! same cores do not matter; the rest of the main thread's processor time is work before and after the pipeline.

use crate::machine::Machine;
use crate::overlap::{Span, work};
use crate::workload::{Block, Item, Workload};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
struct File {
    #[serde(rename = "otherData", default)]
    other: Other,
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
}

#[derive(Debug, Default, Deserialize)]
struct Other {
    workers: Option<usize>,
    wall_ns: Option<f64>,
    /// Limit on bytes in flight.
    window_bytes: Option<f64>,
    #[serde(default)]
    help_out: bool,
    counters: Option<Counters>,
}

#[derive(Debug, Deserialize)]
struct Counters {
    main_thread: Processor,
}

/// Processor time of a thread.
#[derive(Debug, Deserialize)]
struct Processor {
    user_ns: f64,
    system_ns: f64,
}

#[derive(Debug, Deserialize)]
struct Event {
    name: String,
    ph: String,
    #[serde(default)]
    tid: usize,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    args: Args,
}

#[derive(Debug, Default, Deserialize)]
struct Args {
    /// The pipeline, if there are several.
    #[serde(alias = "pipeline")]
    line: Option<u64>,
    ticket: Option<u64>,
    item: Option<u64>,
    bytes_in: Option<f64>,
    bytes_out: Option<f64>,
    /// Processor time.
    processor_ns: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRun {
    pub work: Workload,
    pub workers: usize,
    /// Nanoseconds.
    pub wall: f64,
    /// Limit on bytes in flight, if recorded.
    pub window: Option<f64>,
}

/// Sums of one ticket's events of one kind.
#[derive(Debug, Default, Clone, Copy)]
struct Ticket {
    bytes_in: f64,
    bytes_out: f64,
    item: Option<u64>,
    work: f64,
}

/// Tickets by kind of event.
#[derive(Debug, Default)]
struct Times {
    read: BTreeMap<u64, Ticket>,
    hash: BTreeMap<u64, Ticket>,
    decide: BTreeMap<u64, Ticket>,
    compress: BTreeMap<u64, Ticket>,
    commit: BTreeMap<u64, Ticket>,
    /// The caller's work that belongs to no ticket.
    rest: f64,
    /// All of the caller's work that was recorded.
    recorded: f64,
    /// Whether the pipeline has one stage.
    has_one_stage: bool,
}

/// Reads a trace recorded on `machine`. Threads that shared its cores slowed each other down; their times are corrected for
/// that. `demand` is the cache demand of the caller's work.
///
/// # Errors
/// The text is not a trace, the caller ran jobs, or a ticket's event is missing.
pub fn read(text: &str, machine: &Machine, demand: f64) -> Result<RecordedRun, String> {
    let File { other, events } = serde_json::from_str(text).map_err(|cause| cause.to_string())?;
    if other.help_out {
        return Err("the caller ran jobs, which is not simulated (expected a trace without --help-out)".to_owned());
    }
    let counted = |event: &Event| event.ph == "X" && !matches!(event.name.as_str(), "wait" | "write");
    let events: Vec<Event> = events.into_iter().filter(counted).collect();
    if let Some(event) = events.iter().find(|event| !(event.dur >= 0.0 && event.ts.is_finite())) {
        return Err(format!("event {:?} at {} lasts {} (expected a time)", event.name, event.ts, event.dur));
    }
    let spans: Vec<Span> = events.iter().map(|event| (event.ts * 1e3, (event.ts + event.dur) * 1e3)).collect();
    let begin = spans.iter().map(|span| span.0).fold(f64::INFINITY, f64::min);
    let end = spans.iter().map(|span| span.1).fold(f64::NEG_INFINITY, f64::max);
    if spans.is_empty() {
        return Err("no events (expected complete ones, \"ph\":\"X\")".to_owned());
    }
    let wall = other.wall_ns.unwrap_or(end - begin).max(end - begin);
    let last = events.iter().map(|event| event.tid).max().unwrap_or(0);
    let mut parts = Times::default();
    let line = largest_pipeline(&events);
    let of_caller = work(&spans, machine, demand);
    let of_jobs = work(&spans, machine, 0.0);
    for (index, event) in events.iter().enumerate().filter(|(_, event)| event.args.line == line) {
        let passed = if event.tid == 0 { of_caller[index] } else { of_jobs[index] };
        parts.add(event, event.args.processor_ns.unwrap_or(passed))?;
    }
    // The program's time before the first event and after the last belongs to no ticket.
    parts.rest += match other.counters {
        Some(Counters { main_thread: Processor { user_ns, system_ns } }) => {
            (user_ns + system_ns - parts.recorded).max(0.0)
        }
        None => wall - (end - begin),
    };
    Ok(RecordedRun {
        work: parts.workload()?,
        workers: other.workers.unwrap_or(last),
        wall,
        window: other.window_bytes,
    })
}

/// The pipeline with the most events. Each pipeline numbers its tickets; the others only took time on the cores.
fn largest_pipeline(events: &[Event]) -> Option<u64> {
    let mut lines = BTreeMap::<Option<u64>, usize>::new();
    events.iter().for_each(|event| *lines.entry(event.args.line).or_default() += 1);
    lines.into_iter().max_by_key(|&(_, count)| count).and_then(|(line, _)| line)
}

impl Times {
    fn add(&mut self, event: &Event, work: f64) -> Result<(), String> {
        let Args { ticket, item, bytes_in, bytes_out, .. } = event.args;
        self.has_one_stage |= event.name == "map";
        self.recorded += if event.tid == 0 { work } else { 0.0 };
        let parts = match event.name.as_str() {
            "read" => &mut self.read,
            "hash" | "map" => &mut self.hash,
            "decide" => &mut self.decide,
            "compress" => &mut self.compress,
            "commit" => &mut self.commit,
            _ => return Ok(()),
        };
        let Some(ticket) = ticket else {
            if event.tid != 0 {
                return Err(format!("a {:?} job at {} has no ticket", event.name, event.ts));
            }
            self.rest += work;
            return Ok(());
        };
        let part = parts.entry(ticket).or_default();
        part.work += work;
        part.item = item.or(part.item);
        part.bytes_in += bytes_in.unwrap_or(0.0);
        part.bytes_out += bytes_out.unwrap_or(0.0);
        Ok(())
    }

    fn workload(mut self) -> Result<Workload, String> {
        if self.has_one_stage {
            self.decide = std::mem::take(&mut self.commit);
        }
        let mut blocks = self.blocks()?;
        let mut work = Workload::default();
        for (at, (&ticket, hash)) in self.hash.iter().enumerate() {
            if ticket != at as u64 {
                return Err(format!("no hash job of ticket {at} (the next is {ticket})"));
            }
            let handed_on = blocks.remove(&ticket).unwrap_or_default();
            work.add(self.item(ticket, hash), &handed_on);
        }
        if let Some((item, _)) = blocks.first_key_value() {
            return Err(format!("a compress job of item {item}, which has no hash job"));
        }
        let late = self.read.split_off(&(work.items.len() as u64));
        work.tail = self.rest + late.values().map(|part| part.work).sum::<f64>();
        Ok(work)
    }

    fn item(&self, ticket: u64, hash: &Ticket) -> Item {
        let of = |parts: &BTreeMap<u64, Ticket>| parts.get(&ticket).map_or(0.0, |part| part.work);
        let read = of(&self.read);
        let decide = of(&self.decide);
        Item { bytes: hash.bytes_in, read, hash: hash.work, decide, whole: false, first: 0, blocks: 0 }
    }

    /// The blocks of each item. A commit without a compress job belongs to the last decision before it.
    fn blocks(&self) -> Result<BTreeMap<u64, Vec<Block>>, String> {
        if let Some(ticket) = self.compress.keys().find(|ticket| !self.commit.contains_key(ticket)) {
            return Err(format!("no commit of ticket {ticket}"));
        }
        let mut of_items = BTreeMap::<u64, Vec<Block>>::new();
        let mut item = 0;
        for (ticket, commit) in &self.commit {
            let job = self.compress.get(ticket);
            let next = job.and_then(|job| job.item).unwrap_or(item);
            if next < item {
                return Err(format!("compress job {ticket} is of item {next} (expected {item} or later)"));
            }
            item = next;
            let sizes = job.unwrap_or(commit);
            let bytes_in = sizes.bytes_in;
            let bytes_out = sizes.bytes_out;
            let compress = job.map(|job| job.work);
            of_items.entry(item).or_default().push(Block { bytes_in, bytes_out, compress, commit: commit.work });
        }
        Ok(of_items)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::machine::Costs;

    /// One event of a made trace: name, thread, begin and length in microseconds, arguments.
    pub type Row<'a> = (&'a str, usize, f64, f64, &'a str);

    /// Limit on bytes in flight in a made trace.
    pub const WINDOW: f64 = 450.0;

    /// A trace as packline writes it, of this many workers and microseconds.
    pub fn made(workers: usize, wall: f64, rows: &[Row]) -> String {
        let line = |&(name, tid, ts, dur, args): &Row| {
            let cat = if tid == 0 { "caller" } else { "job" };
            format!(
                r#"{{"name":"{name}","cat":"{cat}","ph":"X","pid":1,"tid":{tid},"ts":{ts},"dur":{dur},"args":{{{args}}}}}"#
            )
        };
        let name = r#"{"name":"thread_name","ph":"M","pid":1,"tid":0,"args":{"name":"caller"}}"#.to_owned();
        let lines: Vec<String> = std::iter::once(name).chain(rows.iter().map(line)).collect();
        let wall = wall * 1e3;
        let head = format!(
            r#""packline":"0","workers":{workers},"queues":1,"share":"llc","help_out":false,"window_bytes":{WINDOW},"wall_ns":{wall}"#
        );
        let events = lines.join(",\n");
        format!("{{\"displayTimeUnit\":\"ns\",\"otherData\":{{{head}}},\"traceEvents\":[\n{events}\n]}}")
    }

    fn trace(rows: &[Row]) -> String {
        made(1, 30.0, rows)
    }

    const TWO: [Row; 9] = [
        ("read", 0, 0.0, 1.0, r#""ticket":0,"bytes_in":100"#),
        ("hash", 1, 1.0, 2.0, r#""ticket":0,"lane":"hash","bytes_in":100,"bytes_out":0,"queue_wait_ns":5"#),
        ("wait", 0, 1.0, 2.0, ""),
        ("decide", 0, 3.0, 0.5, r#""ticket":0"#),
        ("compress", 1, 3.5, 4.0, r#""ticket":0,"lane":"commit","item":0,"bytes_in":100,"bytes_out":40"#),
        ("commit", 0, 7.5, 1.5, r#""ticket":0"#),
        ("write", 0, 8.0, 1.0, r#""ticket":0"#),
        ("commit", 0, 9.0, 0.25, r#""ticket":1,"bytes_in":10,"bytes_out":10"#),
        ("read", 0, 10.0, 2.0, ""),
    ];

    #[test]
    fn a_trace_is_read() {
        let seen = read(&trace(&TWO), &Machine::ideal(4, Costs::FREE), 0.0).unwrap();
        assert_eq!((seen.workers, seen.wall, seen.window), (1, 30_000.0, Some(WINDOW)));
        let item = Item { bytes: 100.0, read: 1000.0, hash: 2000.0, decide: 500.0, whole: false, first: 0, blocks: 2 };
        assert_eq!(seen.work.items, [item]);
        let passed = Block { bytes_in: 10.0, bytes_out: 10.0, compress: None, commit: 250.0 };
        let job = Block { bytes_in: 100.0, bytes_out: 40.0, compress: Some(4000.0), commit: 1500.0 };
        assert_eq!(seen.work.blocks, [job, passed]);
        // 2 us of reading that belongs to no ticket, and 18 us before the first event or after the last.
        assert_eq!(seen.work.tail, 20_000.0);
    }

    #[test]
    fn of_several_pipelines_the_largest_is_read() {
        let numbered = |row: &Row| format!("\"line\":2,{}", if row.4.is_empty() { "\"ticket\":9" } else { row.4 });
        let args: Vec<String> = TWO.iter().map(numbered).collect();
        let mut rows: Vec<Row> =
            TWO.iter().zip(&args).map(|(row, args)| (row.0, row.1, row.2, row.3, &**args)).collect();
        let one = read(&trace(&rows), &Machine::ideal(4, Costs::FREE), 0.0).unwrap();
        rows.push(("hash", 2, 1.0, 2.0, "\"line\":1,\"ticket\":0"));
        assert_eq!(read(&trace(&rows), &Machine::ideal(4, Costs::FREE), 0.0).unwrap(), one);
        assert_eq!((one.work.items.len(), one.work.blocks.len()), (1, 2));
    }

    #[test]
    fn a_pipeline_of_one_stage_has_decisions_instead_of_commits() {
        let rows = [
            ("read", 0, 0.0, 9.0, r#""pipeline":1,"ticket":0,"processor_ns":700"#),
            ("map", 1, 1.0, 2.0, r#""pipeline":1,"ticket":0,"bytes_in":50,"bytes_out":90,"processor_ns":1500"#),
            ("commit", 0, 3.0, 2.0, r#""pipeline":1,"ticket":0,"processor_ns":300"#),
        ];
        let counters = r#""counters":{"main_thread":{"user_ns":1200,"system_ns":800}},"help_out""#;
        let text = trace(&rows).replace("\"help_out\"", counters);
        let seen = read(&text, &Machine::ideal(4, Costs::FREE), 0.0).unwrap();
        let item = Item { bytes: 50.0, read: 700.0, hash: 1500.0, decide: 300.0, whole: false, first: 0, blocks: 0 };
        assert_eq!((seen.work.items, seen.work.blocks.len(), seen.work.tail), (vec![item], 0, 1000.0));
    }

    #[test]
    fn missing_events_are_reported() {
        let fails = |rows: &[Row]| read(&trace(rows), &Machine::ideal(4, Costs::FREE), 0.0).unwrap_err();
        assert!(fails(&[]).contains("no events"));
        assert!(fails(&TWO[..5]).contains("no commit of ticket 0"));
        assert!(fails(&TWO[2..]).contains("item 0, which has no hash job"));
        assert!(fails(&[("hash", 1, 0.0, 1.0, "\"ticket\":3")]).contains("no hash job of ticket 0"));
        assert!(fails(&[("hash", 1, 0.0, 1.0, "")]).contains("no ticket"));
        assert!(fails(&[("read", 0, 0.0, -1.0, "")]).contains("expected a time"));
        let helped = trace(&TWO).replace("\"help_out\":false", "\"help_out\":true");
        assert!(read(&helped, &Machine::ideal(1, Costs::FREE), 0.0).unwrap_err().contains("--help-out"));
        assert!(read("{}", &Machine::ideal(1, Costs::FREE), 0.0).is_err());
    }
}
