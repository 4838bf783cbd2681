//! Pictures, made fit for a provider before anything keeps them.
//!
//! A picture that a provider refuses is refused again with every request that holds it, so nothing
//! comes in but whole pictures of the four types that all providers take, within the bounds below.
//! What is within them stays as it is, byte for byte; what is larger is scaled down.
//!
//! All of this takes time and memory for every pixel: call it on a thread that may block.

use std::io::Cursor;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::imageops;
use image::{
    DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits, Rgb, RgbImage,
};
use shard_types::{Image, ImageTag};

/// The longest side that is kept, in pixels. Providers scale larger pictures down themselves, and
/// refuse them where a request holds many.
const SIDE: u32 = 2000;
/// The largest picture that is kept, in bytes: its base64 has 5 MiB less 128 KiB. The strictest
/// provider takes 5 MiB.
const BYTES: usize = (5 * 1024 - 128) * 1024 / 4 * 3;
/// What decoding may take, in bytes. Photographs of 60 megapixels are below it.
const DECODED_BYTES: u64 = 256 << 20;
/// The longest side that is decoded, in pixels.
const DECODED_SIDE: u32 = 1 << 16;
/// Tried in turn, until the picture is small enough.
const QUALITIES: [u8; 3] = [85, 60, 40];

/// Base64 as others write it, with or without the signs at its end.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Why a picture cannot be used; completes a sentence that starts with what it is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PictureError {
    #[error("is not valid base64")]
    NoBase64,
    #[error("is no picture; PNG, JPEG, GIF and WebP can be used")]
    NoPicture,
    #[error("has more pixels than can be decoded; scale it down first")]
    TooManyPixels,
    #[error("is a damaged {kind} picture: {error}")]
    Damaged {
        kind: &'static str,
        error: ImageError,
    },
    #[error("cannot be made small enough; scale it down first")]
    TooLarge,
}

/// A picture that every provider takes.
#[derive(Debug)]
pub(crate) struct Picture {
    /// What is kept and sent.
    pub(crate) image: Image,
    /// Such as `PNG`: what it was before anything was done to it.
    kind: &'static str,
    /// Width and height before, in pixels, the right way up.
    was: (u32, u32),
    /// Width and height now.
    is: (u32, u32),
}

impl Picture {
    /// Makes the content of a file fit.
    ///
    /// # Errors
    /// When it is no picture, or none that can be made fit.
    pub(crate) fn fit(bytes: &[u8]) -> Result<Self, PictureError> {
        let format = format_of(bytes).ok_or(PictureError::NoPicture)?;
        let kind = kind(format);
        let damaged = |error| match error {
            ImageError::Limits(_) => PictureError::TooManyPixels,
            error => PictureError::Damaged { kind, error },
        };
        let picture = decode(bytes, format).map_err(damaged)?;
        let was = (picture.width(), picture.height());
        if bytes.len() <= BYTES && was.0.max(was.1) <= SIDE {
            return Ok(Self {
                image: image(STANDARD.encode(bytes), format),
                kind,
                was,
                is: was,
            });
        }
        let picture = eight_bits(scaled(picture));
        let (bytes, now) = encode(&picture, format).map_err(damaged)?;
        if bytes.len() > BYTES {
            return Err(PictureError::TooLarge);
        }
        Ok(Self {
            image: image(STANDARD.encode(bytes), now),
            kind,
            was,
            is: (picture.width(), picture.height()),
        })
    }

    /// The same for base64.
    ///
    /// # Errors
    /// As for [`fit`](Self::fit), and when it is no base64.
    pub(crate) fn fit_base64(data: &str) -> Result<Self, PictureError> {
        let bytes = LENIENT.decode(data).map_err(|_| PictureError::NoBase64)?;
        Self::fit(&bytes)
    }

    /// Such as `PNG, 4000x3000, scaled to 2000x1500`.
    pub(crate) fn describe(&self) -> String {
        let Self { kind, was, is, .. } = self;
        let size = format!("{kind}, {}x{}", was.0, was.1);
        match was == is {
            true => size,
            false => format!("{size}, scaled to {}x{}", is.0, is.1),
        }
    }
}

/// The type of a picture by its first bytes; none if it is no picture that can be used.
pub(crate) fn format_of(bytes: &[u8]) -> Option<ImageFormat> {
    let format = image::guess_format(bytes).ok()?;
    matches!(
        format,
        ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::Gif | ImageFormat::WebP
    )
    .then_some(format)
}

