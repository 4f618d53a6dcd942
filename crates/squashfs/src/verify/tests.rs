//! Verification as a whole.
