//! The search from end to end: samples, index, matches of segments, matches of the window.

use crate::error::Broken;
use crate::index::Index;
use crate::leftover::{Keeper, Leftover};
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
/// Where little is left over that repeats nothing, that is searched once more, with denser samples.
///
/// Memory is bounded by [`Settings::memory`]. Time is bounded too, whatever the window contains: the window is read
/// twice, [`Settings::samples_most`] words are sorted twice (both twice as often where it is searched once more), and no byte is
/// compared more than [`Settings::candidates`] times forwards, nor backwards for each of them and each sample more than the shortest match or what is covered by it.
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
    let mut keeper = Keeper::new(settings.kept_most(), each);
    let mut keep = |found| keeper.add(found);
    let mut stitch = Stitch::new(settings.least(), &mut keep);
    let sample = |sampler: &mut Sampler, number| sampler.sample(number);
    let matches = |matcher: &mut Matcher, number| matcher.matches(number);
    round(window, settings, &crew, sample, matches, |next| stitch.add(next))?;
    stitch.finish()?;
    match keeper.into_kept() {
        Some(matches) => again(window, settings, &crew, &Leftover::new(matches, length), each),
        None => Ok(()),
    }
}

/// Searches what is left over more closely, if that is little enough, and gives what was found in both rounds.
///
/// Where nearly everything is a repeat, what is left over is all that there is of it: the first time that something stands
/// there. What is short and repeats is found there with little work.
fn again<E>(
    window: &dyn Window,
    settings: &Settings,
    crew: &Crew,
    left: &Leftover,
    each: &mut dyn FnMut(Match) -> Result<(), E>,
) -> Result<(), FindError<E>> {
    let mut stitch = Stitch::new(settings.least(), each);
    let mut known = left.matches().iter().copied().peekable();
    if let Some(settings) = &settings.again(left.bytes()) {
        let sample = |sampler: &mut Sampler, number| sampler.sample_left(number, left);
        let matches = |matcher: &mut Matcher, number| matcher.matches_left(number, left);
        round(window, settings, crew, sample, matches, |next| {
            while let Some(before) = known.next_if(|found| found.at < next.at) {
                stitch.add(before)?;
            }
            stitch.add(next)
        })?;
    }
    known.try_for_each(|found| stitch.add(found))?;
    stitch.finish()
}

/// Samples each segment, makes the index, and gives the matches of each segment to `take`, in order.
fn round<E>(
    window: &dyn Window,
    settings: &Settings,
    crew: &Crew,
    sample: impl Fn(&mut Sampler, usize) -> Result<(), Broken> + Sync,
    matches: impl Fn(&mut Matcher, usize) -> Result<Vec<Match>, Broken> + Sync,
    mut take: impl FnMut(Match) -> Result<(), FindError<E>>,
) -> Result<(), FindError<E>> {
    let pool = Pool::default();
    let shards = sampled(window, settings, &pool, crew, sample)?;
    let index = Index::new(settings, &shards, &pool, crew)?;
    drop(shards);
    let matcher = || Matcher::new(settings, &index, Sight::new(window));
    crew.ordered(settings.segments(), crew.workers * 2, matcher, matches, |found| {
        found.into_iter().try_for_each(&mut take)
    })
}

/// The samples that `sample` takes of the segments, in shards.
fn sampled(
    window: &dyn Window,
    settings: &Settings,
    pool: &Pool,
    crew: &Crew,
    sample: impl Fn(&mut Sampler, usize) -> Result<(), Broken> + Sync,
) -> Result<Vec<Mutex<Pile>>, Broken> {
    let sampler = || Sampler::new(settings, Sight::new(window), pool);
    let samplers = crew.each(settings.segments(), sampler, sample)?;
    Ok(Piles::merge(samplers.into_iter().map(Sampler::into_shards).collect(), SHARDS))
}
