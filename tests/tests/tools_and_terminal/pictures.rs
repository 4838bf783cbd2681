//! Pictures, by prompt and by `read`: what the model is sent, and what stays.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{GenericImageView as _, ImageFormat, Rgb, RgbImage};
use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Answer, Home, Provider, Request, ScriptedModel, Turn, reply, text, tool,
};

use crate::word;

/// What a provider takes of one picture, in base64.
const LARGEST: usize = 5 * 1024 * 1024;

fn file(picture: &RgbImage) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// Few bytes, many pixels.
fn wide() -> Vec<u8> {
    let wide = file(&RgbImage::new(10_000, 800));
    assert!(wide.len() < 200_000, "{}", wide.len());
    wide
}

/// Few pixels, many bytes.
fn heavy() -> Vec<u8> {
    let mut state = 1_u32;
    let picture = RgbImage::from_fn(1200, 1120, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [_, r, g, b] = state.to_le_bytes();
        Rgb([r, g, b])
    });
    let heavy = file(&picture);
    assert!(STANDARD.encode(&heavy).len() > LARGEST);
    heavy
}

fn attached(bytes: &[u8]) -> Value {
    json!({"type": "image", "data": STANDARD.encode(bytes), "mime_type": "image/jpeg"})
}

/// The pictures of a request, as base64, in order. Each must be one that its type says.
fn pictures(request: &Request) -> Vec<String> {
    let mut found = Vec::new();
    for message in request.messages() {
        for block in message["content"].as_array().into_iter().flatten() {
            let url = word(&block["image_url"]["url"]);
            let (mime_type, data) = match url.split_once(";base64,") {
                Some((kind, data)) => (kind.strip_prefix("data:").unwrap(), data),
                None if block["type"] == "image" => {
                    let source = &block["source"];
                    (word(&source["media_type"]), word(&source["data"]))
                }
                None => continue,
            };
            let bytes = STANDARD.decode(data).unwrap();
            let format = image::guess_format(&bytes).unwrap();
            assert_eq!(format.to_mime_type(), mime_type);
            found.push(data.to_owned());
        }
    }
    found
}

fn size(base64: &str) -> (u32, u32) {
    assert!(base64.len() < LARGEST, "{}", base64.len());
    let bytes = STANDARD.decode(base64).unwrap();
    image::load_from_memory(&bytes).unwrap().dimensions()
}

fn look(path: &str) -> Value {
    json!({ "path": path })
}

async fn prompt(agent: &AgentProcess, images: &[Value]) -> Turn {
    let mark = agent.mark();
    let prompt = json!({"message": "what is this?", "images": images});
    agent.ok("prompt", prompt).await;
    agent.follow(mark, |_| Answer::Leave).await
}

#[tokio::test]
async fn a_picture_that_was_read_is_sent_and_stays_after_a_restart() {
    for provider in [Provider::OpenAi, Provider::Anthropic] {
        let model = ScriptedModel::start([
            reply![tool("read", look("a.png")), tool("read", look("b.png"))],
            reply![text("two dots")],
            reply![text("still two")],
            reply![text("no eyes")],
        ]);
        let home = Home::builder().model(&model).provider(provider).build();
        let files = [RgbImage::new(3, 2), RgbImage::new(4, 2)].map(|picture| file(&picture));
        home.write("a.png", &files[0]);
        home.write("b.png", &files[1]);
        let sent: Vec<_> = files.iter().map(|bytes| STANDARD.encode(bytes)).collect();
        let agent = AgentProcess::start(&home, &[]);
        let turn = agent.turn("look").await;
        assert_eq!(turn.text(), "two dots");
        assert_eq!(
            turn.result_text(0),
            "a.png is a picture (PNG, 3x2); it follows"
        );
        assert_eq!(turn.results()[1]["images"][0]["data"], sent[1]);
        assert_eq!(pictures(&model.request(1).await), sent);
        agent.quit().await;
        let again = AgentProcess::start(&home, &["--continue"]);
        let window = again.sync().await["live_window"]["messages"].clone();
        let blocks = window[2]["content"].as_array().unwrap();
        assert_eq!(blocks[0]["type"], "tool_result");
        assert_eq!(
            blocks[1],
            json!({"type": "image", "data": "", "mime_type": "image/png", "omitted": true})
        );
        again.turn("and now?").await;
        assert_eq!(pictures(&model.request(2).await), sent);
        again.ok("set_model", json!({"model": "mock/plain"})).await;
        again.turn("blind now").await;
        assert_eq!(pictures(&model.request(3).await).len(), 0);
    }
}

