//! Results do not depend on how the index was built, and no input breaks the search.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails on unexpected values"
)]

mod office;

use std::sync::Arc;

use office::{OFFICE, catalog, segments};
use pegboard_search::{Index, Query, Segment, SegmentBuilder, ServerText, ToolPosition, ToolText};
use proptest::prelude::*;

#[test]
fn an_index_of_reused_segments_equals_a_new_one() {
    let kept = segments(OFFICE);
    let mut lines = OFFICE.to_vec();
    lines[11] = "weather: forecast Returns the amount of rain";
    lines.push("weather: history Returns earlier weather");
    let rebuilt = segments(&lines);
    let mixed = kept.iter().enumerate().map(|(at, segment)| {
        if at == 3 {
            rebuilt[3].clone()
        } else {
            segment.clone()
        }
    });
    let (mixed, rebuilt) = (Index::new(mixed), Index::new(rebuilt));
    for text in [
        "rain",
        "forecast",
        "close an issue",
        "temperature",
        "histroy",
        "github tools",
    ] {
        let hits = |index: &Index| {
            let found = index.search(&Query::words(text), 20);
            let hits: Vec<(ToolPosition, f32)> =
                found.hits.iter().map(|hit| (hit.at, hit.score)).collect();
            (hits, found.total, found.kind)
        };
        assert_eq!(hits(&mixed), hits(&rebuilt), "{text}");
    }
}

#[test]
fn one_builder_for_all_servers_makes_the_same_segments() {
    let mut reader = SegmentBuilder::default();
    let tool = |name: &'static str| ToolText {
        name,
        exposed: name,
        description: "Reads the words of words".into(),
        input_schema: "{}",
        aliases: &[],
    };
    for tools in [vec!["read_word", "words"], vec!["words", "read"], vec![]] {
        let together = reader.segment(None, tools.iter().map(|name| tool(name)));
        let alone = Segment::new(None, tools.iter().map(|name| tool(name)));
        assert_eq!(format!("{together:?}"), format!("{alone:?}"));
    }
}

#[test]
fn an_empty_index_or_query_is_not_an_error() {
    let empty = Index::new([]);
    assert!(empty.is_empty());
    assert!(empty.search(&Query::words("issue"), 5).hits.is_empty());
    let office = catalog(OFFICE);
    for text in ["", "   ", "!?", "\u{0}"] {
        assert!(
            office.index.search(&Query::words(text), 5).hits.is_empty(),
            "{text:?}"
        );
    }
    let nothing = Segment::new(None, []);
    assert!(nothing.is_empty());
}

proptest! {
    #[test]
    fn any_text_is_searched_and_found_the_same_way_twice(
        name in "\\PC{0,20}", description in any::<String>(), schema in any::<String>(), request in any::<String>(),
        limit in 0_usize..5,
    ) {
        let tools = || [ToolText {
            name: &name,
            exposed: &name,
            description: description.as_str().into(),
            input_schema: &schema,
            aliases: &[],
        }];
        let server = || Some(ServerText { name: &request, description: &schema });
        let index = || Index::new([Arc::new(Segment::new(server(), tools())), Arc::new(Segment::new(None, tools()))]);
        for text in [&request, &name, &description] {
            let hits = |index: &Index| {
                let query = Query { explain: true, ..Query::words(text) };
                let found = index.search(&query, limit);
                prop_assert!(found.hits.len() <= limit && found.total <= 2);
                let hits: Vec<(ToolPosition, f32)> = found.hits.iter().map(|hit| (hit.at, hit.score)).collect();
                Ok(hits)
            };
            prop_assert_eq!(hits(&index())?, hits(&index())?);
        }
    }

    #[test]
    fn words_of_any_kind_find_their_own_tool(word in "[a-z]{3,12}") {
        let tools = [format!("{word}_thing"), "other_stuff".to_owned()];
        let texts = tools.iter().map(|name| ToolText {
            name, exposed: name, description: "".into(), input_schema: "{}", aliases: &[],
        });
        let index = Index::new([Arc::new(Segment::new(None, texts))]);
        let found = index.search(&Query::words(&format!("{word} thing")), 1);
        prop_assert_eq!(found.hits[0].at, ToolPosition { segment: 0, tool: 0 });
    }
}
