//! Size against speed. Each configuration is a point, and a line joins the points that no other point beats in both.

use super::axis::{Frame, Scale};
use super::labels::{Area, placed};
use super::markup::figure;
use super::palette::Look;
use super::svg::{Anchor, Place, Svg, TEXT};

pub(super) struct Dot {
    pub look: Look,
    pub label: String,
    pub title: String,
    /// Speed, above zero. More is better.
    pub speed: f64,
    /// Size, above zero. Less is better.
    pub size: f64,
}

/// The words of a chart: for screen readers, and the titles of the axes.
pub(super) struct Words {
    pub label: String,
    pub x: &'static str,
    pub y: &'static str,
}

/// Returns a figure with the chart twice, for wide and for narrow pages; an empty text for fewer than two points.
pub(super) fn pareto(title: &str, legend: &str, dots: &[Dot], words: &Words, reading: &str) -> String {
    if dots.len() < 2 {
        return String::new();
    }
    let wide = drawn(dots, 960.0, 460.0, words).finish("chart wide", &words.label);
    let narrow = drawn(dots, 360.0, 380.0, words).finish("chart narrow", &words.label);
    figure(title, &format!("{legend}{wide}{narrow}"), reading)
}

/// Returns whether each point is on the Pareto frontier: no other point is as good in both and better in one.
pub(super) fn frontier(dots: &[Dot]) -> Vec<bool> {
    let beats = |one: &Dot, other: &Dot| {
        one.speed >= other.speed && one.size <= other.size && (one.speed > other.speed || one.size < other.size)
    };
    dots.iter().map(|dot| !dots.iter().any(|other| beats(other, dot))).collect()
}

fn drawn(dots: &[Dot], width: f64, height: f64, words: &Words) -> Svg {
    let x = Scale::from_zero(dots.iter().map(|dot| dot.speed));
    let y = Scale::around(dots.iter().map(|dot| dot.size));
    let frame = Frame::inside(width, height, x, y);
    let mut svg = Svg::new(width, height);
    frame.draw(&mut svg, &x.ticks(), words.x, words.y);
    svg.text("better", Anchor::End, (frame.right, 12.0), "better: right and down ↘");
    let best = frontier(dots);
    draw_frontier(&mut svg, &frame, dots, &best);
    let places: Vec<Place> = dots.iter().map(|dot| frame.place(dot.speed, dot.size)).collect();
    for (index, dot) in in_order(&best).into_iter().rev().map(|index| (index, &dots[index])) {
        svg.titled(&dot.title, |svg| svg.marker(dot.look, places[index]));
    }
    draw_labels(&mut svg, &frame, dots, &best, &places);
    svg
}

/// Returns the points on the frontier first. They are labelled first and drawn last.
fn in_order(best: &[bool]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..best.len()).collect();
    order.sort_by_key(|&index| !best[index]);
    order
}

/// Draws a staircase. A corner of the staircase beats each point above and to the left of it.
fn draw_frontier(svg: &mut Svg, frame: &Frame, dots: &[Dot], best: &[bool]) {
    let mut corners: Vec<&Dot> = dots.iter().zip(best).filter(|(_, best)| **best).map(|(dot, _)| dot).collect();
    corners.sort_by(|left, right| left.speed.total_cmp(&right.speed));
    let mut places: Vec<Place> = Vec::new();
    for dot in corners {
        let (x, y) = frame.place(dot.speed, dot.size);
        match places.last() {
            None => places.push((frame.left, y)),
            Some(&(before, _)) => places.push((before, y)),
        }
        places.push((x, y));
    }
    if let Some(&(x, _)) = places.last() {
        places.push((x, frame.top));
    }
    svg.titled("frontier", |svg| svg.path("frontier", &places));
}

fn draw_labels(svg: &mut Svg, frame: &Frame, dots: &[Dot], best: &[bool], places: &[Place]) {
    let order = in_order(best);
    let points: Vec<(Place, String)> = order.iter().map(|&index| (places[index], dots[index].label.clone())).collect();
    let inside = Area(frame.left + 2.0, frame.top, frame.right, frame.bottom - 2.0);
    for (&index, area) in order.iter().zip(placed(&points, inside)) {
        let Some(Area(left, top, right, bottom)) = area else { continue };
        let (x, y) = places[index];
        let nearest = (x.clamp(left, right), y.clamp(top, bottom));
        if (nearest.0 - x).hypot(nearest.1 - y) > 13.0 {
            svg.line("lead", (x, y), nearest);
        }
        let class = if best[index] { "name best" } else { "name" };
        let middle = ((left + right) / 2.0, bottom - TEXT * 0.35);
        let (anchor, place) = if left > x {
            (Anchor::Start, (left, middle.1))
        } else if right < x {
            (Anchor::End, (right, middle.1))
        } else {
            (Anchor::Middle, middle)
        };
        svg.text(class, anchor, place, &dots[index].label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frontier_has_the_points_that_none_beats() {
        let dot = |speed: f64, size: f64| Dot {
            look: Look::NEUTRAL,
            label: String::new(),
            title: String::new(),
            speed,
            size,
        };
        let dots = [dot(1.0, 0.2), dot(5.0, 0.3), dot(4.0, 0.3), dot(9.0, 0.5), dot(0.5, 0.9), dot(1.0, 0.2)];
        assert_eq!(frontier(&dots), [true, true, false, true, false, true]);
        assert!(frontier(&[]).is_empty());
    }
}
