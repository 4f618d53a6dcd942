//! The plot area of a chart: two scales, their ticks and titles.

use super::axis::{Scale, tick};
use super::svg::{Anchor, Place, Svg, TEXT, text_width};

/// The space to the right of the plot area, for half a label.
const MARGIN: f64 = 16.0;

pub(super) struct Frame {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
    pub x: Scale,
    pub y: Scale,
}

impl Frame {
    /// Returns the frame in a drawing of this size, with margins for ticks and titles.
    pub(super) fn inside(width: f64, height: f64, x: Scale, y: Scale) -> Frame {
        let widest = y.ticks().into_iter().map(|number| text_width(&tick(number))).fold(0.0, f64::max);
        Frame { left: (widest + 9.0).max(38.0), top: 26.0, right: width - MARGIN, bottom: height - 40.0, x, y }
    }

    /// Returns the position of a pair of numbers.
    pub(super) fn place(&self, x: f64, y: f64) -> Place {
        (self.across(x), self.bottom - self.y.place(y) * (self.bottom - self.top))
    }

    fn across(&self, x: f64) -> f64 {
        self.left + self.x.place(x) * (self.right - self.left)
    }

    /// Draws the grid, ticks and titles, without labels of `x_ticks` that would overlap.
    pub(super) fn draw(&self, svg: &mut Svg, x_ticks: &[f64], x_title: &str, y_title: &str) {
        for number in self.y.ticks() {
            let (_, y) = self.place(0.0, number);
            svg.line("grid", (self.left, y), (self.right, y));
            svg.text("t", Anchor::End, (self.left - 7.0, y + TEXT * 0.35), &tick(number));
        }
        svg.line("base", (self.left, self.bottom), (self.right, self.bottom));
        let mut free = 0.0;
        for &number in x_ticks {
            let x = self.across(number);
            let label = tick(number);
            svg.line("base", (x, self.bottom), (x, self.bottom + 4.0));
            let half = text_width(&label) / 2.0;
            let middle = x.min(self.right + MARGIN - half);
            if middle - half >= free {
                svg.text("t", Anchor::Middle, (middle, self.bottom + 16.0), &label);
                free = middle + half + 4.0;
            }
        }
        svg.text("t", Anchor::End, (self.right, self.bottom + 32.0), &self.x.titled(x_title));
        svg.text("t", Anchor::Start, (4.0, TEXT + 1.0), &self.y.titled(y_title));
    }
}
