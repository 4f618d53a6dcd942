//! How a series looks: colour, shape and dashes, so that none of them is needed alone.

use super::svg::Place;

/// The look of a series.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Look {
    /// Which colour and shape; `None`: the colour of words, and a circle.
    pub hue: Option<usize>,
    /// Which dashes; 0 is a whole line.
    pub dash: usize,
    /// Whether markers are outlines.
    pub hollow: bool,
}

/// Colours there are; a ninth series has the first colour again, with another shape.
pub(super) const COLOURS: usize = 8;
const DASHES: usize = 4;

impl Look {
    /// The colour of words, which means nothing.
    pub(super) const NEUTRAL: Look = Look { hue: None, dash: 0, hollow: false };

    /// Of a colour and a way of treating tails (dashes).
    pub(super) fn of(hue: usize, way: usize) -> Look {
        Look { hue: Some(hue), dash: way % DASHES, hollow: way > 0 }
    }

    /// The class that says the colour.
    pub(super) fn colour_class(self) -> String {
        self.hue.map_or("cx".into(), |hue| format!("c{}", hue % COLOURS))
    }

    /// The classes of a line.
    pub(super) fn line_class(self) -> String {
        format!("l {} d{}", self.colour_class(), self.dash)
    }

    /// The corners of the marker around a place; none for a circle.
    pub(super) fn outline(self, (x, y): Place) -> Option<Vec<Place>> {
        let corners: &[Place] = match self.hue.unwrap_or(0) % 6 {
            0 => return None,
            1 => &[(-3.6, -3.6), (3.6, -3.6), (3.6, 3.6), (-3.6, 3.6)],
            2 => &[(0.0, -4.8), (4.6, 3.4), (-4.6, 3.4)],
            3 => &[(0.0, -5.2), (5.2, 0.0), (0.0, 5.2), (-5.2, 0.0)],
            4 => &[(0.0, 4.8), (4.6, -3.4), (-4.6, -3.4)],
            _ => &[(0.0, -4.9), (4.7, -1.5), (2.9, 4.0), (-2.9, 4.0), (-4.7, -1.5)],
        };
        Some(corners.iter().map(|(right, down)| (x + right, y + down)).collect())
    }
}
