//! Content-defined chunks as casync and desync cut them, by the definition in casync's `src/cachunker.c`. A chunk ends where a rolling hash
//! of 48 bytes is one less than a multiple of a divisor.

/// Minimum, average and maximum size of a chunk in bytes: the defaults of both programs.
pub const CHUNK_BYTES: [usize; 3] = [16 << 10, 64 << 10, 256 << 10];
/// Number of bytes in the window of the hash.
const WINDOW: usize = 48;

/// The ends of all chunks.
pub fn chunk_ends(bytes: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        start += first_chunk(&bytes[start..]);
        ends.push(start);
    }
    ends
}

/// The chunks themselves.
pub fn chunks(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    chunk_ends(bytes).into_iter().map(move |end| &bytes[std::mem::replace(&mut start, end)..end])
}

/// Length of the first chunk.
fn first_chunk(bytes: &[u8]) -> usize {
    let [least, average, most] = CHUNK_BYTES;
    let bytes = &bytes[..bytes.len().min(most)];
    if bytes.len() <= least {
        return bytes.len();
    }
    let divisor = divisor(average);
    let mut hash = bytes[least - WINDOW..least].iter().fold(0u32, |hash, byte| hash.rotate_left(1) ^ of(*byte));
    for end in least..bytes.len() {
        hash = hash.rotate_left(1) ^ of(bytes[end - WINDOW]).rotate_left(WINDOW as u32) ^ of(bytes[end]);
        if hash % divisor == divisor - 1 {
            return end + 1;
        }
    }
    bytes.len()
}

/// The divisor for an average size; casync's authors fitted it to measurements.
fn divisor(average: usize) -> u32 {
    let average = average as f64;
    (average / (-1.428_888_52e-7 * average + 1.332_375_15)) as u32
}

fn of(byte: u8) -> u32 {
    HASHES[usize::from(byte)]
}

