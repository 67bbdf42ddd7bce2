//! Lists: pages, cursors, cache hints and malformed tools.

use pegboard_model::{Limits, Reason};
use pegboard_testkit::Script;
use pegboard_testkit::script::{Cursors, Era, Malformed, Moment, ResponseShape};
use serde_json::{Value, json};

use crate::harness::{list, list_limited, names, refused};

fn paged(cursors: Cursors) -> Script {
    Script::new().tools(["a", "b", "c"]).with(|script| {
        script.list.page_size = Some(1);
        script.list.cursors = cursors;
    })
}

#[tokio::test]
async fn r_disc_02_all_pages_are_read() {
    let listing = list(&paged(Cursors::Sound)).await.unwrap();
    assert_eq!(
        (names(&listing), listing.pages),
        (vec!["a".into(), "b".into(), "c".into()], 3)
    );
    let legacy = list(&paged(Cursors::Sound).era(Era::Legacy)).await.unwrap();
    assert_eq!(names(&legacy), ["a", "b", "c"]);
}

#[tokio::test]
async fn r_disc_02_d05_a_repeated_cursor_is_a_loop() {
    refused(
        list(&paged(Cursors::Repeated)).await,
        &[Reason::PaginationLoop],
    );
}

#[tokio::test]
async fn r_disc_02_d06_pages_without_end_are_too_many() {
    refused(
        list(&paged(Cursors::Endless)).await,
        &[Reason::ListTooLarge],
    );
    refused(
        list(&paged(Cursors::EndlessEmpty)).await,
        &[Reason::ListTooLarge],
    );
}

#[tokio::test]
async fn r_disc_02_d07_an_empty_cursor_is_not_the_end() {
    assert_eq!(
        names(&list(&paged(Cursors::EmptyText)).await.unwrap()),
        ["a", "b", "c"]
    );
}

#[tokio::test]
async fn r_disc_02_d07_a_large_cursor_is_kept_and_a_huge_one_refused() {
    assert_eq!(
        names(&list(&paged(Cursors::Huge(50_000))).await.unwrap()),
        ["a", "b", "c"]
    );
    refused(
        list(&paged(Cursors::Huge(1 << 20))).await,
        &[Reason::ListTooLarge, Reason::DiscoveryFailed],
    );
}

/// Cursors are strings; a number is either returned unchanged or refused, never misread.
#[tokio::test]
async fn r_disc_02_d07_a_cursor_that_is_a_number_never_gives_half_a_list() {
    match list(&paged(Cursors::Number)).await {
        Ok(listing) => assert_eq!(names(&listing), ["a", "b", "c"]),
        failed => drop(refused(failed, &[Reason::DiscoveryFailed])),
    }
}

#[tokio::test]
async fn r_disc_02_d08_one_failing_page_fails_the_whole_list() {
    let script = paged(Cursors::Sound).with(|script| script.list.fail_page = Some(3));
    refused(list(&script).await, &[Reason::DiscoveryFailed]);
}

#[tokio::test]
async fn r_disc_02_d04_an_error_in_place_of_the_list_is_reported() {
    let error = refused(
        list(
            &Script::new()
                .tools(["a"])
                .answer(Moment::List, ResponseShape::Error(-32603)),
        )
        .await,
        &[Reason::DiscoveryFailed],
    );
    assert!(error.message.contains("-32603"), "{error}");
    assert!(error.retryable);
}

#[tokio::test]
async fn r_disc_02_a_response_that_is_not_a_list_is_reported() {
    for tools in [json!("tools"), json!({}), json!(7)] {
        let script = Script::new().with(|script| script.list.tools_are = tools.clone());
        refused(list(&script).await, &[Reason::DiscoveryFailed]);
    }
    for result in [json!({}), json!([]), json!(null), json!("x")] {
        let script = Script::new().answer(Moment::List, ResponseShape::Result(result));
        refused(
            list(&script).await,
            &[Reason::DiscoveryFailed, Reason::FrameInvalid],
        );
    }
}

#[tokio::test]
async fn r_disc_09_a_server_without_tools_is_a_success() {
    for era in [Era::Both, Era::Legacy, Era::Modern] {
        assert!(
            list(&Script::new().era(era))
                .await
                .unwrap()
                .tools
                .is_empty()
        );
    }
}

#[tokio::test]
async fn r_disc_12_d09_cache_hints_are_clamped_and_nonsense_is_no_hint() {
    let longest = Some(24 * 3600 * 1000);
    let table: [(Value, Option<u64>); 9] = [
        (json!(60_000), Some(60_000)),
        (json!(0), None),
        (json!(-1), None),
        (json!("60000"), None),
        (json!(9_223_372_036_854_775_808_u64), longest),
        (json!(1.5), None),
        (json!([60_000]), None),
        (json!(true), None),
        (json!(86_400_001), longest),
    ];
    for (ttl, expected) in table {
        let script = Script::new().tools(["a"]).with(|script| {
            script.list.ttl_ms = ttl.clone();
            script.list.cache_scopes = vec![json!("public")];
        });
        let listing = list(&script).await.unwrap();
        assert_eq!(
            (listing.ttl_ms, listing.private),
            (expected, false),
            "{ttl}"
        );
    }
}

#[tokio::test]
async fn r_disc_12_d11_scopes_that_differ_between_pages_count_as_private() {
    let private = async |scopes: Vec<Value>| {
        list(&paged(Cursors::Sound).with(|script| script.list.cache_scopes = scopes))
            .await
            .unwrap()
            .private
    };
    assert!(!private(vec![json!("public")]).await);
    assert!(private(vec![json!("private")]).await);
    assert!(private(vec![json!("public"), json!("private"), json!("public")]).await);
    assert!(private(vec![json!("public"), json!(7)]).await);
}

#[tokio::test]
async fn r_sec_01_malformed_tools_are_rejected_alone() {
    let script = Script::new()
        .tools(["good"])
        .with(|script| script.list.malformed = Malformed::BREAK_TYPED_CLIENTS.into());
    let listing = list(&script).await.unwrap();
    let expected: Vec<Value> = script.list.tools_at(1);
    let received: Vec<Value> = listing
        .tools
        .iter()
        .map(|tool| serde_json::from_str(tool.get()).unwrap())
        .collect();
    assert_eq!(
        received, expected,
        "each definition verbatim, including malformed ones"
    );
}

#[tokio::test]
async fn r_sec_01_more_tools_than_allowed_are_refused() {
    let made = |count| Script::new().with(|script| script.list.made = count);
    let limits = Limits {
        tools_per_server: 50,
        ..Limits::default()
    };
    assert_eq!(
        list_limited(&made(50), limits.clone())
            .await
            .unwrap()
            .tools
            .len(),
        50
    );
    refused(
        list_limited(&made(51), limits).await,
        &[Reason::ListTooLarge],
    );
}

#[tokio::test]
async fn r_disc_02_slow_pages_share_one_time_out() {
    let script = paged(Cursors::Endless).with(|script| script.list.page_delay_ms = 200);
    refused(list(&script).await, &[Reason::DiscoveryTimeout]);
}
