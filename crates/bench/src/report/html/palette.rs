//! Colours of a page: one colour is one program in every chart, or one codec if there is one program.

use super::look::{COLOURS, Look};
use crate::report::figures::Figures;
use crate::report::{Case, Tails};

/// Colours, shapes and dashes, the same on the whole page.
pub(super) struct Palette<'p> {
    programs: Vec<&'p str>,
    codecs: Vec<&'p str>,
    ways: Vec<Tails>,
}

impl<'p> Palette<'p> {
    /// For all configurations of the page.
    pub(super) fn of(figures: &[Figures<'p>]) -> Palette<'p> {
        let mut found = Palette { programs: vec![], codecs: vec![], ways: vec![] };
        for case in figures.iter().map(|one| &one.measured.case) {
            push_new(&mut found.programs, case.program.as_str());
            push_new(&mut found.codecs, case.codec.as_str());
            push_new(&mut found.ways, case.tails);
        }
        found
    }

    pub(super) fn is_of_codecs(&self) -> bool {
        self.programs.len() == 1 && self.codecs.len() <= COLOURS
    }

    pub(super) fn look(&self, case: &Case) -> Look {
        let hue = match self.is_of_codecs() {
            true => self.codecs.iter().position(|codec| *codec == case.codec),
            false => self.programs.iter().position(|program| *program == case.program),
        };
        Look::of(hue.unwrap_or(0), self.way(case.tails))
    }

    pub(super) fn look_of_program(&self, program: &str) -> Look {
        Look::of(self.programs.iter().position(|known| *known == program).unwrap_or(0), 0)
    }

    /// The look of a treatment of tail ends, for any program.
    pub(super) fn look_of_way(&self, tails: Tails) -> Look {
        Look { hue: None, ..Look::of(0, self.way(tails)) }
    }

    fn way(&self, tails: Tails) -> usize {
        self.ways.iter().position(|way| *way == tails).unwrap_or(0)
    }
}

/// Adds an item unless it is in the list.
pub(crate) fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
