//! The legend of a chart.

use super::look::Look;
use super::markup::escaped;
use super::svg::Svg;

/// A legend of markers, on lines if `lines`; empty for fewer than two entries.
pub(super) fn legend(entries: &[(Look, String)], lines: bool) -> String {
    if entries.len() < 2 {
        return String::new();
    }
    let entry = |(look, name): &(Look, String)| {
        let mut svg = Svg::new(34.0, 14.0);
        if lines {
            svg.line(&look.line_class(), (1.0, 7.0), (33.0, 7.0));
        }
        svg.marker(*look, (17.0, 7.0));
        format!("<li>{}<span>{}</span></li>\n", svg.finish("swatch", ""), escaped(name))
    };
    format!("<ul class=\"key\">\n{}</ul>\n", entries.iter().map(entry).collect::<String>())
}
