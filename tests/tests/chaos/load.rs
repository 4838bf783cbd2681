//! Many agents and many clients at once.
