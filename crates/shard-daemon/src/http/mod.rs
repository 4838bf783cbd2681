//! The daemon's listener: a thin layer over [`crate::security`].
