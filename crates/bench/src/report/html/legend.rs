//! The key of a chart: how each series looks, in a line that wraps.

use super::look::Look;
use super::markup::escaped;
use super::svg::Svg;

/// A key of lines with markers.
pub(super) fn of_lines(entries: &[(Look, String)]) -> String {
    key(entries, |svg, look| {
        svg.line(&look.line_class(), (1.0, 7.0), (33.0, 7.0));
        svg.marker(look, (17.0, 7.0));
    })
}

/// A key of markers.
pub(super) fn of_markers(entries: &[(Look, String)]) -> String {
    key(entries, |svg, look| svg.marker(look, (17.0, 7.0)))
}

fn key(entries: &[(Look, String)], draw: impl Fn(&mut Svg, Look)) -> String {
    if entries.len() < 2 {
        return String::new();
    }
    let entry = |(look, name): &(Look, String)| {
        let mut svg = Svg::new(34.0, 14.0);
        draw(&mut svg, *look);
        format!("<li>{}<span>{}</span></li>\n", svg.finish("swatch", ""), escaped(name))
    };
    format!("<ul class=\"key\">\n{}</ul>\n", entries.iter().map(entry).collect::<String>())
}
