//! What is shown otherwise than line by line: pictures, and text in UTF-16.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{ImageFormat, RgbImage};
use serde_json::json;

use super::super::super::bench::{Bench, said};

pub(super) fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let picture = RgbImage::new(width, height);
    picture.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

#[tokio::test]
async fn a_picture_is_shown_to_a_model_that_takes_pictures() {
    let mut bench = Bench::new();
    let small = png(40, 30);
    // Its bytes say what it is, not its name.
    bench.file("small.txt", &small);
    bench.file("wide.png", png(10_000, 800));
    let output = bench.call("read", json!({ "path": "small.txt" })).await;
    assert_eq!(
        said(&output),
        "small.txt is a picture (PNG, 40x30); it follows"
    );
    assert_eq!(output.images[0].data, STANDARD.encode(&small));
    assert_eq!(output.images[0].mime_type, "image/png");
    let output = bench.call("read", json!({ "path": "wide.png" })).await;
    let want = "wide.png is a picture (PNG, 10000x800, scaled to 2000x160); it follows";
    assert_eq!((said(&output), output.images.len()), (want, 1));
    bench.takes_images = false;
    let output = bench.call("read", json!({ "path": "wide.png" })).await;
    let size = bench.bytes("wide.png").len();
    let want = format!(
        "wide.png is a picture (PNG, 10000x800, {size} bytes) and is not shown: this model takes none"
    );
    assert_eq!((output.is_error, said(&output)), (true, want.as_str()));
    assert!(output.images.is_empty());
}

#[tokio::test]
async fn a_picture_that_cannot_be_shown_says_why() {
    let bench = Bench::new();
    bench.file("i.png", b"\x89PNG\r\n\x1a\n0123");
    let message = bench.bad("read", json!({ "path": "i.png" })).await;
    assert!(
        message.starts_with("i.png is a damaged PNG picture: "),
        "{message}"
    );
    let path = bench.file("huge.png", png(1, 1));
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(33 << 20).unwrap();
    let message = bench.bad("read", json!({ "path": "huge.png" })).await;
    let want =
        "huge.png has more than 32 MiB, too much to be shown; use a command to see a part of it";
    assert_eq!(message, want);
    bench.file("fine.png", png(1, 1));
    bench.cancel.cancel();
    let message = bench.bad("read", json!({ "path": "fine.png" })).await;
    assert_eq!(message, "aborted before it was done");
}

#[tokio::test]
async fn a_picture_that_was_seen_may_be_replaced() {
    let bench = Bench::new();
    let path = bench.file("i.png", png(1, 1));
    bench.good("read", json!({ "path": "i.png" })).await;
    std::fs::write(&path, png(2, 2)).unwrap();
    let input = json!({ "path": "i.png", "content": "text" });
    let message = bench.bad("write", input.clone()).await;
    assert!(message.contains("changed"), "{message}");
    bench.good("read", json!({ "path": "i.png" })).await;
    bench.good("write", input).await;
}

fn utf16(text: &str) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

#[tokio::test]
async fn text_in_utf_16_is_read_and_not_damaged() {
    let bench = Bench::new();
    let raw = utf16("äa\r\nb\r\n");
    bench.file("f.txt", &raw);
    let want = "     1\täa\n     2\tb\n\
                [the file is text in UTF-16; edit refuses it, and write would make it UTF-8]\n";
    assert_eq!(bench.good("read", json!({ "path": "f.txt" })).await, want);
    let input = json!({ "path": "f.txt", "old_text": "a", "new_text": "é" });
    let message = bench.bad("edit", input).await;
    let want = "f.txt is text in UTF-16, which edit would damage; convert it to UTF-8 with a command, \
                or replace it with write";
    assert_eq!(message, want);
    assert_eq!(bench.bytes("f.txt"), raw);
    bench.file("noise", b"\xff\xfe\x00\xd8\x01\x00\x00");
    let message = bench.bad("read", json!({ "path": "noise" })).await;
    let want = "noise is a binary file (7 bytes) and is not shown: it starts like text in UTF-16, and is none";
    assert_eq!(message, want);
}
