//! Tool search.

use axum::extract::State;
use axum::http::StatusCode;
use pegboard_catalog::{ScoreExplanation, SemanticCoverage, ToolSearch};
use pegboard_search::{MatchKind, MatchedWord, NameMatchKind};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::tool_list::{ToolSummary, limit};
use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::{Json, Query};
use crate::response::NoStore;
use crate::role::{Admin, Authorized};
use crate::state::WebState;

/// Default number of hits.
const DEFAULT_HITS: usize = 10;
/// Largest number of hits.
const MAX_HITS: usize = 100;
/// Largest length of a query.
const QUERY_CHARACTERS: usize = 1_000;

/// A search query.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SearchQuery {
    /// The query: words or a tool name.
    #[param(example = "close an issue", max_length = 1000)]
    q: String,
    /// Maximum number of hits; 10 by default.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
    /// Whether hits include the parts of their scores.
    #[serde(default)]
    explain: bool,
}

/// Search results.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Hits {
    /// The hits, best first.
    hits: Vec<Hit>,
    /// The number of matching tools.
    total: usize,
    /// How many tools were ranked by meaning: `all`, `some` or `none`.
    by_meaning: &'static str,
    /// Whether the first hit is likely to be right. If not, the hits are only the nearest tools.
    good_match: bool,
}

/// A hit.
#[derive(Serialize, ToSchema)]
pub(super) struct Hit {
    /// The score; comparable only within one response.
    score: f32,
    /// The chance that the tool is the right one if it is the first hit, from 0 to 1; comparable between responses.
    confidence: f32,
    /// The tool.
    tool: ToolSummary,
    /// The parts of the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<ScoreParts>,
}

/// The parts of a score; their sum is the score.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScoreParts {
    /// How the query matches the tool's name: `exact`, `beginning` or `typo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    /// The score of the name match.
    name_part: f32,
    /// The score of the matching words.
    words: f32,
    /// The score of the coverage of rare words.
    coverage: f32,
    /// The score of the server.
    server: f32,
    /// The score of the meaning.
    meaning: f32,
    /// The score of the search history and of aliases.
    memory: f32,
    /// The score of the verb: negative if the tool's name says the opposite of the query.
    action: f32,
    /// The matching words.
    matched: Vec<WordMatch>,
}

/// A matching word of the query.
#[derive(Serialize, ToSchema)]
pub(super) struct WordMatch {
    /// The word of the query.
    word: String,
    /// The word of the tool.
    met: String,
    /// The kind of match: `same`, `joined`, `synonym` or `typo`.
    via: &'static str,
    /// The fields that contain it.
    fields: Vec<&'static str>,
    /// Its score.
    weight: f32,
}

/// Searches for tools.
#[utoipa::path(
    get,
    operation_id = "searchTools",
    path = "/search",
    tag = "tools",
    params(SearchQuery),
    responses(
        (status = 200, description = "The hits", body = Hits),
        (status = 400, description = "A query parameter is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
    )
)]
pub(super) async fn search(
    _: Authorized,
    State(state): State<WebState>,
    Query(query): Query<SearchQuery>,
) -> ApiResult<NoStore<Hits>> {
    let limit = limit(query.limit, DEFAULT_HITS, MAX_HITS)?;
    if query.q.chars().count() > QUERY_CHARACTERS {
        let message = format!("`q` is longer than {QUERY_CHARACTERS} characters");
        return Err(ApiError::at_field("q", message));
    }
    state.hub().discover_unknown_in_background();
    // Encoding a query is CPU-bound, so it must not block other requests.
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
            confidence: hit.confidence,
            tool: ToolSummary::of(&hit.tool),
            why: hit.why.as_deref().map(ScoreParts::of),
        });
        Hits {
            hits: hits.collect(),
            total: found.total,
            good_match: found.has_good_match(),
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
    Ok(NoStore(found))
}

/// A query and the tool that it means.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaughtSearch {
    /// The query.
    #[schema(max_length = 500)]
    query: String,
    /// The tool, as `server__tool` or `server/tool`.
    tool: String,
}

/// Remembers which tool a query means; later searches like it prefer that tool.
#[utoipa::path(
    post,
    operation_id = "teachSearch",
    path = "/search/teach",
    tag = "tools",
    security(("admin" = [])),
    request_body = TaughtSearch,
    responses(
        (status = 204, description = "It is remembered"),
        (status = 400, description = "The query is invalid, or searches are not remembered", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "There is no such tool", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
        (status = 503, description = "The store could not be written", body = ErrorBody),
    )
)]
pub(super) async fn teach(
    _: Admin,
    State(state): State<WebState>,
    Json(taught): Json<TaughtSearch>,
) -> ApiResult<StatusCode> {
    let hub = state.hub();
    hub.teach_search(&taught.query, &taught.tool).await?;
    Ok(StatusCode::NO_CONTENT)
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
            action: why.action,
            matched: why.matched.iter().map(word_match).collect(),
        }
    }
}

fn word_match(matched: &MatchedWord) -> WordMatch {
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
