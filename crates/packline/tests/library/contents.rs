//! Files of an image, read by many threads; entries and directories.

use packline::{Container, Image, Input, Kind, Packer, Tree};
use packline_testkit::Random;
use std::io::Cursor;

fn contents() -> Vec<(String, Vec<u8>)> {
    let mut random = Random::new(8);
    let mut holes = random.prose(900_000);
    holes[100_000..600_000].fill(0);
    let mut all = vec![("holes".to_string(), holes), ("empty".to_string(), Vec::new())];
    all.extend((0..20).map(|number| (format!("small/{number:02}"), random.prose(3000))));
    all.extend((0..3).map(|number| (format!("large/{number}"), random.prose(700_001))));
    all
}

fn image(container: Container) -> Image {
    let mut tree = Tree::new();
    for (path, content) in contents() {
        tree.file(path, content).unwrap();
    }
    let mut memory = Cursor::new(Vec::new());
    Packer::new(tree).container(container).block_size(64 << 10).write_into(&mut memory).unwrap();
    Image::from_input(Input::bytes("memory", memory.into_inner())).unwrap()
}

#[test]
fn many_threads_read_the_same_files_at_any_offset() {
    for container in [Container::SquashFs, Container::Erofs] {
        for cache in [0, 1 << 20, 32 << 20] {
            let image = image(container).cache(cache);
            let files: Vec<_> =
                contents().into_iter().map(|(path, content)| (image.open_file(path).unwrap(), content)).collect();
            std::thread::scope(|scope| {
                for thread in 0..8 {
                    let files = &files;
                    let read = move || {
                        let mut random = Random::new(thread);
                        let mut buffer = vec![0; 200_000];
                        for _ in 0..100 {
                            let (file, content) = &files[random.below(files.len() as u64) as usize];
                            let offset = random.below(content.len() as u64 + 10);
                            let wanted = random.below(200_000) as usize;
                            let count = file.read_at(offset, &mut buffer[..wanted]).unwrap();
                            let expected = content.get(offset as usize..).unwrap_or_default();
                            assert!(buffer[..count] == expected[..expected.len().min(wanted)]);
                        }
                    };
                    std::thread::Builder::new().spawn_scoped(scope, read).unwrap();
                }
            });
            let (file, content) = &files[0];
            assert_eq!((file.size(), file.read_at(u64::MAX, &mut [0; 9]).unwrap()), (content.len() as u64, 0));
        }
    }
}

#[test]
fn directories_are_listed_with_paths_and_attributes() {
    let image = image(Container::SquashFs);
    let names = |path: &str| -> Vec<String> {
        let entries = image.read_dir(path).unwrap();
        entries.map(|entry| String::from_utf8(entry.unwrap().name().to_vec()).unwrap()).collect()
    };
    assert_eq!(names(""), ["empty", "holes", "large", "small"]);
    assert_eq!(names("/large/"), ["0", "1", "2"]);
    let entry = image.read_dir("large").unwrap().next().unwrap().unwrap();
    assert_eq!((entry.path(), entry.kind(), entry.size()), (&b"large/0"[..], Kind::File { size: 700_001 }, 700_001));
    assert!(entry.is_file() && !entry.is_dir() && entry.link_target().is_none() && entry.links() == 1);
    assert!(format!("{entry:?}").contains("large/0"));
    assert_eq!((image.codec(), image.block_size()), ("zstd", 64 << 10));
}
