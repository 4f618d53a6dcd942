//! The bar on the terminal while layers of container images are fetched from registries, on several threads.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget};

use super::progress::{DrawnBar, OF_TOTAL, REDRAWS, TICK, style};

/// Fewer bytes are there at once, and nothing is shown for them.
const LEAST: u64 = 64 << 10;

/// Shows the fetched bytes of all bytes that are expected. It is not drawn before the first bytes and after the last ones.
#[derive(Debug)]
pub struct FetchBar {
    bar: ProgressBar,
    place: DrawnBar,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    expected: u64,
    fetched: u64,
    shown: bool,
}

impl FetchBar {
    pub fn new(place: &DrawnBar) -> FetchBar {
        FetchBar::on(ProgressDrawTarget::stderr_with_hz(REDRAWS), place)
    }

    fn on(target: ProgressDrawTarget, place: &DrawnBar) -> FetchBar {
        let bar = ProgressBar::with_draw_target(None, target);
        FetchBar { bar, place: place.clone(), state: Mutex::default() }
    }

    /// Announces bytes, which are all fetched unless there is an error.
    pub fn expect(&self, bytes: u64) {
        let mut state = self.lock();
        state.expected = state.expected.saturating_add(bytes);
    }

    pub fn advance(&self, bytes: u64) {
        let mut state = self.lock();
        state.fetched = state.fetched.saturating_add(bytes);
        if state.fetched >= state.expected {
            self.end(&mut state);
        } else if state.fetched >= LEAST {
            self.show(&mut state);
        }
    }

    fn show(&self, state: &mut State) {
        if !state.shown {
            self.bar.set_style(style(OF_TOTAL));
            self.bar.set_prefix("fetching ");
            // An earlier image has finished the bar.
            if self.bar.is_finished() {
                self.bar.reset();
            }
        }
        self.bar.set_length(state.expected);
        self.bar.set_position(state.fetched);
        if !std::mem::replace(&mut state.shown, true) {
            self.bar.enable_steady_tick(TICK);
            self.place.set(Some(self.bar.clone()));
        }
    }

    /// Removes the bar. The next bytes that are announced are counted from 0.
    fn end(&self, state: &mut State) {
        if std::mem::take(state).shown {
            self.place.set(None);
            self.bar.finish_and_clear();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for FetchBar {
    fn drop(&mut self) {
        self.end(&mut self.lock());
    }
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::*;

    #[test]
    fn shows_bytes_until_all_are_fetched() {
        let terminal = InMemoryTerm::new(2, 100);
        let place = DrawnBar::default();
        let bar = FetchBar::on(ProgressDrawTarget::term_like(Box::new(terminal.clone())), &place);
        // The config of an image, which was not announced.
        bar.advance(3 << 20);
        bar.expect(8 << 20);
        bar.advance(1 << 10);
        assert_eq!(terminal.contents(), "");
        bar.advance((2 << 20) - (1 << 10));
        let shown = terminal.contents();
        assert!(shown.starts_with("fetching ") && shown.contains(" 25% 2.00 MiB/8.00 MiB "), "{shown}");
        assert_eq!(place.aside(|| terminal.contents()), "", "hidden for the time of a question");
        bar.advance(6 << 20);
        assert_eq!(terminal.contents(), "");
        // A second image is counted from 0.
        bar.expect(4 << 20);
        bar.advance(2 << 20);
        assert!(terminal.contents().contains(" 50% 2.00 MiB/4.00 MiB "), "{}", terminal.contents());
        drop(bar);
        assert_eq!(terminal.contents(), "", "an error ends the bar too");
    }
}
