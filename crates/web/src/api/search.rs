//! Finding tools, and why each was found.

use axum::extract::State;
use pegboard_catalog::{ScoreExplanation, SemanticCoverage, ToolSearch};
use pegboard_search::{MatchKind, MatchedWord, NameMatchKind};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::tool_list::{ToolSummary, limit};
use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::Query;
use crate::response::NoStoreJson;
use crate::role::Authorized;
use crate::state::WebState;

/// Hits when nothing is said.
const DEFAULT_HITS: usize = 10;
/// Hits at the most.
const MAX_HITS: usize = 100;
/// Characters of a query at the most; nobody asks in more.
const QUERY_CHARACTERS: usize = 1_000;

/// What is looked for.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SearchQuery {
    /// What is wanted, in words or as a name.
    #[param(example = "close an issue", max_length = 1000)]
    q: String,
    /// How many tools at the most; 10 when left out.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
    /// Whether each hit says why it was found.
    #[serde(default)]
    explain: bool,
}

/// What was found.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Hits {
    /// The best tools, the best first.
    hits: Vec<Hit>,
    /// How many tools match at all.
    total: usize,
    /// How far meaning took part: `all`, `some` or `none` of the tools were read for it.
    by_meaning: &'static str,
}

/// A tool that was found.
#[derive(Serialize, ToSchema)]
pub(super) struct Hit {
    /// How well it matches; comparable within one answer only.
    score: f32,
    /// The tool.
    tool: ToolSummary,
    /// Why it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<ScoreParts>,
}

/// The parts of a score; they add up to it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScoreParts {
    /// How the query fits the tool's name, when it does: `exact`, `beginning` or `typo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    /// What the name gives.
    name_part: f32,
    /// What the words give.
    words: f32,
    /// What it gives that the rarest words were met.
    coverage: f32,
    /// What the server's name gives.
    server: f32,
    /// What the meaning gives.
    meaning: f32,
    /// What earlier searches that ended in a call give.
    memory: f32,
    /// The words that were met.
    matched: Vec<WordMatch>,
}

/// A word of the query that was met.
#[derive(Serialize, ToSchema)]
pub(super) struct WordMatch {
    /// The word of the query.
    word: String,
    /// The word of the tool.
    met: String,
    /// How: `same`, `joined`, `synonym` or `typo`.
    via: &'static str,
    /// Where: names of fields.
    fields: Vec<&'static str>,
    /// What it gives.
    weight: f32,
}

/// Finds tools.
#[utoipa::path(
    get,
    operation_id = "searchTools",
    path = "/search",
    tag = "tools",
    params(SearchQuery),
    responses(
        (status = 200, description = "What was found", body = Hits),
        (status = 400, description = "A value of the query is wrong", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
    )
)]
pub(super) async fn search(
    _: Authorized,
    State(state): State<WebState>,
    Query(query): Query<SearchQuery>,
) -> ApiResult<NoStoreJson<Hits>> {
    let limit = limit(query.limit, DEFAULT_HITS, MAX_HITS)?;
    if query.q.chars().count() > QUERY_CHARACTERS {
        let message = format!("`q` is longer than {QUERY_CHARACTERS} characters");
        return Err(ApiError::at_field("q", message));
    }
    state.hub().discover_unknown_in_background();
    // Encoding a query is work for a processor, which other requests must not wait for.
    let found = tokio::task::spawn_blocking(move || {
        let finder = state.hub().finder(None);
        let finder = match query.explain {
            true => finder.explaining(),
            false => finder,
        };
        let catalog = state.hub().catalog();
        let found = finder.find(&catalog, &query.q, limit);
        let hits = found.hits.iter().filter(|hit| !hit.tool.is_internal());
        let hits = hits.map(|hit| Hit {
            score: hit.score,
            tool: ToolSummary::of(&hit.tool),
            why: hit.why.as_deref().map(ScoreParts::of),
        });
        Hits {
            hits: hits.collect(),
            total: found.total,
            by_meaning: match found.by_meaning {
                SemanticCoverage::All => "all",
                SemanticCoverage::Some => "some",
                SemanticCoverage::None => "none",
            },
        }
    });
    let found = found
        .await
        .map_err(|_| ApiError::of(pegboard_model::Reason::Internal))?;
    Ok(NoStoreJson(found))
}

impl ScoreParts {
    fn of(why: &ScoreExplanation) -> Self {
        Self {
            name: why.name.map(|name| match name.kind {
                NameMatchKind::Exact => "exact",
                NameMatchKind::Prefix => "beginning",
                NameMatchKind::Typo(_) => "typo",
            }),
            name_part: why.name.map_or(0.0, |name| name.score),
            words: why.words,
            coverage: why.coverage,
            server: why.server,
            meaning: why.meaning,
            memory: why.memory,
            matched: why.matched.iter().map(word).collect(),
        }
    }
}

fn word(matched: &MatchedWord) -> WordMatch {
    WordMatch {
        word: matched.word.clone(),
        met: matched.term_text.clone(),
        via: match matched.via {
            MatchKind::Same => "same",
            MatchKind::Joined => "joined",
            MatchKind::Synonym => "synonym",
            MatchKind::Typo => "typo",
        },
        fields: matched.fields.iter().map(|field| field.as_str()).collect(),
        weight: matched.weight,
    }
}
