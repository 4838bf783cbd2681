//! How browsers are let in.

use super::*;

#[tokio::test]
async fn a_setup_token_lets_one_browser_in_and_its_address_holds_it() {
    let world = World::new();
    let token = world.security.setup_token();
    assert_eq!(token.url, format!("{ORIGIN}/#setup={}", token.token));
    assert_eq!(token.expires_at, START + 600_000);
    let enrolled = world
        .security
        .redeem_token(&token.token, Some("Fox\n/1"))
        .await
        .unwrap();
    assert!(
        is_refused(&world.security.redeem_token(&token.token, None).await),
        "used"
    );
    let list = world.security.list();
    assert_eq!(list.principals.len(), 1);
    assert_eq!(list.principals[0].principal_id, enrolled.principal_id);
    assert_eq!(list.principals[0].user_agent.as_deref(), Some("Fox/1"));
    let late = world.security.setup_token();
    world.advance(600_000);
    assert!(
        is_refused(&world.security.redeem_token(&late.token, None).await),
        "expired"
    );
    let long = "x".repeat(100_000);
    assert!(is_refused(&world.security.redeem_token(&long, None).await));
}

#[tokio::test]
async fn ten_wrong_tokens_or_nonces_throttle_the_right_ones_for_a_minute_and_use_none_up() {
    let world = World::new();
    let token = world.security.setup_token().token;
    let started = world.security.start_enrollment().unwrap();
    assert!(world.security.approve(&started.code));
    for n in 0..5 {
        assert!(
            is_refused(&world.security.redeem_token("wrong", None).await),
            "{n}"
        );
        let claimed = world.security.claim("wrong", None).await;
        assert!(matches!(claimed, Ok(Claimed::Gone)), "{n}");
    }
    world.advance(59_999);
    assert!(is_throttled(
        &world.security.redeem_token("wrong", None).await
    ));
    assert!(
        is_throttled(&world.security.redeem_token(&token, None).await),
        "no oracle"
    );
    assert!(is_throttled(
        &world.security.claim(started.nonce.expose(), None).await
    ));
    world.advance(1);
    assert!(world.security.redeem_token(&token, None).await.is_ok());
    let claimed = world.security.claim(started.nonce.expose(), None).await;
    assert!(matches!(claimed, Ok(Claimed::Enrolled(_))));
}

#[tokio::test]
async fn right_tokens_are_never_counted_as_wrong() {
    let world = World::new();
    for _ in 0..12 {
        world.enroll().await;
    }
    let started = world.security.start_enrollment().unwrap();
    for _ in 0..30 {
        let claimed = world.security.claim(started.nonce.expose(), None).await;
        assert!(
            matches!(claimed, Ok(Claimed::Pending)),
            "waiting is no mistake"
        );
    }
}

#[test]
fn enrollments_start_at_most_ten_times_a_minute() {
    let world = World::new();
    for n in 0..10 {
        assert!(world.security.start_enrollment().is_ok(), "{n}");
    }
    assert!(is_throttled(&world.security.start_enrollment()));
    world.advance(60_000);
    assert!(world.security.start_enrollment().is_ok());
}

#[tokio::test]
async fn an_approved_browser_claims_once() {
    let world = World::new();
    let started = world.security.start_enrollment().unwrap();
    assert_eq!(started.expires_at, START + 300_000);
    let pending = world.security.list().pending;
    assert_eq!((pending.len(), &pending[0].code), (1, &started.code));
    assert!(!world.security.approve("AAAA-AAAA"));
    assert!(world.security.approve(&started.code.to_lowercase()));
    assert_eq!(world.security.list().pending, []);
    let nonce = started.nonce.expose();
    let Ok(Claimed::Enrolled(enrolled)) = world.security.claim(nonce, None).await else {
        panic!("the claim of an approved code");
    };
    assert!(world.ticket(&enrolled).await.is_ok());
    assert!(matches!(
        world.security.claim(nonce, None).await,
        Ok(Claimed::Gone)
    ));
}

#[tokio::test]
async fn a_browser_that_cannot_be_stored_is_not_let_in() {
    let world = World::new();
    let token = world.security.setup_token().token;
    std::fs::remove_dir_all(world.home.path()).unwrap();
    let error = world.security.redeem_token(&token, None).await.unwrap_err();
    assert!(error.to_string().contains("security-v1.json"), "{error}");
    assert_eq!(world.security.list().principals, []);
}
