//! Results as CSV, for machines, and as Markdown, for people.

use super::Row;
use super::pack::Setting;
use packline_testkit::peer::{Cost, median};
use std::fmt::Write;
use std::process::Command;

/// Every run, a line each.
pub fn csv(rows: &[Row]) -> String {
    let mut text = "task,program,run,user_s,system_s,wall_s,peak_bytes,image_bytes\n".to_owned();
    for row in rows {
        for (run, cost) in row.costs.iter().enumerate() {
            let Cost { user, system, wall, peak } = cost;
            let line = format!("{},{},{run},{user},{system},{wall},{peak},{}\n", row.task, row.program, row.size);
            text.push_str(&line);
        }
    }
    text
}

/// Medians, and the ratios of ours to each peer.
pub fn table(rows: &[Row]) -> String {
    let mut text = "| task | program | CPU s | wall s | peak MB | image bytes | CPU x | wall x | size x |\n".to_owned();
    text.push_str("|---|---|---|---|---|---|---|---|---|\n");
    for row in rows {
        let ours = rows.iter().find(|other| other.task == row.task).unwrap_or(row);
        let ratio = |number: fn(&Cost) -> f64| median(&ours.costs, number) / median(&row.costs, number);
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {:.2} | {:.2} | {:.0} | {} | {:.3} | {:.3} | {:.4} |",
            row.task,
            row.program,
            median(&row.costs, Cost::cpu),
            median(&row.costs, |cost| cost.wall),
            median(&row.costs, |cost| cost.peak as f64) / 1e6,
            row.size,
            ratio(Cost::cpu),
            ratio(|cost| cost.wall),
            ours.size as f64 / row.size as f64,
        );
    }
    text
}

/// The whole page: what was measured, on what, how; then the table.
pub fn page(setting: &Setting, rows: &[Row]) -> Result<String, String> {
    let input = std::fs::metadata(&setting.input).map_err(|cause| cause.to_string())?.len();
    let name = setting.input.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!(
        "# Packing {name}, {input} bytes, blocks of {}, {} workers\n\n\
         {}\n\nMedians of {} interleaved runs; a ratio is ours to that program's. Every image was read through and holds\n\
         the same tree.\n\n{}\n{}",
        setting.block,
        setting.workers,
        machine(),
        setting.runs,
        table(rows),
        versions(setting),
    ))
}

/// The machine, in a line.
pub fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let processors = read("/proc/cpuinfo");
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
    let count = processors.lines().filter(|line| line.starts_with("processor")).count();
    format!(
        "{count} x {}, Linux {}",
        model.trim_start_matches([' ', '\t', ':']),
        read("/proc/sys/kernel/osrelease").trim()
    )
}

fn versions(setting: &Setting) -> String {
    let lines = [
        version(&setting.binary.to_string_lossy(), "--version"),
        version(&setting.tar2sqfs, "--version"),
        version(&setting.mksquashfs, "-version"),
    ];
    listed(&lines)
}

/// What a program says of its version, in a line.
pub fn version(program: &str, option: &str) -> String {
    let output = Command::new(program).arg(option).output().ok();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("not installed").to_owned()
}

/// Lines as a list.
pub fn listed(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}\n")).collect()
}
