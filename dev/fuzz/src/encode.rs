//! Uses any bytes as a recipe of a block for one of our encoders: the decoder of the library or ours returns the block, and a used encoder
//! writes the same bytes as a new one.

use packline_codec::{Outcome, Spec};

/// Block size of the encoders.
const BLOCK_SIZE: usize = 256 << 10;

const SPECS: [&str; 18] = [
    "gzip:level=12",
    "lz4:hc",
    "zstd:level=13",
    "zstd:level=14",
    "zstd",
    "zstd:level=16",
    "zstd:level=19",
    "zstd:level=22",
    "lzo",
    "lzo:level=9",
    "lzo:algorithm=lzo1x_1",
    "xz:level=4",
    "xz:lc=2,lp=2,pb=4,dictsize=8K",
    "xz:extreme,x86,ia64,armthumb",
    "xz:level=max,x86",
    "lzma:level=5",
    "lzma:level=max",
    "lzma:level=9,lc=0,lp=3,pb=0",
];

/// Four bytes each: literals that repeat, or a copy of earlier bytes.
fn block(recipe: &[u8]) -> Vec<u8> {
    let mut made = Vec::new();
    for step in recipe.chunks_exact(4) {
        let [kind, one, two, three] = [step[0], step[1], step[2], step[3]].map(usize::from);
        let length = match kind % 4 {
            0 => 1 + two % 8,
            1 => 3 + two % 32,
            2 => 1 + two,
            _ => two << 8 | one,
        };
        let distance = 1 + (one | three << 8 | (kind >> 2) << 16);
        for index in 0..length.min(BLOCK_SIZE - made.len()) {
            let copied = made.len().checked_sub(distance).map(|from| made[from]);
            made.push(copied.filter(|_| kind % 4 > 0).unwrap_or((one + index * three) as u8));
        }
    }
    made
}

pub fn encode(bytes: &[u8]) {
    let Some((&choice, recipe)) = bytes.split_first() else { return };
    let spec = Spec::parse(SPECS[usize::from(choice) % SPECS.len()]).expect("it is valid");
    let block = block(recipe);
    let mut used = spec.encoder(BLOCK_SIZE).expect("a size in range");
    let mut first = vec![0; block.len()];
    let mut second = vec![0; block.len()];
    let outcome = used.compress(&block, &mut first).expect("an encoder takes any block");
    used.compress(&block[block.len() / 2..], &mut second).expect("an encoder takes any block");
    for encoder in [&mut used, &mut spec.encoder(BLOCK_SIZE).expect("a size in range")] {
        assert_eq!(encoder.compress(&block, &mut second), Ok(outcome));
        if let Outcome::Smaller(size) = outcome {
            assert!(first[..size] == second[..size]);
        }
    }
    if let Outcome::Smaller(size) = outcome {
        let mut decoder = spec.decoder(BLOCK_SIZE, usize::MAX).expect("memory suffices");
        assert_eq!(decoder.decompress(&first[..size], &mut second), Ok(block.len()));
        assert!(second == block);
    }
}