/// What a picture is by its first bytes, such as `PNG, 800x600`, without decoding it.
pub(crate) fn describe(bytes: &[u8]) -> Option<String> {
    let kind = kind(format_of(bytes)?);
    Some(match size(bytes) {
        Some((width, height)) => format!("{kind}, {width}x{height}"),
        None => kind.to_owned(),
    })
}

/// Width and height of a picture in base64, in pixels, read from its first bytes;
/// none if they cannot be told.
#[must_use]
pub fn size_of_base64(data: &str) -> Option<(u32, u32)> {
    size(&LENIENT.decode(data).ok()?)
}

fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    let reader = ImageReader::with_format(Cursor::new(bytes), format_of(bytes)?);
    reader.into_dimensions().ok()
}

fn kind(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Png => "PNG",
        ImageFormat::Jpeg => "JPEG",
        ImageFormat::Gif => "GIF",
        _ => "WebP",
    }
}

fn image(data: String, format: ImageFormat) -> Image {
    Image {
        tag: ImageTag::Image,
        data,
        mime_type: format.to_mime_type().to_owned(),
    }
}

/// The first frame, the right way up. Also a picture that stays as it is gets decoded: only then
/// is it known to be whole.
fn decode(bytes: &[u8], format: ImageFormat) -> Result<DynamicImage, ImageError> {
    let mut limits = Limits::default();
    limits.max_image_width = Some(DECODED_SIDE);
    limits.max_image_height = Some(DECODED_SIDE);
    limits.max_alloc = Some(DECODED_BYTES);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits.clone());
    let mut decoder = reader.into_decoder()?;
    limits.reserve(decoder.total_bytes())?;
    decoder.set_limits(limits)?;
    let orientation = decoder.orientation()?;
    let mut picture = DynamicImage::from_decoder(decoder)?;
    picture.apply_orientation(orientation);
    Ok(picture)
}

fn scaled(picture: DynamicImage) -> DynamicImage {
    let side = picture.width().max(picture.height());
    if side <= SIDE {
        return picture;
    }
    // The better way of scaling takes sixteen bytes for each pixel in between, so a picture that is
    // much too large comes halfway by the cheaper one.
    let picture = match side > 2 * SIDE {
        true => picture.thumbnail(2 * SIDE, 2 * SIDE),
        false => picture,
    };
    picture.resize(SIDE, SIDE, imageops::FilterType::CatmullRom)
}

fn eight_bits(picture: DynamicImage) -> DynamicImage {
    match picture.color().has_alpha() {
        true => DynamicImage::ImageRgba8(picture.into_rgba8()),
        false => DynamicImage::ImageRgb8(picture.into_rgb8()),
    }
}

/// As PNG, which loses nothing; as JPEG where that is too large, or where it was one before.
fn encode(picture: &DynamicImage, was: ImageFormat) -> Result<(Vec<u8>, ImageFormat), ImageError> {
    if was != ImageFormat::Jpeg {
        let mut bytes = Vec::new();
        let compression = CompressionType::Default;
        let encoder = PngEncoder::new_with_quality(&mut bytes, compression, FilterType::Adaptive);
        picture.write_with_encoder(encoder)?;
        if bytes.len() <= BYTES {
            return Ok((bytes, ImageFormat::Png));
        }
    }
    let picture = on_white(picture);
    let mut bytes = Vec::new();
    for quality in QUALITIES {
        bytes.clear();
        picture.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, quality))?;
        if bytes.len() <= BYTES {
            break;
        }
    }
    Ok((bytes, ImageFormat::Jpeg))
}

/// A JPEG has nothing to see through.
fn on_white(picture: &DynamicImage) -> RgbImage {
    let Some(seen_through) = picture.as_rgba8() else {
        return picture.to_rgb8();
    };
    let mut solid = RgbImage::new(picture.width(), picture.height());
    for (to, from) in solid.pixels_mut().zip(seen_through.pixels()) {
        let [r, g, b, alpha] = from.0.map(u16::from);
        let mix = |color| ((color * alpha + 255 * (255 - alpha)) / 255) as u8;
        *to = Rgb([mix(r), mix(g), mix(b)]);
    }
    solid
}

#[cfg(test)]
mod tests;
