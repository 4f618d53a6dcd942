//! Zeros for holes and padding.

/// `count` zeros, in pieces of up to 64 KiB.
pub fn zeros(count: u64) -> impl Iterator<Item = &'static [u8]> {
    static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
    let step = ZEROS.len() as u64;
    (0..count.div_ceil(step)).map(move |number| &ZEROS[..(count - number * step).min(step) as usize])
}

#[cfg(test)]
mod tests {
    use super::zeros;

    #[test]
    fn pieces_have_the_requested_length_together() {
        for (count, pieces) in [(0, 0), (1, 1), (65_536, 1), (65_537, 2), (1 << 20, 16)] {
            let lengths: Vec<u64> = zeros(count).map(|piece| piece.len() as u64).collect();
            assert_eq!((lengths.len(), lengths.iter().sum()), (pieces, count));
            assert!(zeros(count).flatten().all(|&byte| byte == 0));
        }
    }
}
