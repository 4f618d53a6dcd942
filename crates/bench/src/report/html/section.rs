//! The charts of one task and block size. Bars of ratios compare packline with each competitor.

use super::bars::{Bar, bars};
use super::lines::{Chart, Ideal, Line, Point};
use super::markup::{beside, escaped, figure, panels};
use super::palette::{Look, Palette, push_new};
use super::pareto::{Dot, Words, pareto};
use super::svg::Svg;
use crate::report::figures::{Against, Figures, Group};
use crate::report::{Case, Spread, number, tables};

/// Upper bound for the series of one chart. With more series, each codec has a chart.
const FEW: usize = 6;

/// The series of a group. Lists are in the order of the report.
pub(super) struct Series<'g> {
    group: &'g Group<'g, 'g>,
    /// The palette of the page.
    palette: &'g Palette<'g>,
    /// The names of the group.
    names: Palette<'g>,
    /// One case of each series; its number of jobs has no meaning.
    all: Vec<&'g Case>,
}

fn same_series(left: &Case, right: &Case) -> bool {
    (&left.codec, &left.program, left.tails) == (&right.codec, &right.program, right.tails)
}

impl<'g> Series<'g> {
    pub(super) fn of(group: &'g Group<'g, 'g>, palette: &'g Palette<'g>) -> Series<'g> {
        let cases = || group.figures.iter().map(|one| &one.measured.case);
        let mut all: Vec<&Case> = Vec::new();
        for case in cases() {
            if !all.iter().any(|other| same_series(other, case)) {
                all.push(case);
            }
        }
        Series { group, palette, names: Palette::of(cases()), all }
    }

    /// Whether all series are in one chart, distinguished by colour. Otherwise each codec has a chart.
    fn few(&self) -> bool {
        self.palette.is_of_codecs() && self.all.len() <= FEW
    }

    fn look(&self, case: &Case) -> Look {
        self.palette.look(case)
    }

    /// The words that distinguish a case from the others of the group.
    pub(super) fn name(&self, case: &Case, with_program: bool) -> String {
        let mut words = vec![case.codec.as_str()];
        if with_program && self.names.programs.len() > 1 {
            words.push(&case.program);
        }
        if self.names.ways.len() > 1 && !tables::tails(case.tails).is_empty() {
            words.push(tables::tails(case.tails));
        }
        words.join(" · ")
    }

    /// The legend of all charts of the group: the series if they are few, otherwise programs and treatments of tail ends.
    fn key(&self) -> Vec<(Look, String)> {
        if self.few() {
            return self.all.iter().map(|case| (self.look(case), self.name(case, true))).collect();
        }
        let programs =
            self.names.programs.iter().map(|program| (self.palette.look_of_program(program), program.to_string()));
        let ways = self.names.ways.iter().map(|way| (self.palette.look_of_way(*way), tables::tails(*way).to_string()));
        let mut key: Vec<_> = programs.filter(|_| self.names.programs.len() > 1).collect();
        key.extend(ways.filter(|(_, name)| self.names.ways.len() > 1 && !name.is_empty()));
        key
    }

    /// Returns each series at its largest number of jobs.
    pub(super) fn at_most_jobs(&self) -> Vec<&'g Figures<'g>> {
        let most = |case: &&'g Case| {
            let figures = self.group.figures.iter().filter(|one| same_series(&one.measured.case, case));
            figures.max_by_key(|one| one.measured.case.jobs).copied()
        };
        self.all.iter().filter_map(most).collect()
    }

    /// Describes the numbers of jobs of [`Series::at_most_jobs`].
    pub(super) fn jobs_words(&self) -> String {
        let jobs: Vec<usize> = self.at_most_jobs().iter().map(|one| one.measured.case.jobs).collect();
        match (jobs.iter().min(), jobs.iter().max()) {
            (Some(1), Some(1)) => "with 1 job".into(),
            (Some(least), Some(most)) if least == most => format!("with {most} jobs"),
            _ => "with its highest number of jobs".into(),
        }
    }

    /// Draws size against speed, if there are at least two points.
    pub(super) fn pareto(&self) -> String {
        let dots: Vec<Dot> = self.at_most_jobs().into_iter().filter_map(|one| self.dot(one)).collect();
        let label = "Image size against throughput".into();
        let words = Words { label, x: "MB of content per second", y: "image, % of content" };
        let reading = format!(
            "Each configuration {}, by median wall time. Right is faster, down is smaller. No configuration beats the \
             configurations on the stepped line in both. The size axis does not always start at zero.",
            self.jobs_words()
        );
        pareto("Size against speed", &legend(&self.key(), false), &dots, &words, &reading)
    }

    fn dot(&self, one: &Figures) -> Option<Dot> {
        let case = &one.measured.case;
        let speed = one.throughput? / 1e6;
        let size = one.ratio? * 100.0;
        let title = format!(
            "{}, jobs {}: {} MB/s, {} %",
            self.name(case, true),
            case.jobs,
            number::short(speed),
            number::short(size)
        );
        let label = if self.few() { self.name(case, true) } else { case.codec.clone() };
        Some(Dot { look: self.look(case), label, title, speed, size })
    }

