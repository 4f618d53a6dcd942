//! The plot area of a chart: two scales, their ticks and titles.

use super::axis::{Scale, tick};
use super::svg::{Anchor, Place, Svg, TEXT, text_width};

/// Room right of the plot area, for half a number.
const MARGIN: f64 = 16.0;

/// A plot area.
pub(super) struct Frame {
    /// Left edge.
    pub left: f64,
    /// Top edge.
    pub top: f64,
    /// Right edge.
    pub right: f64,
    /// Bottom edge.
    pub bottom: f64,
    /// From left to right.
    pub x: Scale,
    /// From bottom to top.
    pub y: Scale,
}

impl Frame {
    /// In a drawing of this size, with room for ticks and titles.
    pub(super) fn inside(width: f64, height: f64, x: Scale, y: Scale) -> Frame {
        let widest = y.ticks().into_iter().map(|number| text_width(&tick(number))).fold(0.0, f64::max);
        Frame { left: (widest + 9.0).max(38.0), top: 26.0, right: width - MARGIN, bottom: height - 40.0, x, y }
    }

    /// Where a pair of numbers lies.
    pub(super) fn place(&self, x: f64, y: f64) -> Place {
        (self.across(x), self.bottom - self.y.place(y) * (self.bottom - self.top))
    }

    fn across(&self, x: f64) -> f64 {
        self.left + self.x.place(x) * (self.right - self.left)
    }

    /// Grid, ticks and titles. `x_ticks`: where the horizontal axis is marked; those without room for their number get none.
    pub(super) fn draw(&self, svg: &mut Svg, x_ticks: &[f64], x_title: &str, y_title: &str) {
        for number in self.y.ticks() {
            let (_, y) = self.place(0.0, number);
            svg.line("grid", (self.left, y), (self.right, y));
            svg.text("t", Anchor::End, (self.left - 7.0, y + TEXT * 0.35), &tick(number));
        }
        svg.line("base", (self.left, self.bottom), (self.right, self.bottom));
        let mut free = 0.0;
        for &number in x_ticks {
            let (x, label) = (self.across(number), tick(number));
            svg.line("base", (x, self.bottom), (x, self.bottom + 4.0));
            let half = text_width(&label) / 2.0;
            let middle = x.min(self.right + MARGIN - half);
            if middle - half >= free {
                svg.text("t", Anchor::Middle, (middle, self.bottom + 16.0), &label);
                free = middle + half + 4.0;
            }
        }
        svg.text("t", Anchor::End, (self.right, self.bottom + 32.0), &titled(x_title, self.x));
        svg.text("t", Anchor::Start, (4.0, TEXT + 1.0), &titled(y_title, self.y));
    }
}

/// A title that says where a scale is not as usual.
fn titled(title: &str, scale: Scale) -> String {
    if scale.is_powers() { format!("{title} (log scale)") } else { title.into() }
}
