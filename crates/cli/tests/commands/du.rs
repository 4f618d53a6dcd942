//! Tests of `du`: every byte of an image belongs to a row, and each option.

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::{Random, Sandbox, generate, share};
use serde_json::Value;

use crate::sandbox;

/// Returns content that does not compress.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..length).map(|_| random.below(256) as u8).collect()
}

/// Returns content that compresses well.
fn text(seed: u64, length: usize) -> Vec<u8> {
    let words = (seed..).map(|number| format!("{} ", number.wrapping_mul(2_654_435_761) % 4096));
    words.flat_map(String::into_bytes).take(length).collect()
}

/// A tree with equal files, files of several names, small and large files.
fn tree() -> Vec<Node> {
    vec![
        Node::dir(""),
        Node::dir("bin"),
        Node::file("bin/a.so.1.2", noise(1, 300_000)),
        Node::file("bin/b.so", noise(1, 300_000)),
        Node::file("bin/own", noise(2, 200_000)),
        Node::new("bin/hard", NodeKind::HardLink(b"bin/own".to_vec())),
        Node::dir("doc"),
        Node::file("doc/large.txt", text(3, 500_000)),
        Node::dir("doc/deep"),
        Node::file("doc/deep/small.TXT", text(9, 700)),
        Node::file("doc/deep/x", "x"),
        Node::new("link", NodeKind::Symlink(b"doc".to_vec())),
        Node::file("top", text(5, 3000)),
    ]
}

fn packed(sandbox: &Sandbox, nodes: &[Node], image: &str, options: &[&str]) {
    sandbox.write_tar("tree.tar", nodes);
    sandbox.good(&[&["pack", "-q", "-f", "tree.tar", image], options].concat());
}

fn json(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let ran = sandbox.good(&[&["du", "--json"], arguments].concat());
    serde_json::from_slice(&ran.stdout).unwrap()
}

fn rows(report: &Value) -> &Vec<Value> {
    report["rows"].as_array().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// Returns the row with a path.
#[track_caller]
fn row<'r>(report: &'r Value, path: &str) -> &'r Value {
    rows(report).iter().find(|row| row["path"] == path).unwrap_or_else(|| panic!("{path}: {report}"))
}

/// Checks that files, metadata and other bytes are all of the image.
#[track_caller]
fn check_sums(sandbox: &Sandbox, image: &str) {
    let size = sandbox.at(image).metadata().unwrap().len();
    for by in ["file", "directory", "extension", "kind"] {
        let report = json(sandbox, &["--by", by, image]);
        let sum: u64 = rows(&report).iter().map(|row| number(&row["stored_bytes"])).sum();
        assert_eq!((sum, number(&report["file_bytes"])), (size, size), "{image} by {by}");
        assert_eq!(number(&report["total"]["stored_bytes"]), size, "{image} by {by}");
        let own_and_shared = |row: &Value| number(&row["own_bytes"]) + number(&row["shared_bytes"]);
        assert!(rows(&report).iter().all(|row| number(&row["stored_bytes"]) == own_and_shared(row)), "{image} by {by}");
    }
}

