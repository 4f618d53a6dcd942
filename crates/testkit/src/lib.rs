//! Generators, comparers and an independent reader for the test suites.
