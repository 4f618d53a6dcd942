//! The report as one HTML page: charts drawn here as SVG, the figures below them, nothing from anywhere else.

mod axis;
mod bars;
mod frame;
mod labels;
mod legend;
mod lines;
mod look;
mod markup;
mod page;
mod palette;
mod pareto;
mod section;
mod speeds;
mod svg;
mod versus;

pub(crate) use palette::push_new;

use super::Report;

/// The report as HTML.
pub fn html(report: &Report) -> String {
    page::page(report)
}

#[cfg(test)]
mod tests;