#[test]
fn every_byte_of_random_images_belongs_to_a_row() {
    let sandbox = sandbox();
    let forms: [(&str, &[&str]); 12] = [
        ("x.sqfs", &["-c", "zstd", "-b", "4K"]),
        ("x.sqfs", &["-c", "gzip", "-b", "128K", "--no-fragments"]),
        ("x.sqfs", &["-c", "lz4", "--exportable"]),
        ("x.sqfs", &["-c", "none", "-b", "8K"]),
        ("x.sqfs", &["-c", "xz", "--no-dedup"]),
        ("x.erofs", &["-c", "none"]),
        ("x.erofs", &["-c", "zstd"]),
        ("x.erofs", &["-c", "lz4"]),
        ("x.erofs", &["-c", "gzip"]),
        ("x.erofs", &["-c", "lzma"]),
        ("x.erofs", &["-c", "zstd", "--compress-directories"]),
        ("x.erofs", &["-c", "lz4", "--compress-directories", "--kernel", "6.15"]),
    ];
    for seed in share(0..20, 4, "du") {
        let nodes = generate::small_tree(seed, 4096 << (seed % 3));
        sandbox.write_tar("tree.tar", &nodes);
        for (image, options) in forms {
            sandbox.good(&[&["pack", "-q", "-f", "tree.tar", image], options].concat());
            let size = sandbox.at(image).metadata().unwrap().len();
            let report = json(&sandbox, &["--by", "file", image]);
            let sum: u64 = rows(&report).iter().map(|row| number(&row["stored_bytes"])).sum();
            assert_eq!((sum, number(&report["file_bytes"])), (size, size), "{image} {options:?} {seed}");
        }
    }
}

#[test]
fn rows_of_all_kinds_add_up() {
    let sandbox = sandbox();
    for (image, options) in [
        ("x.sqfs", &["-c", "zstd"][..]),
        ("x.erofs", &["-c", "zstd"]),
        ("x.erofs", &["-c", "zstd", "--compress-directories"]),
    ] {
        packed(&sandbox, &tree(), image, options);
        check_sums(&sandbox, image);
    }
    let report = json(&sandbox, &["--by", "kind", "x.erofs"]);
    let directories = report["structures"].as_array().unwrap().iter().find(|part| part["name"] == "directories");
    assert!(directories.is_some_and(|part| number(&part["bytes"]) > 0), "{report}");
    // Bytes before and after the image.
    let image = sandbox.read("x.sqfs");
    sandbox.write("both", [&[7; 8192][..], &image, &[9; 5000]].concat());
    check_sums(&sandbox, "both");
    let report = json(&sandbox, &["--by", "kind", "both"]);
    let structures = report["structures"].as_array().unwrap();
    let bytes = |name: &str| structures.iter().find(|part| part["name"] == name).map(|part| number(&part["bytes"]));
    assert_eq!(bytes("before the image"), Some(8192));
    assert!(bytes("after the image").unwrap() >= 5000);
    assert!(bytes("inode table").unwrap() > 0 && bytes("directory table").unwrap() > 0);
}

