//! What browsers that are in can do, and how they are put out.

use futures_util::FutureExt as _;

use super::*;

#[tokio::test]
async fn a_ticket_takes_both_credentials_of_one_browser() {
    let world = World::new();
    let (one, two) = (world.enroll().await, world.enroll().await);
    let (cookie, secret) = (one.cookie.expose(), one.client_secret.expose());
    let unknown = format!("principal-x.{secret}");
    for (case, cookie, secret) in [
        ("no cookie", "", secret),
        ("another name in the cookie", unknown.as_str(), secret),
        (
            "a wrong cookie",
            &format!("{}.abc", one.principal_id),
            secret,
        ),
        ("no secret", cookie, ""),
        ("a wrong secret", cookie, "abc"),
        ("the cookie for the secret", cookie, cookie),
        (
            "another browser's secret",
            cookie,
            two.client_secret.expose(),
        ),
        ("another browser's cookie", two.cookie.expose(), secret),
        ("a huge secret", cookie, &"x".repeat(100_000)),
    ] {
        let result = world.security.bootstrap(cookie, secret, ORIGIN).await;
        assert!(is_refused(&result), "{case}");
    }
    assert!(world.ticket(&one).await.is_ok());
    assert_eq!(
        world.security.verifications(),
        0,
        "digests were at hand since the enrollment"
    );
}

#[tokio::test]
async fn a_ticket_needs_the_cookie_of_its_session() {
    let world = World::new();
    let (one, two) = (world.enroll().await, world.enroll().await);
    let ticket = world.ticket(&one).await.unwrap();
    let redeem = |ticket: &str, who: &Enrolled| {
        world
            .security
            .redeem_ticket(ticket, who.cookie.expose(), ORIGIN)
    };
    assert_eq!(redeem(&ticket, &two), None);
    assert_eq!(redeem(&ticket, &one), None, "consumed by being shown");
    let ticket = world.ticket(&one).await.unwrap();
    assert_eq!(redeem(&ticket, &one), Some(one.principal_id.clone()));
    let ticket = world.ticket(&one).await.unwrap();
    world.advance(30_000);
    assert_eq!(redeem(&ticket, &one), None, "expired");
}

#[tokio::test]
async fn credentials_outlive_a_restart_and_are_verified_the_costly_way_once() {
    let mut world = World::new();
    let one = world.enroll().await;
    world.restart();
    let cookie = one.cookie.expose();
    assert!(is_refused(
        &world.security.bootstrap(cookie, "wrong", ORIGIN).await
    ));
    assert_eq!(
        world.security.verifications(),
        2,
        "the cookie, the wrong secret"
    );
    for _ in 0..3 {
        assert!(world.ticket(&one).await.is_ok());
    }
    assert_eq!(world.security.verifications(), 3, "the right secret, once");
    assert!(is_refused(
        &world.security.bootstrap(cookie, "wrong", ORIGIN).await
    ));
    let forged = format!("{}.abc", one.principal_id);
    assert!(is_refused(
        &world.security.bootstrap(&forged, "x", ORIGIN).await
    ));
    assert_eq!(
        world.security.verifications(),
        3,
        "what is wrong costs nothing then"
    );
    let stranger = "principal-0123.abc";
    assert!(is_refused(
        &world.security.bootstrap(stranger, "x", ORIGIN).await
    ));
    assert_eq!(world.security.verifications(), 3, "nor does a stranger");
}

