//! The version of this program, with the commit and the build profile.

/// The commit, or `unknown`.
pub(crate) const COMMIT: &str = env!("PEGBOARD_BUILD_COMMIT");

/// The text after the program's name in `pegboard --version`.
pub(crate) const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("PEGBOARD_BUILD_COMMIT"),
    ", ",
    env!("PEGBOARD_BUILD_PROFILE"),
    ")"
);
