//! The search from end to end: samples, index, matches of segments, matches of the window.

use crate::error::Broken;
use crate::index::Index;
use crate::matching::Matcher;
use crate::pages::{Pile, Piles, Pool};
use crate::parallel::Crew;
use crate::sampling::Sampler;
use crate::settings::SHARDS;
use crate::sight::Sight;
use crate::stitch::Stitch;
use crate::{FindError, Match, Settings, WINDOW_MOST, Window};
use std::sync::Mutex;

/// Finds the repeats of `window` and gives them to `each`, on the caller's thread, in order and apart from each other.
///
/// What is found depends on the bytes and on `settings` alone. `workers` threads do it, started and ended within the call;
/// with 0 or 1 there is none but the caller's, with the same result. `stop` is asked before each segment, from any thread.
///
/// Memory is bounded by [`Settings::memory`]. Time is bounded too, whatever the window contains: the window is read
/// twice, [`Settings::samples_most`] words are sorted twice, and no byte is compared more than [`Settings::candidates`]
/// times forwards, nor backwards for each of them and each sample more than the shortest match or what is covered by it.
///
/// # Errors
///
/// [`FindError::Read`] if the window cannot be read, [`FindError::Stopped`] if `stop` says so, [`FindError::Taken`] with
/// the first error of `each`, [`FindError::TooLong`] for more than [`WINDOW_MOST`] bytes. All threads have ended then.
pub fn find<E>(
    window: &dyn Window,
    settings: &Settings,
    workers: usize,
    stop: &(dyn Fn() -> bool + Sync),
    each: &mut dyn FnMut(Match) -> Result<(), E>,
) -> Result<(), FindError<E>> {
    let length = window.length();
    if length > WINDOW_MOST {
        return Err(FindError::TooLong { length, most: WINDOW_MOST });
    }
    // Settings for another length take more memory than they say, or find less; never anything that is not there.
    let settings = &settings.fitted(length);
    let crew = Crew { workers, stop };
    let pool = Pool::default();
    let shards = sampled(window, settings, &pool, &crew)?;
    let index = Index::new(settings, &shards, &pool, &crew)?;
    drop(shards);
    let matcher = || Matcher::new(settings, &index, Sight::new(window));
    let mut stitch = Stitch::new(settings.least(), each);
    let job = |matcher: &mut Matcher, number| matcher.matches(number);
    let ahead = workers * 2;
    crew.ordered(settings.segments(), ahead, matcher, job, |found| {
        found.into_iter().try_for_each(|next| stitch.add(next))
    })?;
    stitch.finish()
}

/// The samples of the window, in shards.
fn sampled(window: &dyn Window, settings: &Settings, pool: &Pool, crew: &Crew) -> Result<Vec<Mutex<Pile>>, Broken> {
    let sampler = || Sampler::new(settings, Sight::new(window), pool);
    let samplers = crew.each(settings.segments(), sampler, |sampler, number| sampler.sample(number))?;
    Ok(Piles::merge(samplers.into_iter().map(Sampler::into_shards).collect(), SHARDS))
}
