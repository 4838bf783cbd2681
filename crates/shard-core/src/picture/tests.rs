use image::{GenericImageView as _, Luma, Rgba, RgbaImage};

use super::*;

/// A picture of one colour.
fn plain(width: u32, height: u32) -> DynamicImage {
    DynamicImage::ImageRgb8(RgbImage::from_pixel(width, height, Rgb([200, 30, 30])))
}

/// A picture that cannot be compressed.
fn noise(width: u32, height: u32) -> DynamicImage {
    let mut state = 1_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |_, _| {
        Rgb([next(), next(), next()])
    }))
}

fn file(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn bytes(picture: &Picture) -> Vec<u8> {
    STANDARD.decode(&picture.image.data).unwrap()
}

fn opened(picture: &Picture) -> DynamicImage {
    image::load_from_memory(&bytes(picture)).unwrap()
}

#[test]
fn what_fits_stays_as_it_is_and_is_named_by_its_bytes() {
    for (format, name, mime_type) in [
        (ImageFormat::Png, "PNG", "image/png"),
        (ImageFormat::Jpeg, "JPEG", "image/jpeg"),
        (ImageFormat::Gif, "GIF", "image/gif"),
        (ImageFormat::WebP, "WebP", "image/webp"),
    ] {
        let before = file(&plain(40, 30), format);
        let picture = Picture::fit(&before).unwrap();
        assert_eq!(bytes(&picture), before, "{name}");
        assert_eq!(picture.image.mime_type, mime_type);
        assert_eq!(picture.describe(), format!("{name}, 40x30"));
        assert_eq!(describe(&before).unwrap(), picture.describe());
        let base64 = STANDARD.encode(&before);
        assert_eq!(size_of_base64(base64.trim_end_matches('=')), Some((40, 30)));
    }
    let longest = file(&plain(SIDE, 1), ImageFormat::Png);
    assert_eq!(bytes(&Picture::fit(&longest).unwrap()), longest);
}

#[test]
fn what_is_too_long_is_scaled_and_keeps_its_shape() {
    let check = |format, size: (u32, u32), mime_type: &str, said: &str| {
        let picture = Picture::fit(&file(&plain(size.0, size.1), format)).unwrap();
        assert_eq!(picture.describe(), said);
        assert_eq!(picture.image.mime_type, mime_type);
        assert_eq!(opened(&picture).dimensions(), picture.is);
        let [r, g, b] = opened(&picture).to_rgb8().get_pixel(5, 5).0;
        assert!(r.abs_diff(200) < 4 && g.abs_diff(30) < 4 && b.abs_diff(30) < 4);
    };
    let (png, jpeg) = ("image/png", "image/jpeg");
    check(
        ImageFormat::Png,
        (10_000, 800),
        png,
        "PNG, 10000x800, scaled to 2000x160",
    );
    check(
        ImageFormat::WebP,
        (60, 2001),
        png,
        "WebP, 60x2001, scaled to 60x2000",
    );
    check(
        ImageFormat::Gif,
        (3000, 1500),
        png,
        "GIF, 3000x1500, scaled to 2000x1000",
    );
    check(
        ImageFormat::Jpeg,
        (3000, 1500),
        jpeg,
        "JPEG, 3000x1500, scaled to 2000x1000",
    );
}

#[test]
fn what_has_too_many_bytes_is_compressed() {
    let large = file(&noise(1600, 1400), ImageFormat::Png);
    assert!(large.len() > 6_000_000, "{}", large.len());
    let picture = Picture::fit(&large).unwrap();
    assert_eq!(picture.image.mime_type, "image/jpeg");
    assert!(picture.image.data.len() < 5 * 1024 * 1024);
    assert_eq!(picture.describe(), "PNG, 1600x1400");
    assert_eq!(opened(&picture).dimensions(), (1600, 1400));
}

#[test]
fn what_is_seen_through_lies_on_white_in_a_jpeg() {
    let mut glass = RgbaImage::from_pixel(2, 1, Rgba([0, 0, 0, 0]));
    glass.put_pixel(1, 0, Rgba([100, 0, 255, 128]));
    let solid = on_white(&DynamicImage::ImageRgba8(glass));
    assert_eq!(solid.get_pixel(0, 0).0, [255, 255, 255]);
    assert_eq!(solid.get_pixel(1, 0).0, [177, 127, 255]);
}

#[test]
fn sixteen_bits_of_a_colour_become_eight() {
    let deep = image::ImageBuffer::from_pixel(2500, 10, Luma([0x8000_u16]));
    let picture = Picture::fit(&file(&DynamicImage::ImageLuma16(deep), ImageFormat::Png)).unwrap();
    assert_eq!(opened(&picture).color(), image::ColorType::Rgb8);
}

/// A JPEG whose camera was held upright: what is left in its rows belongs at the top.
fn turned(width: u32, height: u32) -> Vec<u8> {
    let mut picture = RgbImage::from_pixel(width, height, Rgb([0, 0, 0]));
    for (x, _, pixel) in picture.enumerate_pixels_mut() {
        *pixel = if x < width / 2 { Rgb([255; 3]) } else { *pixel };
    }
    let jpeg = file(&DynamicImage::ImageRgb8(picture), ImageFormat::Jpeg);
    let exif = b"\xff\xe1\x00\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    [&jpeg[..2], exif, &jpeg[2..]].concat()
}

#[test]
fn a_photograph_that_was_turned_stays_turned() {
    let small = turned(40, 20);
    let picture = Picture::fit(&small).unwrap();
    assert_eq!(bytes(&picture), small, "with its own mark");
    assert_eq!(picture.describe(), "JPEG, 20x40");
    let picture = Picture::fit(&turned(2400, 1200)).unwrap();
    assert_eq!(picture.describe(), "JPEG, 1200x2400, scaled to 1000x2000");
    let opened = opened(&picture).to_luma8();
    assert!(opened.get_pixel(500, 100).0[0] > 250, "bright at the top");
    assert!(opened.get_pixel(500, 1900).0[0] < 5, "dark at the bottom");
}

#[test]
fn of_an_animation_that_is_scaled_the_first_frame_stays() {
    let mut gif = Vec::new();
    let mut encoder = image::codecs::gif::GifEncoder::new(&mut gif);
    for shade in [255, 0] {
        let frame = RgbaImage::from_pixel(2100, 20, Rgba([shade, shade, shade, 255]));
        encoder.encode_frame(image::Frame::new(frame)).unwrap();
    }
    drop(encoder);
    let opened = opened(&Picture::fit(&gif).unwrap());
    assert_eq!(opened.to_luma8().get_pixel(9, 9).0, [255]);
}

/// The checksum of a PNG's chunk.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| match crc & 1 {
            1 => (crc >> 1) ^ 0xEDB8_8320,
            _ => crc >> 1,
        })
    })
}