#[tokio::test]
async fn a_model_without_eyes_is_told_what_the_file_is() {
    let model = ScriptedModel::start([reply![tool("read", look("a.png"))], reply![text("a pity")]]);
    let home = Home::new(&model);
    home.write("a.png", file(&RgbImage::new(3, 2)));
    let agent = AgentProcess::start(&home, &["--model", "mock/plain"]);
    let turn = agent.turn("look").await;
    assert_eq!(turn.text(), "a pity");
    assert!(
        turn.result_text(0).contains("PNG, 3x2"),
        "{}",
        turn.result_text(0)
    );
    let sent = model.request(1).await;
    assert!(sent.tool_results()[0].1.contains("this model takes none"));
    assert_eq!(pictures(&sent).len(), 0);
}

#[tokio::test]
async fn a_picture_that_is_too_large_is_scaled_when_it_is_read() {
    let model = ScriptedModel::start([
        reply![
            tool("read", look("wide.png")),
            tool("read", look("heavy.png"))
        ],
        reply![text("seen")],
        reply![text("still here")],
    ]);
    let home = Home::builder()
        .model(&model)
        .provider(Provider::Anthropic)
        .build();
    home.write("wide.png", wide());
    home.write("heavy.png", heavy());
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("look").await;
    let said = turn.result_text(0);
    assert!(said.contains("10000x800, scaled to 2000x160"), "{said}");
    let sent = pictures(&model.request(1).await);
    assert_eq!(
        sent.iter().map(|it| size(it)).collect::<Vec<_>>(),
        [(2000, 160), (1200, 1120)]
    );
    assert_eq!(agent.turn("go on").await.text(), "still here");
    assert_eq!(pictures(&model.request(2).await), sent);
}

#[tokio::test]
async fn a_picture_that_is_too_large_is_scaled_when_it_is_attached() {
    let model = ScriptedModel::start([reply![text("seen")], reply![text("still here")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let turn = prompt(&agent, &[attached(&wide()), attached(&heavy())]).await;
    assert_eq!(turn.text(), "seen");
    let sent = pictures(&model.request(0).await);
    assert_eq!(
        sent.iter().map(|it| size(it)).collect::<Vec<_>>(),
        [(2000, 160), (1200, 1120)]
    );
    agent.kill9().await;
    let agent = AgentProcess::start(&home, &["--continue"]);
    assert_eq!(agent.turn("go on").await.text(), "still here");
    assert_eq!(pictures(&model.request(1).await), sent);
}

#[tokio::test]
async fn what_is_no_picture_is_refused_and_the_next_turn_works() {
    let model = ScriptedModel::start([reply![text("fine")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let whole = file(&RgbImage::new(300, 200));
    for (bytes, want) in [
        (&b"plain words"[..], "is no picture"),
        (&whole[..whole.len() / 2], "is a damaged PNG picture"),
    ] {
        let wish = json!({"message": "what is this?", "images": [attached(bytes)]});
        let error = agent.err("prompt", wish).await;
        assert_eq!(error["code"], "INVALID_REQUEST");
        assert!(word(&error["message"]).contains(want), "{error}");
    }
    assert_eq!(agent.turn("then in words").await.text(), "fine");
    assert_eq!(pictures(&model.request(0).await).len(), 0);
    agent.quit().await;
    let stored = std::fs::read_to_string(home.session_file()).unwrap();
    assert!(!stored.contains("what is this?"));
}

#[tokio::test]
async fn a_notebook_is_read_as_its_cells_and_its_pictures() {
    let model = ScriptedModel::start([reply![tool("read", look("n.ipynb"))], reply![text("read")]]);
    let home = Home::new(&model);
    let picture = STANDARD.encode(file(&RgbImage::new(3, 2)));
    let cell = json!({"cell_type": "code", "source": ["plot(x)"], "execution_count": 1, "metadata": {},
        "outputs": [{"output_type": "display_data", "metadata": {}, "data": {"image/png": picture}}]});
    let notebook = json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]});
    home.write("n.ipynb", notebook.to_string());
    let agent = AgentProcess::start(&home, &[]);
    agent.turn("look").await;
    let sent = model.request(1).await;
    let read = &sent.tool_results()[0].1;
    assert!(
        read.contains("--- cell 1: code, run as [1] ---\n     2\tplot(x)\n"),
        "{read}"
    );
    assert_eq!(pictures(&sent), [picture]);
}

#[tokio::test]
async fn an_agent_that_looks_at_pictures_still_ends_in_time() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.sync().await;
    let mut huge = Vec::new();
    let (best, plain) = (CompressionType::Best, FilterType::NoFilter);
    let encoder = PngEncoder::new_with_quality(&mut huge, best, plain);
    let pixels = image::GrayImage::new(12_000, 12_000);
    pixels.write_with_encoder(encoder).unwrap();
    let images = vec![attached(&huge); 20];
    let wish = json!({"type": "prompt", "id": "p", "message": "see?", "images": images});
    agent.send(wish).await;
    // What comes behind is taken in, so the prompt before it was as well.
    agent.ok("list_modes", json!({})).await;
    assert_eq!(agent.quit().await.code(), Some(0));
}
