//! Counters of pipelines, run queues and workers, for people and as JSON.

use packline_engine::{QueueStats, RunStats, WorkerStats};
use serde_json::{Map, Value, json};

use crate::host::usage::{Processor, Transfers, Usage};
use crate::ui::size::show_bytes;

/// Returns text: the pipeline, then each queue and each worker.
pub fn text(counted: &RunStats) -> Vec<String> {
    let line = &counted.pipeline;
    let mut lines = vec![
        format!(
            "pipeline: {} submitted, {} compressed, {} passed; {} wake-ups, {} parks, {} waits, {} sleeps; peak in flight {}{}",
            line.fed,
            line.submitted,
            line.passed,
            line.wakes,
            line.parks,
            line.waits,
            line.sleeps,
            show_bytes(line.peak_bytes as u64),
            window(counted).map_or(String::new(), |window| format!(" of {}", show_bytes(window)))
        ),
        format!(
            "queues: {} jobs, {} locks ({} contended), list of sleepers {} locks ({} contended), {} stolen, {} by the caller, \
             {} promoted; queued {} at most, 99.9% within {}; caller stalled {}, workers idle {}",
            line.jobs(),
            line.locks,
            line.contended,
            line.sleeper_locks,
            line.sleeper_contended,
            line.steals,
            line.helped,
            line.promoted,
            show_time(line.longest_wait_ns),
            show_time(line.p999_wait_ns),
            show_time(line.stall_ns),
            show_time(line.idle_ns)
        ),
        format!(
            "main thread: {} to read, {} to decide, {} to write",
            show_time(line.reading_ns),
            show_time(line.deciding_ns),
            show_time(line.committing_ns)
        ),
    ];
    lines.extend(counted.queues.iter().enumerate().map(|(number, queue)| queue_text(number, queue)));
    lines.extend(counted.workers.iter().enumerate().map(|(number, worker)| worker_text(number + 1, worker)));
    lines
}

/// The limit of bytes in flight, if there is one.
fn window(counted: &RunStats) -> Option<u64> {
    (counted.budget > 0).then_some(counted.budget as u64)
}

fn queue_text(number: usize, queue: &QueueStats) -> String {
    format!(
        "queue {number}: {} jobs, {} locks ({} contended), {} wake-ups, {} stolen; queued {} at most, 99.9% within {}",
        queue.jobs,
        queue.locks,
        queue.contended,
        queue.wakes,
        queue.steals,
        show_time(queue.longest_wait_ns),
        show_time(queue.p999_wait_ns)
    )
}

fn worker_text(number: usize, worker: &WorkerStats) -> String {
    format!(
        "worker {number}: queue {}, {} jobs, {} parks, idle {}",
        worker.queue,
        worker.jobs,
        worker.parks,
        show_time(worker.idle_ns)
    )
}

fn show_time(nanoseconds: u64) -> String {
    match nanoseconds {
        0..10_000 => format!("{nanoseconds} ns"),
        10_000..10_000_000 => format!("{:.1} µs", nanoseconds as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} ms", nanoseconds as f64 / 1e6),
        _ => format!("{:.1} s", nanoseconds as f64 / 1e9),
    }
}

pub fn add_to(text: &mut String, counted: Option<&RunStats>) {
    for line in counted.map(self::text).unwrap_or_default() {
        text.push('\n');
        text.push_str(&line);
    }
}

pub fn put_into(object: &mut Value, counted: Option<&RunStats>) {
    if let (Some(counted), Some(object)) = (counted, object.as_object_mut()) {
        object.extend(members(counted));
    }
}

/// Returns the pipeline, each run queue and each worker, as members of a JSON object.
pub fn members(counted: &RunStats) -> Map<String, Value> {
    let members = [("pipeline", pipeline(counted)), ("queues", queues(counted)), ("worker_stats", workers(counted))];
    members.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

fn pipeline(counted: &RunStats) -> Value {
    let line = &counted.pipeline;
    json!({
        "fed": line.fed,
        "decided": line.decided,
        "submitted": line.submitted,
        "passed": line.passed,
        "committed": line.committed,
        "jobs": line.jobs(),
        "wakes": line.wakes,
        "parks": line.parks,
        "waits": line.waits,
        "sleeps": line.sleeps,
        "helped": line.helped,
        "promoted": line.promoted,
        "locks": line.locks,
        "contended": line.contended,
        "sleeper_locks": line.sleeper_locks,
        "sleeper_contended": line.sleeper_contended,
        "steals": line.steals,
        "longest_wait_ns": line.longest_wait_ns,
        "p999_wait_ns": line.p999_wait_ns,
        "stall_ns": line.stall_ns,
        "reading_ns": line.reading_ns,
        "deciding_ns": line.deciding_ns,
        "committing_ns": line.committing_ns,
        "idle_ns": line.idle_ns,
        "peak_bytes": line.peak_bytes,
        "window_bytes": window(counted),
    })
}

fn queues(counted: &RunStats) -> Value {
    let one = |queue: &QueueStats| {
        json!({
            "jobs": queue.jobs,
            "locks": queue.locks,
            "contended": queue.contended,
            "wakes": queue.wakes,
            "steals": queue.steals,
            "longest_wait_ns": queue.longest_wait_ns,
            "p999_wait_ns": queue.p999_wait_ns,
        })
    };
    counted.queues.iter().map(one).collect()
}

fn workers(counted: &RunStats) -> Value {
    let one = |worker: &WorkerStats| {
        json!({
            "queue": worker.queue,
            "jobs": worker.jobs,
            "parks": worker.parks,
            "idle_ns": worker.idle_ns,
        })
    };
    counted.workers.iter().map(one).collect()
}

/// Returns the processor time of the thread that reads, decides and writes, and of all threads, and the bytes that system calls read and
/// wrote.
pub fn usage(used: &Usage) -> Map<String, Value> {
    let nanoseconds = |processor: &Processor| {
        let system = processor.system.min(processor.total);
        json!({"user_ns": (processor.total - system).as_nanos() as u64, "system_ns": system.as_nanos() as u64})
    };
    let Transfers { read_bytes, written_bytes, calls } = used.transfers;
    let members = [
        ("main_thread", nanoseconds(&used.thread)),
        ("all_threads", nanoseconds(&used.process)),
        ("transfers", json!({"read_bytes": read_bytes, "written_bytes": written_bytes, "calls": calls})),
    ];
    members.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_suitable_unit() {
        let shown = [0, 9_999, 10_000, 2_500_000, 10_000_000, 12_345_000_000].map(show_time);
        assert_eq!(shown, ["0 ns", "9999 ns", "10.0 µs", "2500.0 µs", "10.0 ms", "12.3 s"]);
    }
}