/// A random number for each byte.
#[rustfmt::skip]
const HASHES: [u32; 256] = [
    0x458b_e752, 0xc107_48cc, 0xfbbc_dbb8, 0x6ded_5b68, 0xb10a_82b5, 0x20d7_5648, 0xdfc5_665f, 0xa842_8801,
    0x7ebf_5191, 0x8411_35c7, 0x65cc_53b3, 0x280a_597c, 0x16f6_0255, 0xc78c_bc3e, 0x2944_15f5, 0xb938_d494,
    0xec85_c4e6, 0xb7d3_3edc, 0xe549_b544, 0xfded_a5aa, 0x882b_f287, 0x3116_737c, 0x0556_9956, 0xe8cc_1f68,
    0x0806_ac5e, 0x22a1_4443, 0x1529_7e10, 0x50d0_90e7, 0x4ba6_0f6f, 0xefd9_f1a7, 0x5c5c_885c, 0x8248_2f93,
    0x9bfd_7c64, 0x0b3e_7276, 0xf268_8e77, 0x8fad_8abc, 0xb050_9568, 0xf1ad_a29f, 0xa53e_fdfe, 0xcb2b_1d00,
    0xf2a9_e986, 0x6463_432b, 0x9509_4051, 0x5a22_3ad2, 0x9be8_401b, 0x61e5_79cb, 0x1a55_6a14, 0x5840_fdc2,
    0x9261_ddf6, 0xcde0_02bb, 0x5243_2bb0, 0xbf17_373e, 0x7b7c_222f, 0x2955_ed16, 0x9f10_ca59, 0xe840_c4c9,
    0xccab_d806, 0x1454_3f34, 0x1462_417a, 0x0d4a_1f9c, 0x087e_d925, 0xd7f8_f24c, 0x7338_c425, 0xcf86_c8f5,
    0xb191_65cd, 0x9891_c393, 0x3253_84ac, 0x0308_459d, 0x8614_1d7e, 0xc922_116a, 0xe2ff_a6b6, 0x53f5_2aed,
    0x2cd8_6197, 0xf5b9_f498, 0xbf31_9c8f, 0xe041_1fae, 0x977e_b18c, 0xd877_0976, 0x9833_466a, 0xc674_df7f,
    0x8c29_7d45, 0x8ca4_8d26, 0xc49e_d8e2, 0x7344_f874, 0x556f_79c7, 0x6b25_eaed, 0xa03e_2b42, 0xf68f_66a4,
    0x8e8b_09a2, 0xf2e0_e62a, 0x0d3a_9806, 0x9729_e493, 0x8c72_b0fc, 0x160b_94f6, 0x450e_4d3d, 0x7a32_0e85,
    0xbef8_f0e1, 0x21d7_3653, 0x4e3d_977a, 0x1e7b_3929, 0x1cc6_c719, 0xbe47_8d53, 0x8d75_2809, 0xe6d8_c2c6,
    0x275f_0892, 0xc8ac_c273, 0x4cc2_1580, 0xecc4_a617, 0xf5f7_be70, 0xe795_248a, 0x375a_2fe9, 0x4255_70b6,
    0x8898_dcf8, 0xdc2d_97c4, 0x0106_114b, 0x364d_c22f, 0x1e0c_ad1f, 0xbe63_803c, 0x5f69_fac2, 0x4d5a_fa6f,
    0x1bc0_dfb5, 0xfb27_3589, 0x0ea4_7f7b, 0x3c1c_2b50, 0x21b2_a932, 0x6b12_23fd, 0x2fe7_06a8, 0xf9bd_6ce2,
    0xa268_e64e, 0xe987_f486, 0x3eac_f563, 0x1ca2_018c, 0x65e1_8228, 0x2207_360a, 0x57cf_1715, 0x34c3_7d2b,
    0x1f8f_3cde, 0x93b6_57cf, 0x31a0_19fd, 0xe69e_b729, 0x8bca_7b9b, 0x4c9d_5bed, 0x277e_beaf, 0xe0d8_f8ae,
    0xd150_821c, 0x3138_1871, 0xafc3_f1b0, 0x927d_b328, 0xe95e_ffac, 0x305a_47bd, 0x426b_a35b, 0x1233_af3f,
    0x686a_5b83, 0x50e0_72e5, 0xd9d3_bb2a, 0x8bef_c475, 0x487f_0de6, 0xc88d_ff89, 0xbd66_4d5e, 0x971b_5d18,
    0x63b1_4847, 0xd7d3_c1ce, 0x7f58_3cf3, 0x72cb_cb09, 0xc0d0_a81c, 0x7fa3_429b, 0xe915_8a1b, 0x225e_a19a,
    0xd8ca_9ea3, 0xc763_b282, 0xbb0c_6341, 0x020b_8293, 0xd4cd_299d, 0x58cf_a7f8, 0x91b4_ee53, 0x37e4_d140,
    0x95ec_764c, 0x30f7_6b06, 0x5ee6_8d24, 0x679c_8661, 0xa419_79c2, 0xf2b6_1284, 0x4fac_1475, 0x0adb_49f9,
    0x1972_7a23, 0x15a7_e374, 0xc43a_18d5, 0x3fb1_aa73, 0x342f_c615, 0x924c_0793, 0xbee2_d7f0, 0x8a27_9de9,
    0x4aa2_d70c, 0xe24d_d37f, 0xbe86_2c0b, 0x177c_22c2, 0x5388_e5ee, 0xcd8a_7510, 0xf901_b4fd, 0xdbc1_3dbc,
    0x6c0b_ae5b, 0x64ef_e8c7, 0x48b0_2079, 0x8033_1a49, 0xca3d_8ae6, 0xf354_6190, 0xfed7_108b, 0xc49b_941b,
    0x32ba_f4a9, 0xeb83_3a4a, 0x88a3_f1a5, 0x3a91_ce0a, 0x3cc2_7da1, 0x7112_e684, 0x4a30_96b1, 0x3794_574c,
    0xa3c8_b6f3, 0x1d21_3941, 0x6e0a_2e00, 0x2334_79f1, 0x0f4c_d82f, 0x6093_edd2, 0x5d7d_209e, 0x464f_e319,
    0xd4dc_ac9e, 0x0db8_45cb, 0xfb5e_4bc3, 0xe025_6ce1, 0x09fb_4ed1, 0x0914_be1e, 0xa5bd_b2c3, 0xc6eb_57bb,
    0x3032_0350, 0x3f39_7e91, 0xa677_91bc, 0x86bc_0e2c, 0xefa0_a7e2, 0xe9ff_7543, 0xe733_612c, 0xd185_897b,
    0x329e_5388, 0x91dd_236b, 0x2ecb_0d93, 0xf4d8_2a3d, 0x35b5_c03f, 0xe4e6_06f0, 0x05b2_1843, 0x37b4_5964,
    0x5eff_22f4, 0x6027_f4cc, 0x7717_8b3c, 0xae50_7131, 0x7bf7_cabc, 0xf9c1_8d66, 0x593a_de65, 0xd95d_df11,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn chunks_have_the_sizes_of_casync() {
        let bytes = Random::new(1).noise(20 << 20);
        let lengths: Vec<usize> = chunks(&bytes).map(<[u8]>::len).collect();
        assert!(lengths[..lengths.len() - 1].iter().all(|length| (CHUNK_BYTES[0]..=CHUNK_BYTES[2]).contains(length)));
        let average = bytes.len() / lengths.len();
        assert!((56 << 10..72 << 10).contains(&average), "{average}");
        assert_eq!(divisor(CHUNK_BYTES[1]), 49_535);
    }

    #[test]
    fn chunks_are_the_same_again_after_an_insertion() {
        let old = Random::new(2).noise(4 << 20);
        let new = [&old[..100_000], b"inserted", &old[100_000..]].concat();
        let (old, new): (Vec<&[u8]>, Vec<&[u8]>) = (chunks(&old).collect(), chunks(&new).collect());
        let missing = new.iter().filter(|chunk| !old.contains(chunk)).count();
        assert!((1..=3).contains(&missing), "{missing}");
    }

    #[test]
    fn zeros_have_no_ends_of_their_own() {
        assert_eq!(chunk_ends(&[0; 600_000]), [262_144, 524_288, 600_000]);
        assert_eq!(chunk_ends(&[]), []);
    }
}
