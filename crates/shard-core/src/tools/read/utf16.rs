//! Text in UTF-16, which is shown as UTF-8.

use encoding_rs::Encoding;

/// What a model should know of it.
pub(super) const NOTE: &str =
    "the file is text in UTF-16; edit refuses it, and write would make it UTF-8";

/// The text after the byte order mark; none if it is no text after all.
pub(super) fn decode(bytes: &[u8]) -> Option<String> {
    let (encoding, mark) = Encoding::for_bom(bytes)?;
    let text = encoding.decode_without_bom_handling_and_without_replacement(&bytes[mark..])?;
    (!text.contains('\0')).then(|| text.into_owned())
}
