//! ZPAQL: the virtual machine that computes contexts or post-processes decoded data.
//!
//! The machine has four registers of 32 bits (A, B, C, D), a flag, 256 words R, an array M of bytes that B and C point into, and an array H
//! of words that D points into. Pointers wrap. An instruction is one byte, or two if the lower three bits are ones, or three (a long jump).
//!
//! The program runs from its start for each byte, which is passed in A. All other state is kept.

use super::fault::Fault;
use super::header::Arrays;

/// Number of instructions that a machine may run beyond those earned by input and output, in the first block of a stream.
pub(super) const FIRST_STEPS: u64 = 1 << 24;

/// Number of instructions that each byte of input or output earns. Unused instructions accumulate, because programs that undo a sort do all
/// of their work at the end.
const STEPS_PER_BYTE: u64 = 1 << 10;

/// Number of output bytes after which a program is interrupted.
const MAX_OUTPUT: usize = 1 << 16;

/// The instruction that ends a run.
const HALT: u8 = 56;
/// The instruction that outputs a byte from A.
const OUT: u8 = 57;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunEnd {
    Halted,
    /// Output must be consumed first.
    Paused,
}

pub(super) struct Machine {
    program: Vec<u8>,
    h: Vec<u32>,
    m: Vec<u8>,
    r: [u32; 256],
    a: u32,
    b: u32,
    c: u32,
    d: u32,
    flag: bool,
    next: usize,
    steps: u64,
}

/// The error for an invalid instruction, and for running off the program.
const INVALID_INSTRUCTION: Fault = Fault::Bad("its program reaches an invalid instruction");

impl Machine {
    /// A machine whose state is all zeros. It may run `steps` instructions beyond those earned by input and output.
    pub(super) fn new(program: Vec<u8>, arrays: Arrays, steps: u64) -> Self {
        let h = vec![0; 1 << arrays.h_bits];
        let m = vec![0; 1 << arrays.m_bits];
        let a = 0;
        let b = 0;
        let c = 0;
        let d = 0;
        Machine { program, h, m, r: [0; 256], a, b, c, d, flag: false, next: 0, steps }
    }

    pub(super) fn word(&self, at: usize) -> u32 {
        self.h[at & (self.h.len() - 1)]
    }

    /// Sets the machine to the start of the program, with `input` in A.
    pub(super) fn start(&mut self, input: u32) {
        self.a = input;
        self.next = 0;
        self.steps += STEPS_PER_BYTE;
    }

    /// Runs the program until it halts or must be interrupted. Appends its output to `made`.
    pub(super) fn run(&mut self, made: &mut Vec<u8>) -> Result<RunEnd, Fault> {
        loop {
            match self.instruction()? {
                HALT => return Ok(RunEnd::Halted),
                OUT => {
                    made.push(self.a as u8);
                    self.steps += STEPS_PER_BYTE;
                    if made.len() >= MAX_OUTPUT {
                        return Ok(RunEnd::Paused);
                    }
                }
                op => self.execute(op)?,
            }
        }
    }

    /// Runs the program until it halts, for its result in H. Its output is discarded and earns no instructions.
    pub(super) fn run_silently(&mut self) -> Result<(), Fault> {
        loop {
            match self.instruction()? {
                HALT => return Ok(()),
                OUT => {}
                op => self.execute(op)?,
            }
        }
    }

    /// Returns the first byte of the next instruction, if another instruction may run.
    fn instruction(&mut self) -> Result<u8, Fault> {
        self.steps = self.steps.checked_sub(1).ok_or(Fault::Bad("its program does not end"))?;
        self.fetch()
    }

    /// The next byte of the program.
    fn fetch(&mut self) -> Result<u8, Fault> {
        let byte = *self.program.get(self.next).ok_or(INVALID_INSTRUCTION)?;
        self.next += 1;
        Ok(byte)
    }

