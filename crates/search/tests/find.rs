//! Search by names and words in a small catalog.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails on unexpected values"
)]

mod office;

use office::{OFFICE, catalog};
use pegboard_search::{Query, QueryKind, SemanticCoverage, ToolPosition};

#[test]
fn r_find_01_exact_names_come_first() {
    let office = catalog(OFFICE);
    for request in [
        "create_issue",
        "CREATE-ISSUE",
        "createIssue",
        "create issue",
        "github__create_issue",
        "github/create_issue",
        "github create issue",
        "GitHub.create_issue",
    ] {
        office.check(request, &["github/create_issue"]);
        let found = office.index.search(&Query::words(request), 3);
        assert_eq!(found.kind, QueryKind::ExactName, "{request}");
    }
    office.check("read_multiple_files", &["files/readMultipleFiles"]);
}

#[test]
fn r_find_01_equal_names_are_ordered_by_exposed_name() {
    catalog(OFFICE).check("search", &["files/search", "github/search", "mail/search"]);
    catalog(OFFICE).check("mail search", &["mail/search"]);
}

#[test]
fn r_find_01_a_prefix_of_a_name_finds_it() {
    let office = catalog(OFFICE);
    office.check(
        "create_iss",
        &["github/create_issue", "github/create_issue_comment"],
    );
    office.check(
        "github create_iss",
        &["github/create_issue", "github/create_issue_comment"],
    );
    office.check("forec", &["weather/forecast"]);
}

#[test]
fn r_find_01_typos_are_found() {
    let office = catalog(OFFICE);
    for typed in [
        "close_isue",
        "colse_issue",
        "close_issuse",
        "xlose_issue",
        "closeissu",
        "closs_isue",
    ] {
        office.check(typed, &["github/close_issue"]);
    }
    office.check("delete fiel", &["files/delete_file"]);
    office.check("please send a mesage to ann", &["mail/send_message"]);
}

#[test]
fn r_find_01_a_named_server_lists_its_tools() {
    let office = catalog(OFFICE);
    for request in [
        "all github tools",
        "list github",
        "which tools does GitHub have?",
        "tools of github",
    ] {
        let found = office.index.search(&Query::words(request), 10);
        assert_eq!(found.kind, QueryKind::NamedServer(0), "{request}");
        assert_eq!((found.hits.len(), found.total), (5, 5), "{request}");
        assert!(
            found.hits.iter().all(|hit| hit.at.segment == 0),
            "{request}"
        );
    }
    let found = office.index.search(&Query::words("weather"), 10);
    assert_eq!(found.kind, QueryKind::NamedServer(3));
    assert_eq!(office.names(&found)[0], "weather/forecast");
}

#[test]
fn r_find_03_the_limit_holds_and_the_total_counts_all() {
    let office = catalog(OFFICE);
    for limit in [0, 1, 2, 5] {
        let found = office
            .index
            .search(&Query::words("finds issue file"), limit);
        assert_eq!(found.hits.len(), limit);
        assert!(found.total >= 7, "{}", found.total);
    }
    let all = office
        .index
        .search(&Query::words("finds issue file"), usize::MAX);
    assert_eq!(all.hits.len(), all.total);
    let first: Vec<ToolPosition> = all.hits.iter().take(3).map(|hit| hit.at).collect();
    let three = office.index.search(&Query::words("finds issue file"), 3);
    assert_eq!(
        three.hits.iter().map(|hit| hit.at).collect::<Vec<_>>(),
        first
    );
}

#[test]
fn r_ctx_04_words_of_names_and_descriptions_are_found_in_any_case() {
    let office = catalog(OFFICE);
    office.check("TEMPERATURE", &["weather/forecast"]);
    office.check("Temperatures of Cities", &["weather/forecast"]);
    office.check("code FINDING", &["github/search"]);
    office.check("天气", &["kochbuch/suche"]);
    office.check("RECIPE rezepte", &["kochbuch/suche"]);
    office.check("fur", &["kochbuch/suche"]);
    let nothing = office.index.search(&Query::words("xylophone quartz"), 5);
    assert_eq!((nothing.hits.len(), nothing.total), (0, 0));
    assert_eq!(nothing.by_meaning, SemanticCoverage::None);
}

#[test]
fn synonyms_are_found() {
    let office = catalog(OFFICE);
    office.check("get rid of a document", &["files/delete_file"]);
    office.check("post mail", &["mail/send_message"]);
}

#[test]
fn literal_values_are_ignored() {
    let office = catalog(OFFICE);
    office.check(
        "read \"close issue\" from /tmp/issue/close.txt",
        &["files/read_file"],
    );
    office.check("\"close issue\"", &["github/close_issue"]);
}

#[test]
fn r_find_01_a_request_does_not_rank_the_opposite_first() {
    let tracker = catalog(&[
        "tracker: delete_issue Deletes an issue.",
        "tracker: update_issue Changes an issue, for example its state to closed.",
        "tracker: create_issue Creates an issue.",
        "mail: subscribe_list Subscribes to a list.",
        "mail: unsubscribe_list Unsubscribes from a list.",
    ]);
    let first = |request: &str| {
        let found = tracker.index.search(&Query::words(request), 1);
        tracker.names[found.hits[0].at.segment][found.hits[0].at.tool].clone()
    };
    assert_ne!(first("close an issue"), "tracker/delete_issue");
    assert_eq!(first("please erase an issue"), "tracker/delete_issue");
    assert_eq!(first("new issue"), "tracker/create_issue");
}

#[test]
fn r_find_03_confidence_is_high_for_names_and_low_for_noise() {
    let office = catalog(OFFICE);
    let confidence = |request: &str| {
        let found = office.index.search(&Query::words(request), 1);
        found.hits.first().map_or(0.0, |hit| hit.confidence)
    };
    assert_eq!(confidence("create_issue"), 1.0);
    assert!(confidence("create an issue on github") > confidence("issue of my breakfast"));
    assert!(confidence("zzzz qqqq") < pegboard_search::GOOD_MATCH);
}