#[tokio::test]
async fn logging_out_ends_cookie_secret_and_tickets_for_good() {
    let mut world = World::new();
    let (one, two) = (world.enroll().await, world.enroll().await);
    let ticket = world.ticket(&one).await.unwrap();
    let kept = world.ticket(&two).await.unwrap();
    let removed = world
        .security
        .logout(one.cookie.expose())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(removed.principal_id, one.principal_id);
    assert!(removed.stored.is_ok());
    assert!(!world.security.is_enrolled(&one.principal_id));
    let redeem =
        |t: &str, who: &Enrolled| world.security.redeem_ticket(t, who.cookie.expose(), ORIGIN);
    assert_eq!(redeem(&ticket, &one), None);
    assert!(
        is_refused(&world.ticket(&one).await),
        "the cached digests are gone too"
    );
    assert!(
        world
            .security
            .logout(one.cookie.expose())
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(
        redeem(&kept, &two),
        Some(two.principal_id.clone()),
        "the other one stays"
    );
    world.restart();
    assert!(
        is_refused(&world.ticket(&one).await),
        "also after a restart"
    );
    assert!(world.ticket(&two).await.is_ok());
}

#[tokio::test]
async fn logging_out_takes_the_right_cookie() {
    let world = World::new();
    let one = world.enroll().await;
    for cookie in ["", "abc", &format!("{}.abc", one.principal_id)] {
        assert!(
            world.security.logout(cookie).await.unwrap().is_none(),
            "{cookie}"
        );
    }
    assert!(world.ticket(&one).await.is_ok());
}

#[tokio::test]
async fn revoking_puts_a_browser_out_once() {
    let world = World::new();
    let one = world.enroll().await;
    let removed = world.security.revoke(&one.principal_id).await.unwrap();
    assert_eq!(removed.principal_id, one.principal_id);
    assert!(world.security.revoke(&one.principal_id).await.is_none());
    assert!(is_refused(&world.ticket(&one).await));
    assert_eq!(world.security.list().principals, []);
}

#[tokio::test]
async fn a_browser_not_seen_for_ninety_days_is_out_and_each_visit_starts_anew() {
    let world = World::new();
    let one = world.enroll().await;
    let day = 86_400_000;
    world.advance(89 * day);
    assert!(world.ticket(&one).await.is_ok());
    world.advance(89 * day);
    assert!(world.ticket(&one).await.is_ok());
    world.advance(90 * day);
    assert!(is_refused(&world.ticket(&one).await));
}

#[tokio::test]
async fn a_visit_is_stored_at_most_once_a_minute() {
    let world = World::new();
    let one = world.enroll().await;
    let stored = || std::fs::read_to_string(world.path()).unwrap();
    let before = stored();
    world.advance(59_999);
    world.ticket(&one).await.unwrap();
    assert_eq!(stored(), before);
    assert_eq!(
        world.security.list().principals[0].last_seen_at,
        START + 59_999
    );
    world.advance(1);
    world.ticket(&one).await.unwrap();
    assert!(stored().contains(&(START + 60_000).to_string()));
}

#[tokio::test]
async fn the_store_and_debug_output_hold_no_secret() {
    let world = World::new();
    let token = world.security.setup_token();
    let started = world.security.start_enrollment().unwrap();
    let one = world.enroll().await;
    let (cookie, secret) = (one.cookie.expose(), one.client_secret.expose());
    let issued = world
        .security
        .bootstrap(cookie, secret, ORIGIN)
        .await
        .unwrap();
    let file = std::fs::read_to_string(world.path()).unwrap();
    assert!(file.contains("$argon2id$"));
    let shown = format!("{file} {token:?} {started:?} {one:?} {issued:?}");
    let random = cookie.rsplit_once('.').unwrap().1;
    let nonce = started.nonce.expose();
    for raw in [
        token.token.as_str(),
        nonce,
        cookie,
        random,
        secret,
        issued.ticket.expose(),
    ] {
        assert!(!shown.contains(raw), "{shown}");
    }
}

#[tokio::test]
async fn a_browser_is_out_at_once_even_when_that_cannot_be_stored() {
    let world = World::new();
    let one = world.enroll().await;
    std::fs::remove_dir_all(world.home.path()).unwrap();
    let removed = world.security.revoke(&one.principal_id).await.unwrap();
    assert!(matches!(
        removed.stored,
        Err(SecurityError::Store(StoreError::Write { .. }))
    ));
    assert!(is_refused(&world.ticket(&one).await));
}

#[tokio::test]
async fn only_two_costly_hashes_are_computed_at_once_also_for_callers_that_went_away() {
    let mut world = World::new();
    let one = world.enroll().await;
    world.restart();
    let security = world.security.clone();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    for _ in 0..MAX_COSTLY {
        let held = Arc::clone(&held);
        let work = security.costly(move || held.lock().unwrap().recv());
        // Polled once, which starts the work, and then dropped.
        assert!(work.now_or_never().is_none());
    }
    let mut third = Box::pin(world.ticket(&one));
    assert!((&mut third).now_or_never().is_none());
    assert_eq!(security.inner.costly.available_permits(), 0);
    assert_eq!(security.verifications(), 0, "it waits for its turn");
    drop(release);
    assert!(third.await.is_ok());
}
