//! Places the labels of points inside the frame, so that they overlap neither each other nor markers.

use super::svg::{Place, TEXT, text_width};

/// Left, top, right, bottom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area(pub f64, pub f64, pub f64, pub f64);

impl Area {
    pub(super) fn meets(self, other: Area) -> bool {
        self.0 < other.2 && other.0 < self.2 && self.1 < other.3 && other.1 < self.3
    }

    fn inside(self, outer: Area) -> bool {
        self.0 >= outer.0 && self.1 >= outer.1 && self.2 <= outer.2 && self.3 <= outer.3
    }

    fn around((x, y): Place, reach: f64) -> Area {
        Area(x - reach, y - reach, x + reach, y + reach)
    }
}

/// The distances of a label from its point, in the order in which they are tried.
const DISTANCES: [f64; 6] = [8.0, 14.0, 22.0, 32.0, 44.0, 58.0];
/// The directions (right, down) of a label, in the order in which they are tried.
const DIRECTIONS: [Place; 12] = [
    (1.0, 0.0),
    (0.8, -0.6),
    (0.8, 0.6),
    (-1.0, 0.0),
    (-0.8, -0.6),
    (-0.8, 0.6),
    (0.0, -1.0),
    (0.0, 1.0),
    (0.5, -0.9),
    (0.5, 0.9),
    (-0.5, -0.9),
    (-0.5, 0.9),
];

/// Returns an area for the label of each point, in order; `None` if there is no space. Points with the same label whose distance is less than
/// the label's height have one label.
pub(super) fn placed(points: &[(Place, String)], frame: Area) -> Vec<Option<Area>> {
    let markers: Vec<Area> = points.iter().map(|(place, _)| Area::around(*place, 5.5)).collect();
    let mut taken: Vec<Area> = Vec::new();
    let mut found: Vec<Option<Area>> = Vec::new();
    for (index, (place, label)) in points.iter().enumerate() {
        let near = |other: &Place| (other.0 - place.0).hypot(other.1 - place.1) < TEXT;
        let twice =
            (0..index).any(|before| found[before].is_some() && points[before].1 == *label && near(&points[before].0));
        let fits = |area: &Area| area.inside(frame) && !markers.iter().chain(&taken).any(|other| area.meets(*other));
        let area = if twice { None } else { candidates(*place, label).find(fits) };
        taken.extend(area);
        found.push(area);
    }
    found
}

fn candidates((x, y): Place, label: &str) -> impl Iterator<Item = Area> {
    let width = text_width(label);
    let height = TEXT * 1.25;
    DISTANCES.into_iter().flat_map(move |far| {
        DIRECTIONS.into_iter().map(move |(right, down)| {
            let x = x + right * far;
            let y = y + down * far;
            let left = x - width * (0.5 - right.signum() * f64::from(u8::from(right.abs() > 0.1)) * 0.5);
            let top = y - height * (0.5 - down * 0.5);
            Area(left, top, left + width, top + height)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FRAME: Area = Area(40.0, 20.0, 340.0, 300.0);

    proptest! {
        #[test]
        fn labels_meet_neither_each_other_nor_markers_nor_the_edge(
            points in prop::collection::vec(((40.0f64..340.0, 20.0f64..300.0), "[a-z:=0-9]{0,24}"), 0..60)
        ) {
            let found = placed(&points, FRAME);
            prop_assert_eq!(found.len(), points.len());
            let areas: Vec<Area> = found.into_iter().flatten().collect();
            for (index, area) in areas.iter().enumerate() {
                prop_assert!(area.inside(FRAME));
                prop_assert!(!areas[..index].iter().any(|other| other.meets(*area)));
                prop_assert!(!points.iter().any(|(place, _)| Area::around(*place, 4.0).meets(*area)));
            }
        }
    }

    #[test]
    fn labels_distant_points_and_equal_near_points_once() {
        let at = |x: f64, label: &str| ((x, 100.0), label.to_string());
        let found = placed(&[at(60.0, "zstd"), at(64.0, "zstd"), at(200.0, "xz"), at(339.0, "lz4")], FRAME);
        assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true, true]);
    }
}
