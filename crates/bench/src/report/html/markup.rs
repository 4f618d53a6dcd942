//! Text and tables as HTML.

use crate::report::tables::Table;

/// Headings up to this length are not wrapped.
const SHORT: usize = 8;

/// Escapes text for elements and quoted attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // HTML allows no other control characters.
            '\n' | '\t' => out.push(char),
            char if char.is_control() => out.push('\u{fffd}'),
            char => out.push(char),
        }
    }
    out
}

/// Returns a table that scrolls horizontally if it is wider than the page.
pub(super) fn table(table: &Table) -> String {
    let class = |number: &bool| if *number { "n" } else { "w" };
    let head = |(head, number): (&&str, &bool)| {
        let short = if head.len() <= SHORT { " short" } else { "" };
        format!("<th scope=\"col\" class=\"{}{short}\">{}</th>", class(number), escaped(head))
    };
    let heads: String = table.heads.iter().zip(&table.numbers).map(head).collect();
    let cell = |(cell, number): (&String, &bool)| format!("<td class=\"{}\">{}</td>", class(number), escaped(cell));
    let row =
        |row: &Vec<String>| format!("<tr>{}</tr>\n", row.iter().zip(&table.numbers).map(cell).collect::<String>());
    let rows: String = table.rows.iter().map(row).collect();
    format!(
        "<div class=\"table\" tabindex=\"0\"><table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// Returns a chart with its heading and a caption.
pub(super) fn figure(title: &str, drawn: &str, reading: &str) -> String {
    format!("<figure><h3>{}</h3>\n{drawn}<figcaption>{}</figcaption></figure>\n", escaped(title), escaped(reading))
}

/// Returns small charts with titles, side by side, with a heading and a caption; an empty text without charts.
pub(super) fn panels(title: &str, legend: &str, panels: &[(String, String)], reading: &str) -> String {
    if panels.is_empty() {
        return String::new();
    }
    let panel =
        |(title, svg): &(String, String)| format!("<div class=\"panel\"><h4>{}</h4>{svg}</div>\n", escaped(title));
    figure(title, &(legend.to_owned() + &beside(&panels.iter().map(panel).collect::<Vec<_>>())), reading)
}

/// Puts elements side by side.
pub(super) fn beside(things: &[String]) -> String {
    format!("<div class=\"panels\">\n{}</div>\n", things.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_markup_in_text() {
        assert_eq!(escaped("<a href=\"x\">&'\u{1}\n"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\u{fffd}\n");
    }
}
