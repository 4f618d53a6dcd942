//! The known models predict the same as the general model with their headers.

use super::header::Header;
use super::model::Predictor;
use super::model::general::General;
use super::model::known::{HEADERS, Max, Mid, Min};

/// Words, numbers, runs, noise and a far repeat: input for each component.
fn bytes() -> Vec<u8> {
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let mut bytes = Vec::new();
    for at in 0..120u32 {
        bytes.extend_from_slice(format!("Line {at}: The Quick brown fox {};\n", at * at % 97).as_bytes());
    }
    bytes.extend((0..600).map(|_| noise()));
    bytes.extend([0; 700]);
    bytes.extend((0..2000).map(|at| if at % 16 == 0 { (at / 16) as u8 } else { noise() & 3 }));
    bytes.extend_from_within(..1500);
    bytes
}

fn agree(mut known: impl Predictor, header: &[u8]) {
    let mut general = General::new(&Header::parse(header).unwrap(), 0);
    for (place, &byte) in bytes().iter().enumerate() {
        for at in (0..8).rev() {
            assert_eq!(known.predict(), general.predict(), "byte {place}, bit {at}");
            let bit = u32::from(byte) >> at & 1;
            known.update(bit);
            general.update(bit);
        }
        known.finish(byte).unwrap();
        general.finish(byte).unwrap();
    }
}

#[test]
fn min_equals_the_general_model() {
    agree(Min::new(), HEADERS[0]);
}

#[test]
fn mid_equals_the_general_model() {
    agree(Mid::new(), HEADERS[1]);
}

#[test]
fn max_equals_the_general_model() {
    agree(Max::new(), HEADERS[2]);
}
