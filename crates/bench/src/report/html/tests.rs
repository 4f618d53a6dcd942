//! Tests of the complete page: its content, that it loads nothing, and that all elements are inside their drawings.

use proptest::prelude::*;

use super::html;
use super::svg::text_width;
use crate::report::tests::fixture::{any_report, degenerate, realistic};
use crate::report::{Report, Tails};

fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let start = element.find(&format!(" {name}=\""))? + name.len() + 3;
    element[start..].split('"').next()
}

fn number(element: &str, name: &str) -> f64 {
    attribute(element, name).map_or(0.0, |value| value.parse().unwrap())
}

/// The corners of the area that an element covers.
fn corners(element: &str, text: &str) -> Vec<(f64, f64)> {
    let at = |x: &str, y: &str| (number(element, x), number(element, y));
    match element.split([' ', '>']).next().unwrap() {
        "line" => vec![at("x1", "y1"), at("x2", "y2")],
        "circle" => {
            let ((x, y), r) = (at("cx", "cy"), number(element, "r"));
            vec![(x - r, y - r), (x + r, y + r)]
        }
        "rect" => {
            let ((x, y), (width, height)) = (at("x", "y"), at("width", "height"));
            vec![(x, y), (x + width, y + height)]
        }
        "polyline" | "polygon" => {
            let point = |point: &str| point.split_once(',').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()));
            attribute(element, "points").unwrap().split(' ').filter_map(point).collect()
        }
        "text" => {
            let ((x, y), width) = (at("x", "y"), text_width(text));
            let left = match attribute(element, "text-anchor") {
                Some("middle") => x - width / 2.0,
                Some(_) => x - width,
                None => x,
            };
            vec![(left, y - 9.0), (left + width, y)]
        }
        _ => Vec::new(),
    }
}

/// Returns the elements outside of their drawings.
fn outside(page: &str) -> Vec<String> {
    let plain = |text: &str| {
        text.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&amp;", "&")
    };
    let mut found = Vec::new();
    for drawing in page.split("<svg ").skip(1) {
        let drawing = drawing.split("</svg>").next().unwrap();
        let size: Vec<f64> =
            attribute(&format!(" {drawing}"), "viewBox").unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
        for element in drawing.split('<').skip(1) {
            let text = element.split_once('>').map_or("", |(_, text)| text);
            let inside = |(x, y): &(f64, f64)| (-0.5..=size[2] + 0.5).contains(x) && (-0.5..=size[3] + 0.5).contains(y);
            if !corners(element, &plain(text)).iter().all(inside) {
                found.push(element.to_string());
            }
        }
    }
    found
}

/// Returns the tags that are not closed, or not opened.
fn unbalanced(page: &str) -> Option<String> {
    let start = page.find("<body").unwrap();
    let body = page[start..].split("<script>").next().unwrap();
    let mut open: Vec<&str> = Vec::new();
    for tag in body.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap();
        let name = tag.trim_start_matches('/').split(' ').next().unwrap();
        match tag {
            _ if tag.ends_with('/') => {}
            _ if !tag.starts_with('/') => open.push(name),
            _ if open.pop() == Some(name) => {}
            _ => return Some(tag.into()),
        }
    }
    (open != ["body"]).then(|| open.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn nothing_drawn_leaves_its_drawing_and_every_tag_is_closed(report in any_report()) {
        let page = html(&report);
        prop_assert_eq!(outside(&page), Vec::<String>::new());
        prop_assert_eq!(unbalanced(&page), None);
    }
}

#[test]
fn realistic_and_odd_reports_stay_inside() {
    for report in [realistic(&[1, 2]), realistic(&[1, 2, 4, 8, 16, 64]), Report::default(), degenerate()] {
        let page = html(&report);
        assert_eq!((outside(&page), unbalanced(&page)), (vec![], None));
    }
}

#[test]
fn page_loads_nothing() {
    let page = html(&realistic(&[1, 2]));
    for reference in ["http:", "https:", " src=", "@import", "url(", "<link", "<img"] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("data-theme=dark"));
}

