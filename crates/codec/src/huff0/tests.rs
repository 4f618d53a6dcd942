//! Tests of what is not to be seen from outside.

use super::*;

fn sample(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at * at / 7 % 61) as u8 & (at % 255) as u8).collect()
}

#[test]
fn blocks_that_say_what_they_are_come_back() {
    for kernel in Kernel::all() {
        for size in [100, 1023, 1024, 5000, 131_072, 131_073, 300_000] {
            let src = sample(size);
            let mut dst = vec![0; size];
            let outcome = Huff0Encoder { kernel }.compress(&src, &mut dst).unwrap();
            let Outcome::Smaller(packed) = outcome else { panic!("{size}: {outcome:?}") };
            let mut back = vec![0; size];
            let mut decoder = Huff0Decoder { kernel, tables: Box::new(Tables::new()) };
            assert_eq!(decoder.decompress(&dst[..packed], &mut back), Ok(size));
            assert!(back == src);
        }
    }
}
