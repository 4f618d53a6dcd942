//! Generates stream 0: the opcodes for the matches and literals.

use packline_longrange::Match;
use packline_runtime::TaskError;

use crate::Error;
use crate::format::{LONGEST, Opcode, OpcodeForm};
use crate::spool::Spool;

/// Bytes collected before they are appended to the spool.
const PIECE: usize = 64 << 10;

/// Converts matches to opcodes.
pub(super) struct Recorder<'a> {
    form: OpcodeForm,
    out: &'a mut Spool,
    buffer: Vec<u8>,
    /// Bytes of the chunk covered so far.
    position: u64,
    counts: Counts,
}

/// Counts of the matches and literals of a chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) matches: u64,
    pub(super) match_bytes: u64,
    pub(super) literals: u64,
    pub(super) literal_bytes: u64,
}

impl<'a> Recorder<'a> {
    /// Records opcodes in `out`, which must be empty.
    pub(super) fn new(form: OpcodeForm, out: &'a mut Spool) -> Recorder<'a> {
        Recorder { form, out, buffer: Vec::with_capacity(2 * PIECE), position: 0, counts: Counts::default() }
    }

    /// Adds the next match. It must not begin before the end of the previous match.
    pub(super) fn take(&mut self, found: Match) -> Result<(), Error> {
        if found.at < self.position || found.distance == 0 || found.distance > found.at {
            return Err(Error::internal(format!("{found:?} at byte {} of a chunk", self.position)));
        }
        self.literal(found.at - self.position)?;
        self.counts.matches += 1;
        self.counts.match_bytes += found.length;
        self.run(found.length, |length| Opcode::Match { length, distance: found.distance })?;
        self.position = found.end();
        Ok(())
    }

    fn literal(&mut self, length: u64) -> Result<(), Error> {
        self.counts.literals += u64::from(length > 0);
        self.counts.literal_bytes += length;
        self.run(length, |length| Opcode::Literal { length })
    }

    /// Writes one opcode, or several if the run is longer than an opcode's limit.
    fn run(&mut self, mut left: u64, opcode: impl Fn(u64) -> Opcode) -> Result<(), Error> {
        while left > 0 {
            let now = left.min(LONGEST);
            self.form.encode(opcode(now), &mut self.buffer);
            left -= now;
            if self.buffer.len() >= PIECE {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.out.append(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Ends the stream of a chunk of `length` bytes with its CRC.
    pub(super) fn finish(mut self, length: u64, crc: u32) -> Result<Counts, Error> {
        let rest = length.checked_sub(self.position);
        self.literal(rest.ok_or_else(|| Error::internal("a match goes past the end of its chunk".into()))?)?;
        self.form.encode(Opcode::End, &mut self.buffer);
        self.buffer.extend(crc.to_le_bytes());
        self.flush()?;
        Ok(self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Input;
    use crate::format::{Dialect, width_for};

    fn recorded(length: u64, matches: &[Match]) -> Result<(Vec<u8>, Counts), Error> {
        let mut spool = Spool::new(1 << 20, None);
        let form = OpcodeForm::new(Dialect::V6, width_for(length));
        let mut recorder = Recorder::new(form, &mut spool);
        matches.iter().try_for_each(|&found| recorder.take(found))?;
        let counts = recorder.finish(length, 0x0403_0201)?;
        let mut bytes = vec![0; spool.size() as usize];
        spool.read_at(0, &mut bytes).unwrap();
        Ok((bytes, counts))
    }

    #[test]
    fn literals_cover_the_bytes_between_matches() {
        let matches = [Match { at: 5, length: 40, distance: 5 }, Match { at: 45, length: 32, distance: 1 }];
        let (bytes, counts) = recorded(80, &matches).unwrap();
        assert_eq!(bytes, [0, 5, 0, 1, 40, 0, 5, 1, 32, 0, 1, 0, 3, 0, 0, 0, 0, 1, 2, 3, 4]);
        assert_eq!(counts, Counts { matches: 2, match_bytes: 72, literals: 2, literal_bytes: 8 });
    }

    #[test]
    fn long_runs_take_several_opcodes() {
        let (bytes, counts) = recorded(65_537 + 65_535, &[Match { at: 1, length: 65_536, distance: 1 }]).unwrap();
        assert_eq!(bytes[..3], [0, 1, 0]);
        assert_eq!(bytes[3..15], [1, 0xff, 0xff, 1, 0, 0, 1, 1, 0, 1, 0, 0]);
        assert_eq!((bytes[15..18].to_vec(), bytes.len(), counts.matches), (vec![0, 0xff, 0xff], 25, 1));
    }

    #[test]
    fn empty_chunk_is_an_end_and_a_checksum() {
        assert_eq!(recorded(0, &[]).unwrap().0, [0, 0, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn rejects_impossible_matches() {
        let bad = |at, length, distance| recorded(100, &[Match { at, length, distance }]).is_err();
        assert!(bad(5, 40, 6) && bad(5, 40, 0) && bad(90, 40, 1) && !bad(60, 40, 1));
    }
}