#[test]
fn shares_and_duplicates() {
    let sandbox = sandbox();
    for (image, options) in [("x.sqfs", &["-c", "zstd"][..]), ("x.erofs", &["-c", "none"])] {
        packed(&sandbox, &tree(), image, options);
        let report = json(&sandbox, &["--by", "file", image]);
        let [one, other] = ["bin/a.so.1.2", "bin/b.so"].map(|path| row(&report, path).clone());
        for file in [&one, &other] {
            assert_eq!((number(&file["users"]), number(&file["size"])), (2, 300_000), "{image} {file}");
            assert!((140_000..155_000).contains(&number(&file["shared_bytes"])), "{image} {file}");
            assert!(number(&file["own_bytes"]) < 4096 && number(&file["saved_bytes"]) > 140_000, "{image} {file}");
        }
        let own = row(&report, "bin/hard");
        assert_eq!((number(&own["users"]), number(&own["shared_bytes"])), (1, 0), "{image}");
        assert!((190_000..205_000).contains(&number(&own["own_bytes"])), "{image} {own}");
        assert!(rows(&report).iter().all(|row| row["path"] != "bin/own"), "the second name of a file has no row");

        let groups = json(&sandbox, &["--duplicates", image]);
        if image == "x.erofs" {
            // The ends of the files are with their inodes, so that their contents are not stored once.
            assert_eq!(groups["groups"].as_array().unwrap().len(), 0, "{groups}");
            continue;
        }
        let group = &groups["groups"][0];
        let paths: Vec<&str> =
            group["entries"].as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap()).collect();
        assert_eq!(paths, ["bin/a.so.1.2", "bin/b.so"]);
        assert!(number(&group["saved_bytes"]) > 280_000, "{group}");
        assert_eq!(groups["groups"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn directories_to_a_depth_with_and_without_files() {
    let sandbox = sandbox();
    packed(&sandbox, &tree(), "x.sqfs", &["-c", "gzip"]);
    let paths = |arguments: &[&str]| -> Vec<String> {
        let report = json(&sandbox, &[arguments, &["x.sqfs"]].concat());
        let name = |row: &Value| {
            let name = ["path", "files_in", "structure"].into_iter().find_map(|key| row[key].as_str());
            name.unwrap().to_string()
        };
        rows(&report).iter().filter(|row| row["structure"].is_null()).map(name).collect()
    };
    assert_eq!(paths(&[]), ["bin", "doc", "."]);
    assert_eq!(paths(&["--depth", "2"]), ["bin", "doc", ".", "doc/deep"]);
    assert_eq!(paths(&["-a"]), ["bin", "doc", "top", "link"]);
    assert_eq!(paths(&["--depth", "0"]), ["."]);
    assert_eq!(paths(&["--sort", "name"]), ["bin", "doc", "."]);
    let below = json(&sandbox, &["x.sqfs", "/doc/", "doc/deep"]);
    assert!(rows(&below).iter().all(|row| row["structure"].is_null()), "metadata is not below a path");
    assert_eq!(row(&below, "doc/deep")["files"], 2);
    let all = json(&sandbox, &["x.sqfs"]);
    assert_eq!(below["total"]["stored_bytes"], row(&all, "doc")["stored_bytes"]);
}

#[test]
fn groups_sorts_and_limits_rows() {
    let sandbox = sandbox();
    packed(&sandbox, &tree(), "x.sqfs", &["-c", "gzip"]);
    let report = json(&sandbox, &["--by", "extension", "x.sqfs"]);
    let extensions: Vec<&str> = rows(&report).iter().filter_map(|row| row["extension"].as_str()).collect();
    assert_eq!(extensions, [".so", "", ".txt"]);
    let report = json(&sandbox, &["--by", "kind", "x.sqfs"]);
    let count = |kind: &str| rows(&report).iter().find(|row| row["kind"] == kind).map(|row| number(&row["files"]));
    let kinds = ["files", "directories", "symbolic links", "hard links"].map(count);
    assert_eq!(kinds, [Some(7), Some(4), Some(1), Some(1)]);
    let worst = json(&sandbox, &["--by", "file", "--sort", "ratio", "--top", "2", "x.sqfs"]);
    assert_eq!(worst["rows"][0]["path"], "bin/hard", "its content is stored for it alone, and does not compress");
    assert_eq!((rows(&worst).len(), number(&worst["others"]["rows"])), (2, 7), "{worst}");
    let sum = |value: &Value| number(&value["stored_bytes"]);
    let shown: u64 = rows(&worst).iter().map(sum).sum();
    assert_eq!(shown + sum(&worst["others"]), sum(&worst["total"]));
    let text = sandbox.good(&["du", "--by", "file", "-n", "1", "-b", "x.sqfs"]).text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[0].trim_start().starts_with("STORED") && lines[0].ends_with("USERS  NAME"), "{text}");
    assert!(lines[2].ends_with("  (8 other rows)") && lines[3].ends_with("  total"), "{text}");
}

#[test]
fn two_images_show_what_grew() {
    let sandbox = sandbox();
    packed(&sandbox, &tree(), "old.sqfs", &["-c", "zstd"]);
    let mut nodes = tree();
    nodes.retain(|node| node.path != b"doc/large.txt");
    nodes.push(Node::file("grown", noise(7, 90_000)));
    packed(&sandbox, &nodes, "new.sqfs", &["-c", "zstd"]);
    let size = |image: &str| sandbox.at(image).metadata().unwrap().len();
    let change = i128::from(size("new.sqfs")) - i128::from(size("old.sqfs"));
    for arguments in [&["old.sqfs", "new.sqfs"][..], &["--since", "old.sqfs", "new.sqfs"]] {
        let report = json(&sandbox, &[&["--by", "file"], arguments].concat());
        assert_eq!(i128::from(report["change"].as_i64().unwrap()), change);
        let changes = report["changes"].as_array().unwrap();
        let sum: i64 = changes.iter().map(|row| row["change"].as_i64().unwrap()).sum();
        assert_eq!(i128::from(sum), change, "{report}");
        let of = |path: &str| changes.iter().find(|row| row["path"] == path).unwrap();
        assert!((80_000..95_000).contains(&of("grown")["change"].as_i64().unwrap()));
        assert_eq!(
            (of("grown")["old_stored_bytes"].as_u64(), of("doc/large.txt")["new_stored_bytes"].as_u64()),
            (Some(0), Some(0))
        );
    }
    let text = sandbox.good(&["du", "old.sqfs", "new.sqfs", "--by", "file", "--top", "2"]).text();
    assert!(text.contains("  grown  (new)\n") && text.contains("  doc/large.txt  (gone)\n"), "{text}");
    assert!(text.trim_start().starts_with("CHANGE"), "{text}");
    // An entry of the image comes before a file of the same name.
    sandbox.write("doc", "not an image");
    assert!(sandbox.good(&["du", "old.sqfs", "doc"]).text().contains("doc/deep/"));
    let text = sandbox.good(&["du", "--since", "old.sqfs", "new.sqfs", "grown"]).text();
    assert!(text.contains("grown  (new)"), "{text}");
}

#[test]
fn tars_have_sizes_of_contents() {
    let sandbox = sandbox();
    sandbox.write_tar("tree.tar", &tree());
    sandbox.good(&["pack", "-q", "tree.tar", "tree.lrz"]);
    sandbox.good(&["compress", "-q", "tree.tar", "-o", "tree.tar.pln"]);
    for archive in ["tree.tar", "tree.lrz", "tree.tar.pln"] {
        let report = json(&sandbox, &["--by", "file", archive]);
        assert_eq!(
            (report["format"].as_str(), number(&report["total"]["size"])),
            (Some("tar"), 1_303_701),
            "{archive}"
        );
        assert!(report["total"]["stored_bytes"].is_null());
        let text = sandbox.good(&["du", archive]).text();
        let lines: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(lines, ["SIZE FILES NAME", "782K 3 bin/", "489K 3 doc/", "3.0K 1 (files in ./)", "1.3M 7 total"]);
    }
    let refused = sandbox.bad(2, &["du", "--duplicates", "tree.tar"]);
    assert!(refused.contains("--duplicates: works only with an image"), "{refused}");
}

#[test]
fn rejects_wrong_use() {
    let sandbox = sandbox();
    packed(&sandbox, &tree(), "x.sqfs", &[]);
    let missing = sandbox.bad(1, &["du", "x.sqfs", "nope"]);
    assert!(missing.contains("nope: there is no such entry (expected the path of an entry)"), "{missing}");
    let refused = sandbox.bad(2, &["du", "--by", "file", "--all", "x.sqfs"]);
    assert!(refused.contains("--all: works only with --by directory"), "{refused}");
    let refused = sandbox.bad(2, &["du", "--force", "x.sqfs"]);
    assert!(refused.contains("--force: has no effect without --html"), "{refused}");
    sandbox.write("page.html", "mine");
    let exists = sandbox.bad(1, &["du", "--html", "page.html", "x.sqfs"]);
    assert!(exists.contains("page.html: already exists"), "{exists}");
    sandbox.good(&["du", "-f", "--html", "page.html", "x.sqfs"]);
    assert!(sandbox.read_text("page.html").starts_with("<!DOCTYPE html>"));
}

#[test]
fn a_page_escapes_names_and_has_all_bytes() {
    let sandbox = sandbox();
    let mut nodes = tree();
    let bad = "</script><img src=x onerror=alert(1)>{{DATA}}";
    nodes.push(Node::dir(bad.replace('/', "_")));
    nodes.push(Node::file(format!("{}/<!--", bad.replace('/', "_")), noise(4, 5000)));
    packed(&sandbox, &nodes, "x.sqfs", &["-c", "zstd"]);
    sandbox.good(&["du", "--html", "x.html", "x.sqfs"]);
    let page = sandbox.read_text("x.html");
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    assert!(!data.contains('<'), "{data}");
    assert!(!page.contains("<img"), "no name is markup");
    for outside in ["http:", "https:", "src=\"", "@import", "url("] {
        assert!(!page.contains(outside), "the page is alone: {outside}");
    }
    let data: Value = serde_json::from_str(data).unwrap();
    let nodes = data["nodes"].as_array().unwrap();
    assert_eq!(number(&nodes[0][3]), sandbox.at("x.sqfs").metadata().unwrap().len());
    // Each directory has the bytes of its entries.
    for (index, node) in nodes.iter().enumerate() {
        let children = nodes.iter().skip(1).filter(|child| number(&child[0]) == index as u64);
        let children: Vec<u64> = children.map(|child| number(&child[3])).collect();
        assert!(children.is_empty() || children.iter().sum::<u64>() == number(&node[3]), "{node}");
    }
}

/// A script for the end of a page. It uses the page as a person does, and writes what it found into the page.
const VISIT: &str = r##"<pre id="found"></pre><script>
const visit = () => {
const area = document.getElementById("map").getBoundingClientRect();
const tiles = () => [...document.querySelectorAll("#map > button")];
const table = () => [...document.querySelectorAll("#rows > tr")].map((row) => row.querySelector("th").textContent);
const caption = () => document.getElementById("caption").textContent;
const key = (name) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
const luminance = (colour) => {
  const [red, green, blue] = colour.match(/[0-9.]+/g).map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const contrasts = () => [document.body, ...tiles()].map((item) => {
  const style = getComputedStyle(item);
  const [one, other] = [luminance(style.color), luminance(style.backgroundColor)];
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
});
const found = { first: caption(), rows: table(), labels: tiles().map((tile) => tile.getAttribute("aria-label")) };
const boxes = tiles().map((tile) => tile.getBoundingClientRect());
found.covered = boxes.reduce((sum, box) => sum + box.width * box.height, 0) / (area.width * area.height);
found.outside = boxes.filter((box) => box.right > area.right + 1 || box.bottom > area.bottom + 1).length;
tiles()[0].focus();
const reached = new Set([document.activeElement]);
for (let step = 0; step < 50; step += 1) { key(["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"][step % 4]); reached.add(document.activeElement); }
found.reached = reached.size;
tiles().find((tile) => tile.getAttribute("aria-label").startsWith("directory bin,")).click();
found.opened = caption();
found.inside = table();
key("Backspace");
found.back = caption();
const scheme = () => getComputedStyle(document.body).backgroundColor;
const before = scheme();
found.contrast = [Math.min(...contrasts())];
document.getElementById("theme").click();
found.contrast.push(Math.min(...contrasts()));
found.changes = scheme() !== before;
document.getElementById("found").textContent = JSON.stringify(found);
};
// The page draws its map again when the scroll bar has taken its place.
setTimeout(visit, 500);
</script></body>"##;

#[test]
#[ignore = "starts a browser, chromium: cargo test -p packline-cli --test commands du -- --ignored"]
fn a_browser_shows_the_page_and_its_keys_work() {
    let sandbox = sandbox();
    packed(&sandbox, &tree(), "x.sqfs", &["-c", "zstd"]);
    sandbox.good(&["du", "--html", "x.html", "x.sqfs"]);
    sandbox.write("visit.html", sandbox.read_text("x.html").replace("</body>", VISIT));
    let mut browser = std::process::Command::new("chromium");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,900"]);
    browser.arg(format!("--user-data-dir={}", sandbox.at("browser").display()));
    browser
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("file://{}", sandbox.at("visit.html").display()));
    let page = String::from_utf8(browser.output().unwrap().stdout).unwrap();
    let (_, rest) = page.split_once("<pre id=\"found\">").unwrap();
    let found: Value = serde_json::from_str(rest.split_once("</pre>").unwrap().0).unwrap();
    assert_eq!((&found["first"], &found["back"]), (&"Entries of x.sqfs".into(), &found["first"]));
    assert_eq!(found["opened"], "Entries of bin");
    assert!(found["rows"].as_array().unwrap().contains(&"bin/".into()), "{found}");
    assert!(found["inside"].as_array().unwrap().contains(&"b.so".into()), "{found}");
    assert!((0.98..1.02).contains(&found["covered"].as_f64().unwrap()), "{found}");
    assert_eq!((&found["outside"], &found["changes"]), (&0.into(), &true.into()));
    assert!(number(&found["reached"]) > 1, "arrow keys move: {found}");
    let labels = found["labels"].as_array().unwrap();
    assert!(labels.iter().all(|label| label.as_str().unwrap().contains(" of all")), "{found}");
    // The level AA of WCAG 2 in both themes.
    let contrasts = found["contrast"].as_array().unwrap();
    assert!(contrasts.iter().all(|contrast| contrast.as_f64().unwrap() >= 4.5), "{found}");
}

#[test]
fn info_and_list_show_stored_bytes() {
    let sandbox = sandbox();
    for (image, options) in [("x.sqfs", &["-c", "zstd"]), ("x.erofs", &["-c", "zstd"])] {
        packed(&sandbox, &tree(), image, options);
        let report = json(&sandbox, &["--by", "file", image]);
        let stored = |path: &str| number(&row(&report, path)["stored_bytes"]);
        let info = sandbox.good(&["info", "--json", "--top", "2", image]);
        let info: Value = serde_json::from_slice(&info.stdout).unwrap();
        let largest = info["largest_files"].as_array().unwrap();
        assert_eq!((largest.len(), largest[0]["path"].as_str()), (2, Some("bin/hard")));
        // Two files share an odd number of bytes.
        assert!(["bin/a.so.1.2", "bin/b.so"].contains(&largest[1]["path"].as_str().unwrap()));
        assert_eq!(number(&largest[0]["stored_bytes"]), stored("bin/hard"));
        let text = sandbox.good(&["info", "--top", "1", image]).text();
        assert!(text.ends_with(" bin/hard\n") && text.contains("Largest files"), "{text}");
        let listed = sandbox.good(&["list", "--json", "--stored", image]).text();
        let entries: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |path: &str| number(&entries.iter().find(|entry| entry["path"] == path).unwrap()["stored_bytes"]);
        assert_eq!((of("bin/own"), of("bin/hard")), (stored("bin/hard"), stored("bin/hard")), "two names of a file");
        let directories = json(&sandbox, &[image]);
        assert_eq!(of("doc"), number(&row(&directories, "doc")["stored_bytes"]));
        let long = sandbox.good(&["list", "-l", "--stored", image, "doc/large.txt"]).text();
        let words: Vec<&str> = long.split_whitespace().collect();
        assert_eq!(words[2..4], ["500000", stored("doc/large.txt").to_string().as_str()], "{long}");
    }
    let refused = sandbox.bad(2, &["list", "--stored", "x.sqfs"]);
    assert!(refused.contains("--stored: has no effect without --long or --json"), "{refused}");
    let refused = sandbox.bad(2, &["list", "-l", "--stored", "tree.tar"]);
    assert!(refused.contains("--stored: has no effect on a tar"), "{refused}");
    let refused = sandbox.bad(2, &["info", "--top", "3", "tree.tar"]);
    assert!(refused.contains("--top: has no effect on a tar"), "{refused}");
}