#[test]
fn draws_the_charts_that_the_report_has_figures_for() {
    let page = html(&realistic(&[1, 2]));
    for title in ["Size against speed", "Wall time by jobs", "Speed-up by jobs", "Efficiency by jobs"] {
        assert!(page.contains(&format!("<h3>{title}</h3>")), "{title}");
    }
    for title in
        ["packline compared with mksquashfs", "packline compared with tar2sqfs", "Speed on one core, blocks of 128 KiB"]
    {
        assert!(page.contains(&format!("<h3>{title}</h3>")), "{title}");
    }
    let one_job = html(&realistic(&[2]));
    assert!(!one_job.contains("by jobs</h3>") && one_job.contains("Size against speed"));
    let captions = page.matches("<figcaption>").count();
    assert_eq!(captions, page.matches("<figure>").count());
}

#[test]
fn draws_one_chart_for_few_series_and_one_for_each_codec_for_many() {
    let wall = |report: &Report| {
        let page = html(report);
        let figure =
            page.split("<h3>Wall time by jobs</h3>").nth(1).unwrap().split("</figure>").next().unwrap().to_string();
        figure.matches("<svg class=\"chart\"").count()
    };
    let mut report = realistic(&[1, 2]);
    assert_eq!(wall(&report), 7);
    report.measured.retain(|measured| {
        let case = &measured.case;
        case.program == "packline" && case.tails == Tails::Fragments && case.codec != "none"
    });
    assert_eq!(wall(&report), 1);
}

#[test]
fn codec_with_one_number_of_jobs_has_no_chart_by_jobs() {
    let mut report = realistic(&[1, 2]);
    let speedup = format!("Speed-up by jobs, {}", report.measured[0].case.codec);
    assert!(html(&report).contains(&speedup));
    let codec = report.measured[0].case.codec.clone();
    report.measured.retain(|measured| measured.case.codec != codec || measured.case.jobs == 2);
    assert!(!html(&report).contains(&speedup));
}

/// The colours of an element's marks, without the colour of words.
fn colours(part: &str) -> Vec<&str> {
    let mut found = vec!["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
    found.retain(|colour| part.contains(&format!(" {colour}\"")) || part.contains(&format!(" {colour} ")));
    found
}

#[test]
fn tile_names_its_program() {
    let mut report = realistic(&[1, 2]);
    for one in report.measured.iter_mut().filter(|one| one.case.program == "mksquashfs" && one.case.codec == "lz4") {
        one.runs.iter_mut().for_each(|run| run.wall /= 100.0);
    }
    let page = html(&report);
    assert!(page.contains("<b>Fastest</b><strong>mksquashfs · lz4</strong>"), "{page}");
    assert!(page.contains("<b>Smallest</b><strong>packline · xz</strong>"), "{page}");
}

#[test]
fn each_program_has_its_own_colour() {
    let mut report = realistic(&[1, 2]);
    // The series of a second section with few series have the colours of their programs too.
    let few = report.measured.iter().filter(|one| one.case.codec == "lz4" && one.case.program != "packline");
    let few: Vec<_> = few.cloned().collect();
    report.measured.extend(few.into_iter().map(|mut one| {
        one.case.block_size = 1 << 20;
        one
    }));
    let page = html(&report);
    let sections: Vec<&str> = page.split("<section ").skip(1).collect();
    assert_eq!((colours(sections[0]), colours(sections[1])), (vec!["c0", "c1", "c2"], vec!["c1", "c2"]));
    for part in page
        .split("<figure>")
        .filter(|part| part.starts_with("<h3>packline compared with") || part.contains("<h3>Speed on one core"))
    {
        assert_eq!(colours(part), Vec::<&str>::new(), "{part}");
    }
    assert!(!page.contains("a { color: var(--c"));
}

#[test]
fn failures_are_at_the_top() {
    let report = Report { incomplete: Some("<i>".into()), failures: vec!["tar2sqfs lied".into()], ..realistic(&[1]) };
    let page = html(&report);
    let [alarm, verdict] = ["&lt;i&gt;", "<ul class=\"verdict\">"].map(|what| page.find(what).unwrap());
    assert!(alarm < verdict && page.contains("<strong>Failed</strong>: tar2sqfs lied"), "{page}");
}
