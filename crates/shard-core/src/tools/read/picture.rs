//! Pictures, for models that take them.

use shard_contracts::ToolOutput;

use crate::picture::{self, Picture};

/// Shows a picture: in words what it is, and the picture itself.
pub(super) fn show(name: &str, bytes: &[u8]) -> Result<ToolOutput, String> {
    let picture = Picture::fit(bytes).map_err(|error| format!("{name} {error}"))?;
    let text = format!("{name} is a picture ({}); it follows", picture.describe());
    Ok(ToolOutput {
        images: vec![picture.image],
        ..ToolOutput::text(text)
    })
}

/// Says what a picture is to a model that cannot see it.
pub(super) fn refuse(name: &str, bytes: &[u8]) -> String {
    let size = bytes.len();
    let what = picture::describe(bytes).unwrap_or_default();
    format!("{name} is a picture ({what}, {size} bytes) and is not shown: this model takes none")
}
