//! Horizontal bars with whiskers. On a log scale, where length has no meaning, squares replace the bars.

use super::axis::{Frame, Scale};
use super::svg::{Anchor, Svg, TEXT, cut, text_width};

#[derive(Clone)]
pub(super) struct Bar {
    /// Text left of the bar.
    pub label: String,
    pub value: f64,
    /// The smallest and the largest value of the runs.
    pub range: Option<(f64, f64)>,
    /// The printed value.
    pub text: String,
    pub class: &'static str,
}

const WIDTH: f64 = 360.0;
const LINE: f64 = 21.0;

/// Draws a chart of bars. `mark` is the position of a vertical line.
pub(super) fn bars(bars: &[Bar], title: &str, mark: Option<f64>, label: &str) -> String {
    let height = 50.0 + LINE * bars.len() as f64;
    let numbers = bars.iter().flat_map(|bar| [bar.value, bar.range.map_or(bar.value, |range| range.1)]);
    let values: Vec<f64> = bars.iter().map(|bar| bar.value).collect();
    // The values, not the whiskers, decide whether the scale is logarithmic.
    let scale = match Scale::from_zero(values.iter().copied().chain(mark)) {
        powers @ Scale::Powers(..) => powers,
        Scale::Linear(..) => Scale::Linear(0.0, zero_to(numbers.chain(mark))),
    };
    let widest = |texts: &mut dyn Iterator<Item = &String>| texts.map(|text| text_width(text)).fold(0.0, f64::max);
    let gutter = widest(&mut bars.iter().map(|bar| &bar.label)).clamp(24.0, 150.0);
    let values = widest(&mut bars.iter().map(|bar| &bar.text)).clamp(20.0, 70.0);
    let frame = Frame {
        left: gutter + 8.0,
        top: 8.0,
        right: WIDTH - values - 10.0,
        bottom: height - 40.0,
        x: scale,
        y: Scale::Linear(0.0, 1.0),
    };
    let mut svg = Svg::new(WIDTH, height);
    draw_axis(&mut svg, &frame, title);
    for (index, bar) in bars.iter().enumerate() {
        draw_bar(&mut svg, &frame, bar, frame.top + LINE * (index as f64 + 0.5) + 1.0, gutter);
    }
    if let Some(mark) = mark {
        let (x, _) = frame.place(mark, 0.0);
        svg.line("mark", (x, frame.top - 4.0), (x, frame.bottom));
    }
    svg.finish("chart", label)
}

/// Returns the end of a scale from zero to the largest number.
fn zero_to(numbers: impl Iterator<Item = f64>) -> f64 {
    let most = numbers.filter(|number| number.is_finite()).fold(0.0, f64::max);
    Scale::from_zero([most]).most()
}

fn draw_axis(svg: &mut Svg, frame: &Frame, title: &str) {
    let mut free = 0.0;
    for number in frame.x.ticks() {
        let (x, _) = frame.place(number, 0.0);
        svg.line("grid", (x, frame.top), (x, frame.bottom));
        let label = super::axis::tick(number);
        let half = text_width(&label) / 2.0;
        if x - half >= free {
            svg.text("t", Anchor::Middle, (x, frame.bottom + 15.0), &label);
            free = x + half + 8.0;
        }
    }
    svg.text("t", Anchor::End, (WIDTH - 8.0, frame.bottom + 32.0), &frame.x.titled(title));
}

fn draw_bar(svg: &mut Svg, frame: &Frame, bar: &Bar, middle: f64, gutter: f64) {
    let foot = middle + TEXT * 0.35;
    let (end, _) = frame.place(bar.value, 0.0);
    let title = format!("{}: {}", bar.label, bar.text);
    svg.titled(&title, |svg| {
        svg.text("name", Anchor::End, (gutter, foot), &cut(&bar.label, gutter));
        if frame.x.is_powers() {
            svg.line("lead", (frame.left, middle), (end, middle));
            svg.rectangle(&format!("bar {}", bar.class), (end - 4.0, middle - 4.0), 8.0, 8.0);
        } else {
            svg.rectangle(&format!("bar {}", bar.class), (frame.left, middle - 6.0), end - frame.left, 12.0)
        }
        if let Some((least, most)) = bar.range.filter(|(least, most)| least < most) {
            let [low, high] = [least, most].map(|number| frame.place(number, 0.0).0);
            svg.line("range", (low, middle), (high, middle));
            svg.line("range", (low, middle - 3.0), (low, middle + 3.0));
            svg.line("range", (high, middle - 3.0), (high, middle + 3.0));
        }
        svg.text("value", Anchor::End, (WIDTH - 4.0, foot), &bar.text);
    });
}
