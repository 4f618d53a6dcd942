//! packline compared with each competitor: bars of the ratios.

use super::bars::{Bar, bars};
use super::markup::panels;
use super::palette::push_new;
use super::section::Series;
use crate::report::figures::{Against, Figures};
use crate::report::{Spread, number};

pub(super) fn versus(series: &Series) -> String {
    let compared: Vec<(&Figures, Against)> =
        series.at_most_jobs().into_iter().filter_map(|one| one.versus.map(|versus| (one, versus))).collect();
    let mut peers: Vec<&str> = Vec::new();
    compared.iter().for_each(|(one, _)| push_new(&mut peers, one.measured.case.program.as_str()));
    peers.into_iter().map(|peer| beside(series, peer, &compared)).collect()
}

fn beside(series: &Series, peer: &str, compared: &[(&Figures, Against)]) -> String {
    let of: Vec<&(&Figures, Against)> = compared.iter().filter(|(one, _)| one.measured.case.program == peer).collect();
    let chart = |title: &str, digits: usize, ratio: &dyn Fn(&Against) -> Option<Spread>| {
        let bar = |(one, against): &&(&Figures, Against)| {
            ratio(against).map(|ratio| bar(series.name(&one.measured.case, false), ratio, digits))
        };
        let drawn: Vec<Bar> = of.iter().filter_map(bar).collect();
        let label = format!("{title}, packline over {peer}");
        (!drawn.is_empty()).then(|| (title.to_string(), bars(&drawn, "packline ÷ other", Some(1.0), &label)))
    };
    let exact = |ratio: f64| Spread { least: ratio, median: ratio, most: ratio };
    let charts = [
        chart("CPU time", 2, &|against| against.cpu),
        chart("Wall time", 2, &|against| against.wall),
        chart("Image size", 3, &|against| against.size.map(exact)),
    ];
    let reading = format!(
        "packline's figure divided by {peer}'s figure, {}. A filled bar, which ends before the line at 1, means that packline needs \
         less. An empty bar means that packline needs more. Whiskers show the smallest and largest ratio of runs in the same round.",
        series.jobs_words()
    );
    let charts: Vec<(String, String)> = charts.into_iter().flatten().collect();
    panels(&format!("packline compared with {peer}"), "", &charts, &reading)
}

fn bar(label: String, ratio: Spread, digits: usize) -> Bar {
    let text = if ratio.median < 100.0 { format!("{:.digits$}", ratio.median) } else { number::short(ratio.median) };
    // A ratio that is shown as 1 counts as 1.
    let shown: f64 = text.parse().unwrap_or(ratio.median);
    let class = if shown <= 1.0 { "cx" } else { "cx open" };
    Bar { label, value: ratio.median, range: Some((ratio.least, ratio.most)), text, class }
}
