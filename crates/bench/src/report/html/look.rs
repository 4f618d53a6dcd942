//! The look of a series: colour, shape and dashes, so that none of them is needed alone.

use super::svg::Place;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Look {
    /// Colour and shape; `None`: the colour of text, and a circle.
    pub hue: Option<usize>,
    pub dash: usize,
    pub hollow: bool,
}

/// Number of colours; a ninth series has the first colour with another shape.
pub(super) const COLOURS: usize = 8;
const DASHES: usize = 4;

impl Look {
    /// The colour of text, without a meaning.
    pub(super) const NEUTRAL: Look = Look { hue: None, dash: 0, hollow: false };

    /// Of a colour and a treatment of tail ends (dashes).
    pub(super) fn of(hue: usize, way: usize) -> Look {
        Look { hue: Some(hue), dash: way % DASHES, hollow: way > 0 }
    }

    pub(super) fn colour_class(self) -> String {
        self.hue.map_or("cx".into(), |hue| format!("c{}", hue % COLOURS))
    }

    pub(super) fn line_class(self) -> String {
        format!("l {} d{}", self.colour_class(), self.dash)
    }

    /// The corners of the marker around a position; none for a circle.
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
