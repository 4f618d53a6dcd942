//! Lines over the number of jobs.

use super::axis::Scale;
use super::frame::Frame;
use super::look::Look;
use super::svg::Svg;
use crate::report::number;

/// A series.
pub(super) struct Line {
    /// Its look.
    pub look: Look,
    /// Its name.
    pub name: String,
    /// Its points, jobs rising.
    pub points: Vec<Point>,
}

/// A point of a series.
pub(super) struct Point {
    /// Jobs.
    pub jobs: usize,
    /// The figure.
    pub value: f64,
    /// The least and most of it over the runs, if that is known.
    pub range: Option<(f64, f64)>,
}

/// What would be perfect.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Ideal {
    /// Nothing is.
    None,
    /// As many times as there are jobs of the fewest.
    Proportional,
    /// This, at any jobs.
    Level(f64),
}

/// What all panels of a chart share.
#[derive(Clone)]
pub(super) struct Chart {
    /// Jobs that occur, rising.
    pub jobs: Vec<usize>,
    /// Of the figures.
    pub scale: Scale,
    /// What the figure is.
    pub title: String,
    /// What would be perfect.
    pub ideal: Ideal,
}

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 250.0;

impl Chart {
    /// With a scale for all of these series.
    pub(super) fn over<'l>(lines: impl Iterator<Item = &'l Line>, title: &str, ideal: Ideal) -> Chart {
        let points: Vec<&Point> = lines.flat_map(|line| &line.points).collect();
        let mut jobs: Vec<usize> = points.iter().map(|point| point.jobs).collect();
        jobs.sort_unstable();
        jobs.dedup();
        let drawn = points.iter().flat_map(|point| [point.value, point.range.map_or(point.value, |range| range.1)]);
        let mut numbers: Vec<f64> = drawn.collect();
        let most = numbers.iter().copied().fold(0.0, f64::max);
        match ideal {
            Ideal::None => {}
            Ideal::Level(level) => numbers.push(level),
            // More room for what is perfect would press what is measured against the floor.
            Ideal::Proportional => numbers.push(perfect(&jobs, jobs.last().copied().unwrap_or(1)).min(most * 1.5)),
        }
        Chart { jobs, scale: Scale::from_zero(numbers), title: title.into(), ideal }
    }

    /// A panel with some of the series.
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
        // Straight in both scales or in neither; drawn through steps, it is right in all, and ends where the scale does.
        let at = |step: i32| first as f64 + (last - first) as f64 * f64::from(step) / 96.0;
        let ideal = |jobs: f64| match self.ideal {
            Ideal::None => None,
            Ideal::Proportional => Some(jobs / first.max(1) as f64),
            Ideal::Level(level) => Some(level),
        };
        let points = (0..=96).map(at).filter_map(|jobs| ideal(jobs).map(|ideal| (jobs, ideal)));
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

/// The perfect speed-up at some jobs.
fn perfect(jobs: &[usize], at: usize) -> f64 {
    at as f64 / jobs.first().copied().unwrap_or(1).max(1) as f64
}

fn draw_line(svg: &mut Svg, frame: &Frame, line: &Line) {
    let places: Vec<_> = line.points.iter().map(|point| frame.place(point.jobs as f64, point.value)).collect();
    svg.path(&line.look.line_class(), &places);
    for point in &line.points {
        let Some((least, most)) = point.range else { continue };
        let (low, high) = (frame.place(point.jobs as f64, least), frame.place(point.jobs as f64, most));
        svg.line(&format!("whisker {}", line.look.colour_class()), low, high);
    }
}