    /// Draws wall time, speed-up and efficiency by jobs. The text is empty if only one number of jobs was measured.
    pub(super) fn by_jobs(&self) -> String {
        let mut jobs: Vec<usize> = self.group.figures.iter().map(|one| one.measured.case.jobs).collect();
        jobs.sort_unstable();
        jobs.dedup();
        if jobs.len() < 2 {
            return String::new();
        }
        let wall = |one: &Figures| {
            let wall = one.wall.filter(|wall| wall.median > 0.0)?;
            Some(Point { jobs: one.measured.case.jobs, value: wall.median, range: Some((wall.least, wall.most)) })
        };
        let point = |one: &Figures, value: f64| Point { jobs: one.measured.case.jobs, value, range: None };
        let speedup = |one: &Figures| one.speedup.map(|speedup| point(one, speedup));
        let efficiency = |one: &Figures| one.efficiency.map(|share| point(one, share * 100.0));
        let charts = [
            self.chart("Wall time by jobs", "seconds", None, &wall, WALL),
            self.chart("Speed-up by jobs", "times as fast", Some(|times| times), &speedup, SPEEDUP),
            self.chart("Efficiency by jobs", "% of ideal", Some(|_| 100.0), &efficiency, EFFICIENCY),
        ];
        if self.few() { legend(&self.key(), true) + &beside(&charts) } else { charts.concat() }
    }

    fn chart(
        &self,
        title: &str,
        unit: &str,
        ideal: Ideal,
        point: &dyn Fn(&Figures) -> Option<Point>,
        reading: &str,
    ) -> String {
        let lines: Vec<(&str, Line)> =
            self.all.iter().map(|case| (case.codec.as_str(), self.line(case, point))).collect();
        let chart = Chart::over(lines.iter().map(|(_, line)| line), unit, ideal);
        if chart.jobs.is_empty() {
            return String::new();
        }
        if self.few() {
            let drawn = chart.panel(&lines.iter().map(|(_, line)| line).collect::<Vec<_>>(), title);
            return figure(title, &drawn, reading);
        }
        // On a common log scale, the programs of a codec would overlap, so each codec has its own scale.
        let own = chart.scale.is_powers();
        let panel = |codec: &&str| {
            let of: Vec<&Line> = lines.iter().filter(|(of, _)| of == codec).map(|(_, line)| line).collect();
            let chart = if own {
                Chart { jobs: chart.jobs.clone(), ..Chart::over(of.iter().copied(), unit, ideal) }
            } else {
                chart.clone()
            };
            (codec.to_string(), chart.panel(&of, &format!("{title}, {codec}")))
        };
        let has_points = |codec: &&&str| lines.iter().any(|(of, line)| of == *codec && !line.points.is_empty());
        let drawn: Vec<(String, String)> = self.names.codecs.iter().filter(has_points).map(panel).collect();
        let scales = if own { "Each codec has its own scale." } else { "All codecs have the same scale." };
        panels(title, &legend(&self.key(), true), &drawn, &format!("{reading} {scales}"))
    }

    fn line(&self, case: &Case, point: &dyn Fn(&Figures) -> Option<Point>) -> Line {
        let figures = self.group.figures.iter().filter(|one| same_series(&one.measured.case, case));
        let mut points: Vec<Point> = figures.filter_map(|one| point(one)).collect();
        points.sort_by_key(|point| point.jobs);
        Line { look: self.look(case), name: self.name(case, true), points }
    }
}

/// Returns a legend of markers, on lines if `lines`. The text is empty for fewer than two entries.
fn legend(entries: &[(Look, String)], lines: bool) -> String {
    if entries.len() < 2 {
        return String::new();
    }
    let entry = |(look, name): &(Look, String)| {
        let mut svg = Svg::new(34.0, 14.0);
        if lines {
            svg.line(&look.line_class(), (1.0, 7.0), (33.0, 7.0));
        }
        svg.marker(*look, (17.0, 7.0));
        format!("<li>{}<span>{}</span></li>\n", svg.finish("swatch", ""), escaped(name))
    };
    format!("<ul class=\"key\">\n{}</ul>\n", entries.iter().map(entry).collect::<String>())
}

const WALL: &str =
    "Median wall time of the runs; lower is better. Thin vertical lines show the fastest and the slowest run.";
const SPEEDUP: &str = "Speed relative to the same case with the fewest jobs; higher is better. The dotted line is ideal: twice the \
                       jobs, half the time.";
const EFFICIENCY: &str = "The speed-up divided by the number of jobs, as a share of the ideal. At 100 %, every additional job \
                          contributes fully.";

pub(super) fn versus(series: &Series) -> String {
    let compared: Vec<(&Figures, Against)> =
        series.at_most_jobs().into_iter().filter_map(|one| one.versus.map(|versus| (one, versus))).collect();
    let mut peers: Vec<&str> = Vec::new();
    compared.iter().for_each(|(one, _)| push_new(&mut peers, one.measured.case.program.as_str()));
    peers.into_iter().map(|peer| ratios_beside(series, peer, &compared)).collect()
}

fn ratios_beside(series: &Series, peer: &str, compared: &[(&Figures, Against)]) -> String {
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
