//! A drawing as SVG. Colours are classes, so that they follow the theme of the page.

use super::markup::escaped;
use super::palette::Look;

/// A position in the drawing, from the top left.
pub(super) type Place = (f64, f64);

/// The part of a text that is at the text's position.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The height of text, in the drawing's units.
pub(super) const TEXT: f64 = 11.0;

pub(super) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    pub(super) fn new(width: f64, height: f64) -> Svg {
        Svg { width, height, body: String::new() }
    }

    pub(super) fn line(&mut self, class: &str, from: Place, to: Place) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(coordinate);
        self.body.push_str(&format!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"));
    }

    /// Draws a line through positions, if there are at least two.
    pub(super) fn path(&mut self, class: &str, places: &[Place]) {
        if places.len() > 1 {
            self.body.push_str(&format!("<polyline class=\"{class}\" points=\"{}\"/>", points(places)));
        }
    }

    pub(super) fn rectangle(&mut self, class: &str, corner: Place, width: f64, height: f64) {
        let [x, y, width, height] = [corner.0, corner.1, width.max(0.0), height.max(0.0)].map(coordinate);
        self.body
            .push_str(&format!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"));
    }

    /// Draws text with its baseline at a position.
    pub(super) fn text(&mut self, class: &str, anchor: Anchor, place: Place, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let x = coordinate(place.0);
        let y = coordinate(place.1);
        let text = escaped(text);
        self.body.push_str(&format!("<text class=\"{class}\"{anchor} x=\"{x}\" y=\"{y}\">{text}</text>"));
    }

    /// Draws the marker of a series, centred at a position.
    pub(super) fn marker(&mut self, look: Look, place: Place) {
        let class = look.marker_class();
        match look.outline(place) {
            None => {
                let x = coordinate(place.0);
                let y = coordinate(place.1);
                self.body.push_str(&format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"4\"/>"));
            }
            Some(corners) => {
                self.body.push_str(&format!("<polygon class=\"{class}\" points=\"{}\"/>", points(&corners)))
            }
        }
    }

    /// Draws a group with a tooltip.
    pub(super) fn titled(&mut self, title: &str, draw: impl FnOnce(&mut Svg)) {
        self.body.push_str(&format!("<g><title>{}</title>", escaped(title)));
        draw(self);
        self.body.push_str("</g>\n");
    }

    /// Returns the drawing as an element. `label` is for screen readers.
    pub(super) fn finish(self, class: &str, label: &str) -> String {
        let width = coordinate(self.width);
        let height = coordinate(self.height);
        format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
            escaped(label),
            self.body
        )
    }
}

fn points(places: &[Place]) -> String {
    let place = |place: &Place| format!("{},{}", coordinate(place.0), coordinate(place.1));
    places.iter().map(place).collect::<Vec<_>>().join(" ")
}

fn coordinate(value: f64) -> String {
    let tenth = (value * 10.0).round() / 10.0;
    if tenth.is_finite() { format!("{}", tenth + 0.0) } else { "0".into() }
}

/// Returns an upper estimate of the width of a text, because fonts differ.
pub(super) fn text_width(text: &str) -> f64 {
    let wide = |char: char| match char {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | '(' | ')' | '[' | ']' | ' ' => {
            0.4
        }
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
        'A'..='Z' => 0.72,
        ' '..='~' => 0.63,
        _ => 1.0,
    };
    text.chars().map(wide).sum::<f64>() * TEXT
}

/// Truncates a text to a width.
pub(super) fn cut(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.into();
    }
    let mut kept = String::new();
    for char in text.chars() {
        kept.push(char);
        if text_width(&kept) + TEXT > width {
            kept.pop();
            break;
        }
    }
    kept + "…"
}
