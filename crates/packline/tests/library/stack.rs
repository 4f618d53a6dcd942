//! Layers through the library: sources of the caller, stacks in stacks, and invalid requests.

use std::fs;

use packline::requests::{ImageRequest, PackRequest, pack};
use packline::{Image, Observer, Output, Packer, Pass, Progress, Resources, Selection, Source, Unobserved};
use packline_archives::{ContentOrder, FileList, RestOrder};
use packline_tree::{DirectoryOptions, DirectorySource, ReadErrors};

fn directory() -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    for (path, content) in [("a/x", "1"), ("a/y", "2"), ("b/x", "3"), ("b/z", "4"), ("c/z", "5"), ("c/.wh.y", "")] {
        fs::create_dir_all(top.path().join(path).parent().unwrap()).unwrap();
        fs::write(top.path().join(path), content).unwrap();
    }
    top
}

fn contents(image: &std::path::Path) -> String {
    let image = Image::open(image).unwrap();
    let all = Selection::all();
    let entries = image.entries(&all);
    let paths =
        entries.map(|entry| String::from_utf8(entry.unwrap().path().to_vec()).unwrap()).filter(|path| !path.is_empty());
    let line = |path: String| {
        let mut content = Vec::new();
        image.read(&path, &mut content).unwrap();
        format!("{path}={} ", String::from_utf8(content).unwrap())
    };
    paths.map(line).collect()
}

#[test]
fn sources_of_the_caller_and_stacks_are_layers_too() {
    let top = directory();
    let own = |name: &str| {
        let source = DirectorySource::open(&top.path().join(name), DirectoryOptions::new(2)).unwrap();
        Source::entries(name, source)
    };
    let plain = |name: &str| Source::directory(top.path().join(name));
    let image = top.path().join("out.sqfs");
    for workers in [0, 2] {
        for source in [
            Source::stack([own("a"), plain("b"), own("c")]),
            Source::stack([Source::stack([plain("a"), own("b")]), plain("c")]),
            Source::stack([Source::stack([Source::stack([own("a"), own("b"), plain("c")])])]),
        ] {
            Packer::new(source).resources(Resources::new(workers)).replace(true).write_to(&image).unwrap();
            assert_eq!(contents(&image), "x=3 z=5 ");
        }
    }
}

#[test]
fn rejects_invalid_stacks() {
    let top = directory();
    let refused = |source: Source| {
        let target = Output::File { path: top.path().join("out.sqfs"), force: false };
        let options = ImageRequest::parse(None, None).unwrap();
        let error = pack(PackRequest::new(source, target, options), &mut Unobserved).unwrap_err().to_string();
        assert!(!top.path().join("out.sqfs").exists());
        error
    };
    assert_eq!(refused(Source::stack([])), "a stack without layers (expected at least one)");
    let mut options = DirectoryOptions::default();
    options.errors = ReadErrors::LeaveOut;
    let source = Source::Directory { path: top.path().join("a"), options };
    let message = refused(Source::stack([source]));
    assert!(
        message.ends_with("/a: continuing after errors in a layer (expected a directory that is packed alone)"),
        "{message}"
    );
    let many = (0..1_001).map(|_| Source::directory(top.path().join("a")));
    assert_eq!(refused(Source::stack(many)), "1001 layers (expected at most 1000)");
    let stream = Source::tar_reader("pipe", std::io::Cursor::new(vec![0; 1024]));
    let message = refused(Source::stack([stream]));
    assert!(
        message.starts_with("pipe: a layer that must first be stored in a temporary file (expected a directory"),
        "{message}"
    );
}

/// The passes that were reported.
#[derive(Default)]
struct Passes(Vec<Option<Pass>>);

impl Observer for Passes {
    fn advance(&mut self, progress: &Progress) {
        self.0.push(progress.pass);
    }
}

/// The reports, in their order.
#[derive(Default)]
struct Reports(Vec<String>);

impl Observer for Reports {
    fn advance(&mut self, progress: &Progress) {
        self.0.push(progress.pass.map_or("packing", |pass| pass.name).to_string());
    }

    fn warning(&mut self, message: &str) {
        self.0.push(message.to_string());
    }
}

#[test]
fn lines_of_an_order_that_name_nothing_are_reported_before_contents_are_compared() {
    let top = directory();
    let target = Output::File { path: top.path().join("out.sqfs"), force: true };
    let mut image = ImageRequest::parse(None, None).unwrap();
    let list = FileList::parse("list", b"none\nz\nnor/this\n").unwrap();
    image.entries.order = Some(ContentOrder::new(list, RestOrder::Similar));
    let request = PackRequest::new(Source::directory(top.path().join("b")), target, image);
    let mut reports = Reports::default();
    pack(request, &mut reports).unwrap();
    let expected = ["list: 2 lines do not name a file of the source, such as 'none' (line 1)", "comparing"];
    assert_eq!(reports.0[..2], expected, "{:?}", reports.0);
}

#[test]
fn comparing_contents_is_a_pass_of_its_own() {
    let top = directory();
    let passes = |rest| {
        let target = Output::File { path: top.path().join("out.sqfs"), force: true };
        let mut image = ImageRequest::parse(None, None).unwrap();
        image.entries.order = Some(ContentOrder::new(FileList::default(), rest));
        let request = PackRequest::new(Source::directory(top.path().join("b")), target, image);
        let mut passes = Passes::default();
        pack(request, &mut passes).unwrap();
        passes.0
    };
    assert_eq!(passes(RestOrder::Path), [None; 2]);
    let pass = |name, done| Some(Pass { name, part: 1, done, total: Some(2) });
    assert_eq!(passes(RestOrder::Similar), [pass("comparing", 2), pass("packing", 1), pass("packing", 2)]);
}
