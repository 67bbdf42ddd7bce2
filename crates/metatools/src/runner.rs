//! Parses and runs calls of the meta tools.

use std::time::Instant;

use pegboard_catalog::reserved::{DESCRIBE, LIST, READ_RESULT, SEARCH, is_call_tool, is_meta_tool};
use pegboard_catalog::{Catalog, ToolSearch};
use pegboard_model::ToolResult;
use serde_json::value::RawValue;

use crate::args::{CallToolArgs, DescribeToolsArgs, ListToolsArgs, SearchToolsArgs, parse_args};
use crate::model_text::{Detail, search_text};
use crate::read_result::ReadResultArgs;
use crate::result_store::ResultStore;

/// A search in a catalog with more tools than this, or one that compares embeddings, takes milliseconds.
const FAST_SEARCH_TOOLS: usize = 500;

/// A parsed call of a meta tool.
#[derive(Debug)]
pub enum MetaCall {
    /// A call that only reads the catalog or the stored results.
    Lookup(Lookup),
    /// A call of another tool, which the caller runs through the hub.
    Tool(CallToolArgs),
}

impl MetaCall {
    /// Parses a call of the meta tool `name`. `call_tool` with the name of a lookup is that lookup, unless the host
    /// program registered a static tool with the same name.
    ///
    /// # Errors
    ///
    /// Fails with `ARGS_INVALID` if the arguments do not fit.
    pub fn parse(name: &str, arguments: Option<&RawValue>, catalog: &Catalog) -> ToolResult<Self> {
        if !is_call_tool(name) {
            return Lookup::parse(name, arguments).map(Self::Lookup);
        }
        let args = CallToolArgs::parse(name, arguments)?;
        let tool = args.tool_name.as_str();
        let is_lookup = is_meta_tool(tool) && !is_call_tool(tool);
        if is_lookup && catalog.static_tool(tool).is_none() {
            return Lookup::parse(tool, Some(&args.arguments)).map(Self::Lookup);
        }
        Ok(Self::Tool(args))
    }
}

/// A parsed call of a meta tool that only reads.
#[derive(Debug)]
pub struct Lookup(Kind);

#[derive(Debug)]
enum Kind {
    Search {
        queries: Vec<String>,
        limit: usize,
        detail: Detail,
    },
    List(ListToolsArgs),
    Describe {
        names: Vec<String>,
        args: DescribeToolsArgs,
    },
    ReadResult(ReadResultArgs),
}

impl Lookup {
    fn parse(name: &str, arguments: Option<&RawValue>) -> ToolResult<Self> {
        Ok(Self(match name {
            SEARCH => {
                let args: SearchToolsArgs = parse_args(SEARCH, arguments)?;
                Kind::Search {
                    detail: args.detail()?,
                    limit: args.limit(),
                    queries: args.queries()?,
                }
            }
            LIST => Kind::List(parse_args(LIST, arguments)?),
            DESCRIBE => {
                let mut args: DescribeToolsArgs = parse_args(DESCRIBE, arguments)?;
                Kind::Describe {
                    names: args.names()?,
                    args,
                }
            }
            _ => Kind::ReadResult(parse_args(READ_RESULT, arguments)?),
        }))
    }

    /// Returns whether undiscovered servers may matter, so that the caller should discover them first.
    pub fn needs_discovery(&self, catalog: &Catalog) -> bool {
        match &self.0 {
            Kind::Search { .. } | Kind::List(_) => true,
            Kind::Describe { names, .. } => names.iter().any(|name| catalog.find(name).is_err()),
            Kind::ReadResult(_) => false,
        }
    }

    /// Returns whether this is a search, which ranks better once embeddings are loaded.
    pub fn is_search(&self) -> bool {
        matches!(self.0, Kind::Search { .. })
    }

    /// Returns whether running the lookup takes milliseconds, so that an async caller should use a blocking thread.
    /// `is_semantic` says whether searches compare embeddings.
    pub fn is_slow(&self, catalog: &Catalog, is_semantic: bool) -> bool {
        match &self.0 {
            Kind::Search { .. } => is_slow_search(catalog, is_semantic),
            Kind::List(_) | Kind::Describe { .. } => false,
            // Stored results are large.
            Kind::ReadResult(_) => true,
        }
    }

    /// Runs the lookup and returns the text for the model.
    ///
    /// # Errors
    ///
    /// Fails if an argument does not fit, the only tool to describe is unknown, or a stored result is gone.
    pub fn run(
        &self,
        catalog: &Catalog,
        search: &dyn ToolSearch,
        results: &ResultStore,
        now: Instant,
    ) -> ToolResult<String> {
        match &self.0 {
            Kind::Search {
                queries,
                limit,
                detail,
            } => {
                let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
                Ok(search_text(catalog, search, &queries, *limit, *detail))
            }
            Kind::List(args) => args.list(catalog),
            Kind::Describe { names, args } => args.describe(names, catalog),
            Kind::ReadResult(args) => results.read(args, now),
        }
    }
}

/// Returns whether a search takes milliseconds. `is_semantic` says whether it compares embeddings.
pub fn is_slow_search(catalog: &Catalog, is_semantic: bool) -> bool {
    let tools = || catalog.servers().map(|entry| entry.record.tools.len());
    is_semantic || tools().sum::<usize>() > FAST_SEARCH_TOOLS
}
