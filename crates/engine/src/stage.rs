//! The two stages of a line as types, so that a slot and a lane are written once for both.

use std::marker::PhantomData;

use crate::desk::Bench;
use crate::slot::Outcome;
use crate::{Deed, Work};

/// A parallel stage of a container's work.
pub(crate) trait Stage: Sized + 'static {
    /// Whose stage it is.
    type Work: Work;
    /// What a job is given.
    type In: Send + 'static;
    /// What it makes.
    type Out: Send + 'static;
    /// Its name in traces.
    const DEED: Deed;

    /// Runs a job.
    fn run(bench: &mut Bench<Self::Work>, work: &Self::Work, job: Self::In) -> Made<Self>;
    /// Bytes that go in.
    fn bytes_in(work: &Self::Work, job: &Self::In) -> u64;
    /// Bytes that come out.
    fn bytes_out(work: &Self::Work, out: &Self::Out) -> u64;
}

/// What a job of a stage came to.
pub(crate) type Made<S> = Outcome<<S as Stage>::Out, <<S as Stage>::Work as Work>::Error>;

/// The first stage.
pub(crate) struct HashStage<W>(PhantomData<fn() -> W>);

/// The second stage.
pub(crate) struct PressStage<W>(PhantomData<fn() -> W>);

impl<W: Work> Stage for HashStage<W> {
    type Work = W;
    type In = W::Raw;
    type Out = W::Hashed;
    const DEED: Deed = Deed::Hash;

    fn run(bench: &mut Bench<W>, work: &W, job: W::Raw) -> Made<Self> {
        bench.hash(work, job)
    }

    fn bytes_in(work: &W, job: &W::Raw) -> u64 {
        work.raw_bytes(job)
    }

    fn bytes_out(work: &W, out: &W::Hashed) -> u64 {
        work.hashed_bytes(out)
    }
}

impl<W: Work> Stage for PressStage<W> {
    type Work = W;
    type In = W::Job;
    type Out = W::Packed;
    const DEED: Deed = Deed::Compress;

    fn run(bench: &mut Bench<W>, work: &W, job: W::Job) -> Made<Self> {
        bench.compress(work, job)
    }

    fn bytes_in(work: &W, job: &W::Job) -> u64 {
        work.job_bytes(job)
    }

    fn bytes_out(work: &W, out: &W::Packed) -> u64 {
        work.packed_bytes(out)
    }
}
