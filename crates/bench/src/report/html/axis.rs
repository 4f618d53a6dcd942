//! The plot area of a chart: two scales, their ticks and titles.

use super::svg::{Anchor, Place, Svg, TEXT, text_width};
use crate::report::number;

/// Larger numbers are drawn as this number.
const MOST: f64 = 1e15;
/// Smaller numbers above zero are drawn as this number.
const LEAST: f64 = 1e-9;
/// A range whose ends differ by this factor has a log scale.
const WIDE: f64 = 30.0;

/// A range of numbers along an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scale {
    Linear(f64, f64),
    /// A log scale.
    Powers(f64, f64),
}

impl Scale {
    /// Returns a scale from zero to the largest number. A log scale begins at about the smallest number.
    pub(super) fn from_zero(numbers: impl IntoIterator<Item = f64>) -> Scale {
        Scale::of(numbers, Scale::powers, |_, most| Scale::Linear(0.0, rounded_up(most, step(most, 4.0))))
    }

    /// Returns a scale from about the smallest to about the largest number.
    pub(super) fn around(numbers: impl IntoIterator<Item = f64>) -> Scale {
        Scale::of(numbers, Scale::powers, |least, most| {
            let margin = ((most - least) * 0.08).max(most * 0.04);
            Scale::Linear((least - margin).max(0.0), most + margin)
        })
    }

    /// Returns a scale from the smallest to the largest number with a small margin. It is for numbers that are all ticks, such as jobs.
    pub(super) fn close(numbers: impl IntoIterator<Item = f64>) -> Scale {
        let powers = |least, most| Scale::Powers(least / 1.15, most * 1.15);
        Scale::of(numbers, powers, |least, most| {
            let margin = ((most - least) * 0.05).max(least * 0.05);
            Scale::Linear(least - margin, most + margin)
        })
    }

    /// Calls `powers` or `linear` with the smallest and the largest number.
    fn of(
        numbers: impl IntoIterator<Item = f64>,
        powers: fn(f64, f64) -> Scale,
        linear: fn(f64, f64) -> Scale,
    ) -> Scale {
        match range(numbers) {
            None => Scale::Linear(0.0, 1.0),
            Some((least, most)) if most / least > WIDE => powers(least, most),
            Some((least, most)) => linear(least, most),
        }
    }

    fn powers(least: f64, most: f64) -> Scale {
        let floor = |number: f64| 10f64.powf(number.log10().floor());
        let below =
            [5.0, 2.0, 1.0].map(|digit| digit * floor(least)).into_iter().find(|tick| *tick <= least * 1.000_001);
        let above = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * floor(most)).into_iter().find(|tick| *tick >= most);
        Scale::Powers(below.unwrap_or(least), above.unwrap_or(most * 1.1))
    }

    pub(super) fn is_powers(self) -> bool {
        matches!(self, Scale::Powers(..))
    }

    /// Returns the title of the axis, which names a log scale.
    pub(super) fn titled(self, title: &str) -> String {
        if self.is_powers() { format!("{title} (log scale)") } else { title.into() }
    }

    pub(super) fn most(self) -> f64 {
        match self {
            Scale::Linear(_, most) | Scale::Powers(_, most) => most,
        }
    }

    /// Returns the position of a number: 0 at the start, 1 at the end. Numbers outside of the scale are at the nearer end.
    pub(super) fn place(self, number: f64) -> f64 {
        let share = match self {
            Scale::Linear(least, most) => (number - least) / (most - least),
            Scale::Powers(least, most) => (number.max(LEAST) / least).ln() / (most / least).ln(),
        };
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    pub(super) fn ticks(self) -> Vec<f64> {
        match self {
            Scale::Linear(least, most) => {
                let step = step(most - least, 4.0);
                let first = (least / step - 1e-6).ceil();
                let tick = |index: i32| (first + f64::from(index)) * step;
                (0..12).map(tick).take_while(|tick| *tick <= most + step * 1e-6).collect()
            }
            Scale::Powers(least, most) => powers(least, most),
        }
    }
}

/// Returns the smallest number above zero and the largest number, of those that can be drawn.
fn range(numbers: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let drawn = numbers.into_iter().filter(|number| number.is_finite() && *number > 0.0);
    drawn.map(|number| number.clamp(LEAST, MOST)).fold(None, |range, number| match range {
        None => Some((number, number)),
        Some((least, most)) => Some((number.min(least), number.max(most))),
    })
}

/// Returns a step of 1, 2 or 5 times a power of ten that gives about `count` ticks.
fn step(range: f64, count: f64) -> f64 {
    let rough = (range / count).max(LEAST / 100.0);
    let power = 10f64.powf(rough.log10().floor());
    let digit = [5.0, 2.0, 1.0].into_iter().find(|digit| digit * power <= rough * 1.000_001);
    digit.unwrap_or(1.0) * power
}

fn rounded_up(number: f64, step: f64) -> f64 {
    (number / step - 1e-6).ceil() * step
}

/// Returns 1, 2 and 5 times each power of ten, or only the powers if there would be too many ticks.
fn powers(least: f64, most: f64) -> Vec<f64> {
    let first = least.log10().floor() as i32;
    let last = most.log10().ceil() as i32;
    let digits: &[f64] = if (most / least).log10() <= 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let every = (last - first) / 8 + 1;
    let ticks = (first..=last)
        .step_by(every as usize)
        .flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)));
    ticks.filter(|tick| *tick >= least / 1.000_001 && *tick <= most * 1.000_001).collect()
}

pub(super) fn tick(number: f64) -> String {
    let trimmed = |number: f64| format!("{}", (number * 1e4).round() / 1e4);
    match number.abs() {
        1e12.. => format!("{number:.0e}"),
        1e9.. => trimmed(number / 1e9) + "G",
        1e6.. => trimmed(number / 1e6) + "M",
        1000.0.. if number.fract() == 0.0 => number::grouped(number as i128),
        0.001.. => trimmed(number),
        0.0 => "0".into(),
        _ => format!("{number:.0e}"),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round_and_cover_the_range() {
        assert_eq!(Scale::from_zero([3.0, 44.0]).ticks(), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(Scale::from_zero([2.0, 150.0]).ticks(), [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]);
        assert_eq!(Scale::from_zero([]).ticks(), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!([0.25, 1500.0, 2e6, 0.6000000000000001, 0.0].map(tick), ["0.25", "1,500", "2M", "0.6", "0"]);
    }

    proptest! {
        #[test]
        fn every_scale_places_its_numbers_inside_and_in_order(mut numbers in prop::collection::vec(any::<f64>(), 0..8)) {
            for scale in [Scale::from_zero, Scale::around, Scale::close].map(|scale| scale(numbers.clone())) {
                numbers.sort_by(f64::total_cmp);
                let places: Vec<f64> = numbers.iter().filter(|number| number.is_finite()).map(|&number| scale.place(number)).collect();
                prop_assert!(places.iter().all(|place| (0.0..=1.0).contains(place)));
                prop_assert!(places.is_sorted());
                let ticks = scale.ticks();
                prop_assert!(ticks.len() < 13 && ticks.is_sorted() && ticks.iter().all(|tick| tick.is_finite()), "{ticks:?}");
            }
        }

        #[test]
        fn scales_from_zero_have_two_ticks_at_least(numbers in prop::collection::vec(1e-6f64..1e12, 1..8)) {
            prop_assert!(Scale::from_zero(numbers.clone()).ticks().len() > 1);
            prop_assert!(Scale::around(numbers).ticks().len() > 1);
        }
    }
}
