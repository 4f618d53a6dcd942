//! Colours, shapes and dashes of series. A program has the same colour in every chart; if there is one program, a codec has.

use super::svg::Place;
use crate::report::{Case, Tails};

/// The number of colours. A ninth series has the first colour with another shape.
const COLOURS: usize = 8;
const DASHES: usize = 4;

/// The look of a series. Shape and dashes distinguish series, not only the colour.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// The colour and shape; `None` for a circle in the colour of text.
    hue: Option<usize>,
    /// Number of the way in which tail ends are packed. Way 0 is drawn as a solid line with filled markers.
    way: usize,
}

impl Look {
    /// The colour of text, without a meaning.
    pub(super) const NEUTRAL: Look = Look { hue: None, way: 0 };

    pub(super) fn colour_class(self) -> String {
        self.hue.map_or("cx".into(), |hue| format!("c{}", hue % COLOURS))
    }

    pub(super) fn line_class(self) -> String {
        format!("l {} d{}", self.colour_class(), self.way % DASHES)
    }

    pub(super) fn marker_class(self) -> String {
        format!("m {}{}", self.colour_class(), if self.way > 0 { " hollow" } else { "" })
    }

    /// Returns the corners of the marker around a position; `None` for a circle.
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

/// The programs, codecs and treatments of tail ends of some configurations, in order. The palette of the complete page chooses the looks,
/// which are the same in all charts.
pub(super) struct Palette<'p> {
    pub programs: Vec<&'p str>,
    pub codecs: Vec<&'p str>,
    pub ways: Vec<Tails>,
}

impl<'p> Palette<'p> {
    pub(super) fn of(cases: impl IntoIterator<Item = &'p Case>) -> Palette<'p> {
        let mut found = Palette { programs: vec![], codecs: vec![], ways: vec![] };
        for case in cases {
            push_new(&mut found.programs, case.program.as_str());
            push_new(&mut found.codecs, case.codec.as_str());
            push_new(&mut found.ways, case.tails);
        }
        found
    }

    pub(super) fn is_of_codecs(&self) -> bool {
        self.programs.len() == 1 && self.codecs.len() <= COLOURS
    }

    pub(super) fn look(&self, case: &Case) -> Look {
        let hue = if self.is_of_codecs() {
            place(&self.codecs, &case.codec.as_str())
        } else {
            place(&self.programs, &case.program.as_str())
        };
        Look { hue: Some(hue), ..self.look_of_way(case.tails) }
    }

    pub(super) fn look_of_program(&self, program: &str) -> Look {
        Look { hue: Some(place(&self.programs, &program)), way: 0 }
    }

    /// Returns the look of a treatment of tail ends, for any program.
    pub(super) fn look_of_way(&self, tails: Tails) -> Look {
        Look { hue: None, way: place(&self.ways, &tails) }
    }
}

fn place<T: PartialEq>(list: &[T], item: &T) -> usize {
    list.iter().position(|known| known == item).unwrap_or(0)
}

/// Adds an item unless it is in the list.
pub(crate) fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