    fn execute(&mut self, op: u8) -> Result<(), Fault> {
        match op {
            39 | 47 | 63 => self.jump(op),
            7 | 15 | 23 | 31 => {
                let word = self.r[usize::from(self.fetch()?)];
                self.put(op >> 3, word);
                Ok(())
            }
            55 => {
                let at = usize::from(self.fetch()?);
                self.r[at] = self.a;
                Ok(())
            }
            0..=55 => self.change(op >> 3, op & 7),
            59 => {
                self.a = hash(self.a, u32::from(self.m[self.at_b()]));
                Ok(())
            }
            60 => {
                let at = self.at_d();
                self.h[at] = hash(self.h[at], self.a);
                Ok(())
            }
            64..=119 => {
                let value = self.operand(op & 7)?;
                self.put((op - 64) >> 3, value);
                Ok(())
            }
            128..=239 => {
                let value = self.operand(op & 7)?;
                self.compute((op - 128) >> 3, value);
                Ok(())
            }
            255 => {
                self.next = usize::from(self.fetch()?) | usize::from(self.fetch()?) << 8;
                Ok(())
            }
            _ => Err(INVALID_INSTRUCTION),
        }
    }

    /// JT, JF and JMP: jumps by a signed byte, from the next instruction.
    fn jump(&mut self, op: u8) -> Result<(), Fault> {
        let by = self.fetch()? as i8;
        let jumps = match op {
            39 => self.flag,
            47 => !self.flag,
            _ => true,
        };
        if jumps {
            self.next = self.next.checked_add_signed(isize::from(by)).ok_or(INVALID_INSTRUCTION)?;
        }
        Ok(())
    }

    /// Exchanges with A, increments, decrements, complements or zeroes.
    fn change(&mut self, place: u8, what: u8) -> Result<(), Fault> {
        let old = self.get(place);
        match what {
            0 if place > 0 => {
                // A byte of M is exchanged with the lowest byte of A.
                let mask = if matches!(place, 4 | 5) { 0xFF } else { u32::MAX };
                self.put(place, self.a);
                self.a = (self.a & !mask) | old;
            }
            1 => self.put(place, old.wrapping_add(1)),
            2 => self.put(place, old.wrapping_sub(1)),
            3 => self.put(place, !old),
            4 => self.put(place, 0),
            _ => return Err(INVALID_INSTRUCTION),
        }
        Ok(())
    }

    /// A, B, C, D, *B, *C, *D or the next byte.
    fn operand(&mut self, place: u8) -> Result<u32, Fault> {
        if place == 7 { self.fetch().map(u32::from) } else { Ok(self.get(place)) }
    }

    fn get(&self, place: u8) -> u32 {
        match place {
            0 => self.a,
            1 => self.b,
            2 => self.c,
            3 => self.d,
            4 => u32::from(self.m[self.at_b()]),
            5 => u32::from(self.m[self.at_c()]),
            _ => self.h[self.at_d()],
        }
    }

    fn put(&mut self, place: u8, value: u32) {
        let b = self.at_b();
        let c = self.at_c();
        let d = self.at_d();
        match place {
            0 => self.a = value,
            1 => self.b = value,
            2 => self.c = value,
            3 => self.d = value,
            4 => self.m[b] = value as u8,
            5 => self.m[c] = value as u8,
            _ => self.h[d] = value,
        }
    }

    fn compute(&mut self, what: u8, value: u32) {
        let a = self.a;
        match what {
            13 => self.flag = a > value,
            12 => self.flag = a < value,
            11 => self.flag = a == value,
            _ => {
                self.a = match what {
                    0 => a.wrapping_add(value),
                    1 => a.wrapping_sub(value),
                    2 => a.wrapping_mul(value),
                    3 => a.checked_div(value).unwrap_or(0),
                    4 => a.checked_rem(value).unwrap_or(0),
                    5 => a & value,
                    6 => a & !value,
                    7 => a | value,
                    8 => a ^ value,
                    9 => a << (value & 31),
                    _ => a >> (value & 31),
                }
            }
        }
    }

    fn at_b(&self) -> usize {
        self.b as usize & (self.m.len() - 1)
    }

    fn at_c(&self) -> usize {
        self.c as usize & (self.m.len() - 1)
    }

    fn at_d(&self) -> usize {
        self.d as usize & (self.h.len() - 1)
    }
}

