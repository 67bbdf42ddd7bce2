use insta::assert_snapshot;
use pegboard_catalog::Catalog;
use pegboard_metatools::context_summary;

use super::{catalog_of, ordinary, small, tokens};
use crate::fixture::catalog;

#[test]
fn r_ctx_01_the_summary_names_essential_tools_and_counts_the_others() {
    assert_snapshot!(context_summary(&small(), &[]), @r"
    You have access to 4 tools of 2 servers through Pegboard:
    - github: close_issue, create_issue, search_code
    - mail: 1 tool
    Find a tool with search_tools, read what it takes with get_tool_description, run it with call_tool.
    ");
    let many = catalog(&[
        "files: read write searchAll search_a search_b search_c search_d search_e",
        "time: now",
    ]);
    assert_snapshot!(context_summary(&many, &[]), @r"
    You have access to 9 tools of 2 servers through Pegboard:
    - files: searchAll, search_a, search_b, search_c, search_d, +3 more
    - time: 1 tool
    Find a tool with search_tools, read what it takes with get_tool_description, run it with call_tool.
    ");
}

#[test]
fn r_ctx_01_the_patterns_are_configurable() {
    let essential = ["*ISSUE".to_owned(), "mail__s?nd".to_owned()];
    assert_snapshot!(context_summary(&small(), &essential), @r"
    You have access to 4 tools of 2 servers through Pegboard:
    - github: close_issue, create_issue, +1 more
    - mail: send
    Find a tool with search_tools, read what it takes with get_tool_description, run it with call_tool.
    ");
}

#[test]
fn r_ctx_01_an_empty_catalog_gives_a_fixed_sentence() {
    assert_snapshot!(context_summary(&Catalog::default(), &[]), @"You have access to external tools through Pegboard. They are discovered when they are first needed: find one with search_tools.");
}

#[test]
fn r_ctx_01_many_servers_are_counted() {
    assert_snapshot!(
        "thirty_servers",
        context_summary(&catalog_of(30, 54, ordinary), &[])
    );
    assert_snapshot!(
        "many_servers",
        context_summary(&catalog_of(112, 22, ordinary), &[])
    );
}

#[test]
fn r_ctx_01_the_summary_stays_under_500_tokens_at_any_size() {
    for (servers, tools) in [
        (1, 1),
        (1, 60),
        (9, 54),
        (30, 54),
        (112, 22),
        (1, 10_000),
        (5_000, 1),
    ] {
        let catalog = catalog_of(servers, tools, ordinary);
        let text = context_summary(&catalog, &[]);
        assert!(
            tokens(&text) < 500,
            "{servers} × {tools}: {}\n{text}",
            tokens(&text)
        );
        assert!(
            text.contains(&format!(" {} tool", servers * tools)),
            "{text}"
        );
        assert_eq!(
            text,
            context_summary(&catalog, &[]),
            "the same catalog gives the same bytes"
        );
        let all = context_summary(&catalog, &["*".to_owned()]);
        assert!(tokens(&all) < 500, "{}", tokens(&all));
    }
}
