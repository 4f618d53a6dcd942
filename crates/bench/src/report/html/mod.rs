//! The report as one HTML page: charts as SVG, with the figures below them. The page loads no other files.

mod axis;
mod bars;
mod labels;
mod lines;
mod markup;
mod page;
mod palette;
mod pareto;
mod section;
mod speeds;
mod svg;

pub use page::html;
pub(crate) use palette::push_new;

#[cfg(test)]
mod tests;
