//! `shard doctor`: what is set up, what is wrong, and what to do about it.
pub(crate) fn run(_args: crate::args::DoctorArgs) -> Result<(), crate::failure::Failure> {
    Ok(())
}