#[test]
fn a_picture_that_only_claims_to_be_huge_is_not_decoded() {
    let mut png = file(&plain(1, 1), ImageFormat::Png);
    for side in [16..20, 20..24] {
        png[side].copy_from_slice(&60_000_u32.to_be_bytes());
    }
    let sum = crc(&png[12..29]).to_be_bytes();
    png[29..33].copy_from_slice(&sum);
    let mut gif = file(&plain(1, 1), ImageFormat::Gif);
    gif[6..10].copy_from_slice(&[0xff; 4]);
    for bomb in [png, gif] {
        let error = Picture::fit(&bomb).unwrap_err().to_string();
        let want = "has more pixels than can be decoded; scale it down first";
        assert_eq!(error, want);
    }
}

#[test]
fn what_is_no_picture_says_so() {
    let check = |bytes: &[u8], want: &str| {
        let error = Picture::fit(bytes).unwrap_err().to_string();
        assert!(error.starts_with(want), "{error}");
    };
    check(b"", "is no picture; PNG, JPEG, GIF and WebP can be used");
    check(b"<svg></svg>", "is no picture");
    check(b"BM\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "is no picture");
    check(b"\x89PNG\r\n\x1a\n0123", "is a damaged PNG picture: ");
    let whole = file(&noise(50, 50), ImageFormat::Png);
    check(&whole[..whole.len() / 2], "is a damaged PNG picture: ");
    let error = Picture::fit_base64("no base64!").unwrap_err().to_string();
    assert_eq!(error, "is not valid base64");
    assert_eq!(size_of_base64("AAAA"), None);
}
