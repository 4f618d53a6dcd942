//! Contents of an image, read at offsets by 1 to 8 threads with one cache: small files in a random order, and a large file at random offsets.

use std::hint::black_box;
use std::io::Cursor;
use std::thread;

use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, measurement::WallTime};
use packline::{Image, ImageFile, Input, Packer, Resources, Tree};
use packline_testkit::Random;

const FILES: u64 = 2000;
const LARGE: u64 = 64 << 20;
/// Reads of all threads together.
const READS: u64 = 1024;
const BYTES: usize = 16 << 10;

/// `random/small/THREADS` and `random/large/THREADS`.
pub fn bench(criterion: &mut Criterion) {
    let image = image();
    let mut group = criterion.benchmark_group("random");
    let small: Vec<ImageFile> = (0..FILES).map(|number| open(&image, &format!("small/{number}"))).collect();
    threads(&mut group, "small", &|random| {
        let file = &small[random.below(FILES) as usize];
        (file, 0)
    });
    let large = open(&image, "large");
    threads(&mut group, "large", &|random| (&large, random.below(LARGE)));
}

/// Prose in small files and a large file, in blocks of 128 KiB.
fn image() -> Image {
    let mut random = Random::new(6);
    let mut tree = Tree::new();
    for number in 0..FILES {
        tree.file(format!("small/{number}"), random.prose(4000)).expect("a path of its own");
    }
    tree.file("large", random.prose(LARGE as usize)).expect("a path of its own");
    let mut memory = Cursor::new(Vec::new());
    let packer = Packer::new(tree).codec("zstd:level=3").resources(Resources::default());
    packer.write_into(&mut memory).expect("memory takes every write");
    Image::from_input(Input::bytes("memory", memory.into_inner())).expect("a sound image")
}

fn open(image: &Image, path: &str) -> ImageFile {
    image.open_file(path).expect("a file of the image")
}

/// Measures reads, whose file and offset `choose` draws.
fn threads<'f>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    choose: &(dyn Fn(&mut Random) -> (&'f ImageFile, u64) + Sync),
) {
    group.throughput(Throughput::Elements(READS));
    for threads in [1, 2, 4, 8] {
        let read = |thread: u64| {
            let mut random = Random::new(thread);
            let mut buffer = vec![0; BYTES];
            for _ in 0..READS / threads {
                let (file, offset) = choose(&mut random);
                black_box(file.read_at(offset, &mut buffer).expect("a sound image"));
            }
        };
        group.bench_function(BenchmarkId::new(name, threads), |bencher| {
            bencher.iter(|| {
                thread::scope(|scope| {
                    for thread in 0..threads {
                        thread::Builder::new().spawn_scoped(scope, move || read(thread)).expect("threads start");
                    }
                });
            });
        });
    }
}