/// The hash of ZPAQL: adds one more value to `hash`.
#[inline]
pub(super) fn hash(hash: u32, value: u32) -> u32 {
    hash.wrapping_add(value).wrapping_add(512).wrapping_mul(773)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Arrays = Arrays { h_bits: 3, m_bits: 3 };

    /// Output of a program for one input.
    fn made(program: &[u8], input: u32) -> Vec<u8> {
        let mut machine = Machine::new(program.to_vec(), SMALL, 1000);
        let mut made = Vec::new();
        machine.start(input);
        assert_eq!(machine.run(&mut made).unwrap(), RunEnd::Halted);
        made
    }

    fn refused(program: &[u8]) -> &'static str {
        let mut machine = Machine::new(program.to_vec(), SMALL, 1000);
        machine.start(0);
        match machine.run(&mut Vec::new()) {
            Err(Fault::Bad(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_are_computed() {
        // A+=3 OUT A*=A OUT A-=200 OUT A/=7 OUT A%=0 OUT HALT
        assert_eq!(made(&[135, 3, 57, 144, 57, 143, 200, 57, 159, 7, 57, 167, 0, 57, 56], 13), [16, 0, 56, 8, 0]);
        // A^=255, A>>=2, A<<=4, A|=1, A&=31, A&~16
        let program = [199, 255, 57, 215, 2, 57, 207, 4, 57, 191, 1, 57, 175, 31, 57, 183, 16, 57, 56];
        assert_eq!(made(&program, 0x12), [0xED, 0x3B, 0xB0, 0xB1, 0x11, 0x01]);
    }

    #[test]
    fn reads_and_writes_all_operands() {
        // *B=A B++ *B=9 C=B D=2 *D=A A=0 OUT A=*B OUT A=*C OUT A=*D OUT B-- A=*B OUT R=A 5 A=0 A=R 5 OUT HALT
        let program =
            [96, 9, 103, 9, 81, 95, 2, 112, 4, 57, 68, 57, 69, 57, 70, 57, 10, 68, 57, 55, 5, 4, 7, 5, 57, 56];
        assert_eq!(made(&program, 77), [0, 9, 9, 77, 77, 77]);
    }

    #[test]
    fn exchanges_a_byte_of_m_with_the_lowest_byte_of_a() {
        // *B=5; A becomes 0x0102; *B<>A; OUT; A>>=8; OUT; A=*B; OUT
        let program = [103, 5, 71, 1, 207, 8, 135, 2, 32, 57, 215, 8, 57, 68, 57, 56];
        assert_eq!(made(&program, 0), [5, 1, 2]);
    }

    #[test]
    fn jumps_back_while_the_flag_is_set() {
        // OUT A-- A>0 JT back 6 HALT
        assert_eq!(made(&[57, 2, 239, 0, 39, 250, 56], 4), [4, 3, 2, 1]);
        // LJ 4, over an invalid instruction.
        assert_eq!(made(&[255, 4, 0, 0, 57, 56], 9), [9]);
        // JF over OUT; A==9 sets the flag.
        assert_eq!(made(&[223, 9, 47, 1, 57, 56], 9), [9]);
        assert_eq!(made(&[223, 9, 47, 1, 57, 56], 8), []);
    }

    #[test]
    fn rejects_programs_with_invalid_instructions() {
        for program in
            [&[][..], &[0], &[5], &[58], &[120], &[240], &[8, 8], &[71], &[63, 128], &[63, 100], &[255, 9, 9]]
        {
            assert!(refused(program).contains("invalid instruction"), "{program:?}");
        }
        assert!(refused(&[63, 254]).contains("does not end"));
    }

    #[test]
    fn discarded_output_earns_no_instructions() {
        let mut machine = Machine::new(vec![57, 63, 253], SMALL, 1000);
        machine.start(3);
        assert!(matches!(machine.run_silently(), Err(Fault::Bad("its program does not end"))));
    }

    #[test]
    fn interrupts_programs_with_much_output() {
        let mut machine = Machine::new(vec![57, 63, 253], SMALL, 0);
        let mut made = Vec::new();
        machine.start(3);
        for _ in 0..3 {
            made.clear();
            assert_eq!(machine.run(&mut made).unwrap(), RunEnd::Paused);
            assert_eq!(made, [3; MAX_OUTPUT]);
        }
    }
}
