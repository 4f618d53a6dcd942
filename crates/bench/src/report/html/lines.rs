//! Line charts over the number of jobs.

use super::axis::{Frame, Scale};
use super::palette::Look;
use super::svg::Svg;
use crate::report::number;

pub(super) struct Line {
    pub look: Look,
    pub name: String,
    /// The points, by rising number of jobs.
    pub points: Vec<Point>,
}

pub(super) struct Point {
    pub jobs: usize,
    pub value: f64,
    /// The smallest and the largest value of the runs, if known.
    pub range: Option<(f64, f64)>,
}

/// The ideal line of a chart: a function of the number of jobs divided by the fewest jobs.
pub(super) type Ideal = Option<fn(f64) -> f64>;

/// The state that all panels of a chart share.
#[derive(Clone)]
pub(super) struct Chart {
    /// All numbers of jobs, rising.
    pub jobs: Vec<usize>,
    pub scale: Scale,
    pub title: String,
    pub ideal: Ideal,
}

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 250.0;

impl Chart {
    pub(super) fn over<'l>(lines: impl Iterator<Item = &'l Line>, title: &str, ideal: Ideal) -> Chart {
        let points: Vec<&Point> = lines.flat_map(|line| &line.points).collect();
        let mut jobs: Vec<usize> = points.iter().map(|point| point.jobs).collect();
        jobs.sort_unstable();
        jobs.dedup();
        let drawn = points.iter().flat_map(|point| [point.value, point.range.map_or(point.value, |range| range.1)]);
        let mut numbers: Vec<f64> = drawn.collect();
        let most = numbers.iter().copied().fold(0.0, f64::max);
        let times = jobs.last().map_or(1.0, |&last| last as f64 / fewest(&jobs));
        // More space for the ideal line would squeeze the measured lines.
        numbers.extend(ideal.map(|ideal| ideal(times).min(most * 1.5).max(ideal(1.0))));
        Chart { jobs, scale: Scale::from_zero(numbers), title: title.into(), ideal }
    }

    pub(super) fn panel(&self, lines: &[&Line], label: &str) -> String {
        let x = Scale::close(self.jobs.iter().map(|&jobs| jobs as f64));
        let frame = Frame::inside(WIDTH, HEIGHT, x, self.scale);
        let mut svg = Svg::new(WIDTH, HEIGHT);
        let ticks: Vec<f64> = self.jobs.iter().map(|&jobs| jobs as f64).collect();
        frame.draw(&mut svg, &ticks, "jobs", &self.title);
        self.draw_ideal(&mut svg, &frame);
        for line in lines {
            draw_line(&mut svg, &frame, line);
        }
        for line in lines {
            self.draw_points(&mut svg, &frame, line);
        }
        svg.finish("chart", label)
    }

    fn draw_ideal(&self, svg: &mut Svg, frame: &Frame) {
        let (Some(&first), Some(&last)) = (self.jobs.first(), self.jobs.last()) else { return };
        // The line is straight only if both scales are of the same kind, so it is drawn in steps, up to the end of the scale.
        let at = |step: i32| first as f64 + (last - first) as f64 * f64::from(step) / 96.0;
        let points = (0..=96).map(at).filter_map(|jobs| Some((jobs, self.ideal?(jobs / fewest(&self.jobs)))));
        let places: Vec<_> = points
            .take_while(|(_, ideal)| *ideal <= self.scale.most() * 1.000_001)
            .map(|(jobs, ideal)| frame.place(jobs, ideal))
            .collect();
        svg.titled("ideal", |svg| svg.path("ideal", &places));
    }

    fn draw_points(&self, svg: &mut Svg, frame: &Frame, line: &Line) {
        for point in &line.points {
            let place = frame.place(point.jobs as f64, point.value);
            let title = format!("{}, jobs {}: {} {}", line.name, point.jobs, number::short(point.value), self.title);
            svg.titled(&title, |svg| svg.marker(line.look, place));
        }
    }
}

fn fewest(jobs: &[usize]) -> f64 {
    jobs.first().map_or(1, |&first| first.max(1)) as f64
}

fn draw_line(svg: &mut Svg, frame: &Frame, line: &Line) {
    let places: Vec<_> = line.points.iter().map(|point| frame.place(point.jobs as f64, point.value)).collect();
    svg.path(&line.look.line_class(), &places);
    for point in &line.points {
        let Some((least, most)) = point.range else { continue };
        let low = frame.place(point.jobs as f64, least);
        let high = frame.place(point.jobs as f64, most);
        svg.line(&format!("whisker {}", line.look.colour_class()), low, high);
    }
}
