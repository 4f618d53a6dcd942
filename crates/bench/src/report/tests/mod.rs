//! Tests of all formats of the report: with a realistic report, odd reports, and arbitrary reports.

use proptest::prelude::*;

use super::*;

pub(super) mod fixture;

use fixture::{any_report, degenerate, realistic};

/// Every format for people.
fn shown(report: &Report) -> [String; 4] {
    [markdown(report), html(report), json(report), text(report)]
}

fn has_no_number(text: &str) -> bool {
    let words = text.split(|char: char| !char.is_alphanumeric());
    words.into_iter().any(|word| matches!(word, "NaN" | "inf" | "infinity"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn csv_comes_back_as_it_went(report in any_report()) {
        let text = csv(&report);
        prop_assert_eq!(&read_csv(&text).unwrap(), &report, "{}", text);
    }

    #[test]
    fn nothing_is_shown_that_is_no_number(report in any_report()) {
        for text in shown(&report) {
            prop_assert!(!has_no_number(&text), "{}", text);
        }
    }

    #[test]
    fn json_is_json_with_every_case(report in any_report()) {
        let value: serde_json::Value = serde_json::from_str(&json(&report)).unwrap();
        prop_assert_eq!(value["measured"].as_array().unwrap().len(), report.measured.len());
        prop_assert_eq!(value["notes"].as_array().unwrap().len(), report.notes.len());
        prop_assert_eq!(value["command"].as_str().unwrap(), &report.command);
    }
}

#[test]
fn reads_kept_results() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/results/2026-11-22-pack-debian-root.csv");
    let report = read_csv(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(report.measured.len() > 1 && report.measured.iter().all(|one| !one.runs.is_empty()));
    assert_eq!(read_csv(&csv(&report)).unwrap(), report);
}

#[test]
fn csv_survives_an_editor_that_writes_windows_lines_and_trims() {
    let report = Report { machine: String::new(), ..realistic(&[1, 2]) };
    let text: String = csv(&report).lines().map(|line| format!("{}\r\n", line.trim_end())).collect();
    assert_eq!(read_csv(&text).unwrap(), report);
}

#[test]
fn csv_errors_name_the_line() {
    let text = csv(&realistic(&[1]));
    let rows: Vec<&str> = text.lines().collect();
    let heading = rows.iter().position(|row| row.starts_with("kind,")).unwrap();
    let broken = |at: usize, line: String| {
        let mut rows: Vec<String> = rows.iter().map(|row| row.to_string()).collect();
        rows[at] = line;
        read_csv(&rows.join("\n")).unwrap_err()
    };
    let first = rows[heading + 1];
    let cases = [
        (0, "# other: 1".to_string(), "packline bench"),
        (1, "# sum: 3".into(), "no such key"),
        (2, "# note: a\\x".into(), "backslash"),
        (heading, "kind,task".into(), "heading"),
        (heading + 1, first.replace("pack,", "pick,"), "task"),
        (heading + 1, first.replace("packline,1,1,", "packline,1,3,"), "run"),
        (heading + 1, first.replace("packline,1,1,", "packline,one,1,"), "jobs"),
        (heading + 1, format!("{first},7"), "fields"),
        (heading + 2, "other".to_string() + &",".repeat(36), "kind"),
    ];
    for (at, line, what) in cases {
        let error = broken(at, line.clone());
        assert_eq!((error.line, error.what.contains(what)), (at + 1, true), "{line}: {error}");
    }
    assert_eq!(read_csv("").unwrap_err().line, 1);
}

#[test]
fn every_format_accepts_empty_and_degenerate_reports() {
    for report in [Report::default(), degenerate()] {
        assert_eq!(read_csv(&csv(&report)).unwrap(), report);
        for text in shown(&report) {
            assert!(!text.is_empty() && !has_no_number(&text), "{text}");
        }
    }
}

#[test]
fn json_has_the_calculated_figures() {
    let report = realistic(&[1, 4]);
    let text = json(&report);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let ours = &value["measured"][1];
    let peer = &value["measured"][3];
    assert_eq!((ours["program"].as_str(), ours["jobs"].as_u64()), (Some("packline"), Some(4)));
    let found = scaling(&report.measured[1], &report.measured);
    // Reading JSON may round the last digit.
    let same = |value: &serde_json::Value, number: f64| (value.as_f64().unwrap() / number - 1.0).abs() < 1e-12;
    assert!(same(&ours["speedup"], found.speedup));
    assert!(same(&ours["wall_s"]["median"], report.measured[1].wall().median));
    assert!(ours["ours_to_this"].is_null() && ours["ceiling_bytes_per_s"].as_f64().unwrap() > 1e6);
    let versus = against(&report.measured[3], &report.measured).unwrap();
    assert!(same(&peer["ours_to_this"]["cpu"]["median"], versus.cpu.median));
    let at = |key: &str| text.find(&format!("\"{key}\"")).unwrap();
    assert!(at("format") < at("command") && at("command") < at("storage") && at("storage") < at("measured"));
}

#[test]
fn markdown_tables_are_aligned_and_omit_empty_columns() {
    let report = realistic(&[1, 2]);
    let text = markdown(&report);
    let table: Vec<&str> =
        text.lines().skip_while(|line| !line.starts_with("| Codec")).take_while(|line| !line.is_empty()).collect();
    assert_eq!(table.len(), report.measured.len() + 2);
    assert!(table.iter().all(|line| line.chars().count() == table[0].chars().count()), "{text}");
    for head in
        ["Tails", "Worst s", "Speed-up", "Ceiling MB/s", "CPU, ours:peer", "## Fragments", "## Codecs in memory"]
    {
        assert!(text.contains(head), "{head} in\n{text}");
    }
    let plain = Report { storage: None, codecs: Vec::new(), ..realistic(&[1]) };
    let text = markdown(&plain);
    assert!(!text.contains("Ceiling") && !text.contains("Speed-up") && !text.contains("memory"), "{text}");
}

#[test]
fn ceiling_counts_the_bytes_that_each_task_reads_and_writes() {
    let storage = Storage { place: "x".into(), bytes: 1, read: 400.0, write: 100.0, direct: true };
    let ceiling = |task| storage.ceiling(task, 0.5);
    assert_eq!(ceiling(Task::Pack), 1.0 / (1.0 / 400.0 + 0.5 / 100.0));
    assert_eq!(ceiling(Task::Unpack), 1.0 / (0.5 / 400.0 + 1.0 / 100.0));
    assert_eq!(ceiling(Task::Tar), 800.0);
}

#[test]
fn fragments_are_judged_by_size_and_by_scaling() {
    let mut report = realistic(&[1, 2, 4]);
    report.measured.retain(|measured| measured.case.program == "packline" && measured.case.codec == "zstd");
    for measured in &mut report.measured {
        let fragments = measured.case.tails == Tails::Fragments;
        measured.image_bytes = if fragments { 900 } else { 1000 };
        // Speed-up at 4 jobs: 2 with fragments, 4 without.
        let wall = if fragments { 8.0 / (measured.case.jobs as f64).sqrt() } else { 8.0 / measured.case.jobs as f64 };
        measured.runs.iter_mut().for_each(|cost| cost.wall = wall);
    }
    let value: serde_json::Value = serde_json::from_str(&json(&report)).unwrap();
    let found = &value["fragments"][0];
    assert_eq!((found["jobs"].as_u64(), found["speedup_kept"].as_f64()), (Some(4), Some(0.5)));
    assert!((found["saved"].as_f64().unwrap() - 0.1).abs() < 1e-9);
    let text = markdown(&report);
    assert!(text.contains("saves 10.0 % of the image") && text.contains("0.50 times"), "{text}");
}

#[test]
fn a_table_for_each_task_and_block_size() {
    let mut report = realistic(&[1]);
    let mut other = report.measured.clone();
    other.iter_mut().for_each(|measured| (measured.case.task, measured.case.block_size) = (Task::Unpack, 1 << 20));
    report.measured.extend(other);
    let text = markdown(&report);
    assert!(text.contains("## Pack, blocks of 128 KiB\n") && text.contains("## Unpack, blocks of 1 MiB\n"), "{text}");
}

#[test]
fn escapes_names_in_every_format() {
    let evil = "<b>&\"x\n|`#,'";
    let mut report = realistic(&[1, 2]);
    report.input.name = evil.into();
    report.command = evil.into();
    report.notes = vec![evil.into()];
    report.programs[0].version = evil.into();
    report.measured.iter_mut().for_each(|measured| measured.case.codec = evil.into());
    report.codecs.iter_mut().for_each(|codec| codec.codec = evil.into());
    assert_eq!(read_csv(&csv(&report)).unwrap(), report);
    let value: serde_json::Value = serde_json::from_str(&json(&report)).unwrap();
    assert_eq!(value["input"]["name"], evil);
    let page = html(&report);
    assert!(!page.contains("<b>&") && page.contains("&lt;b&gt;&amp;&quot;x"), "{page}");
    let text = markdown(&report);
    let heading = text.lines().next().unwrap();
    assert_eq!(heading, "# Benchmark: &lt;b>&amp;\"x \\|\\`#,'");
    let codes: Vec<&str> = text.lines().filter(|line| line.starts_with("- Command")).collect();
    assert_eq!(codes, ["- Command: `<b>&\"x`", "- Command: `` |`#,' ``"]);
}

#[test]
fn shows_the_number_of_runs() {
    let mut report = Report { codecs: Vec::new(), serial: Vec::new(), ..realistic(&[1, 2]) };
    let runs_of =
        |report: &Report| markdown(report).lines().find(|line| line.starts_with("- Runs")).unwrap().to_owned();
    let runs = report.measured[0].runs.len();
    assert!(runs > 1 && runs_of(&report).starts_with(&format!("- Runs: {runs} counted")), "{}", runs_of(&report));
    report.measured[0].runs.truncate(1);
    assert!(runs_of(&report).starts_with(&format!("- Runs: 1 to {runs} counted")), "{}", runs_of(&report));
}
