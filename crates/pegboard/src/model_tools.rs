//! Tools for a model: definitions, the runner of its calls, and the agent loop.

use pegboard_agent::{
    Agent, CalledTool, Definitions, ExecutedCall, Loading, Provider, ToolUse, ToolUseKind, Toolbox,
    parse_arguments,
};
use pegboard_formats::Format;
use pegboard_hub::SessionId;
use serde_json::Value;

use crate::Pegboard;
use crate::tools::SESSION;

impl Pegboard {
    /// Returns the tools for a model request: the meta tools and this program's own tools. Their size does not depend
    /// on the number of configured tools.
    ///
    /// ```no_run
    /// # async fn example(pegboard: &pegboard::Pegboard, mut request: serde_json::Value) {
    /// use pegboard::agent::Format;
    ///
    /// let tools = pegboard.definitions(Format::Anthropic).await;
    /// request["tools"] = tools.document().clone();
    /// request["system"] = pegboard.context_summary().into();
    /// # }
    /// ```
    pub async fn definitions(&self, format: Format) -> Definitions {
        let loading = match format.is_deferred() {
            true => Loading::Deferred,
            false => Loading::Meta,
        };
        self.definitions_with(format, loading).await
    }

    /// Returns the tools for a model request, loaded as meta tools, as all definitions, or by the provider's own tool
    /// search, which [`Pegboard::run_tool_use`] answers.
    pub async fn definitions_with(&self, format: Format, loading: Loading) -> Definitions {
        self.discover_missing().await;
        Definitions::of(&self.hub().catalog(), format, loading)
    }

    /// Runs a call of a model: a meta tool, a tool by its name, or a search of the provider's tool search. Names and
    /// arguments are first converted back to the tool's own. Errors are results that the model can read, so that the
    /// agent can continue.
    ///
    /// ```no_run
    /// # async fn example(pegboard: &pegboard::Pegboard, tools: &pegboard::agent::Definitions, block: serde_json::Value) {
    /// // `block` is a `tool_use` block of Anthropic.
    /// let (id, name) = (block["id"].as_str().unwrap_or(""), block["name"].as_str().unwrap_or(""));
    /// let call = pegboard::agent::tool_use(id, name, block["input"].clone());
    /// let result = pegboard.run_tool_use(tools, &call).await;
    /// println!("{:?} by {:?}", result.output.body, result.used);
    /// # }
    /// ```
    pub async fn run_tool_use(&self, definitions: &Definitions, call: &ToolUse) -> ExecutedCall {
        self.toolbox().run(definitions, call).await
    }

    /// Returns the tools that a model called in messages of any provider, with their servers.
    pub fn called_tools(&self, messages: &Value) -> Vec<CalledTool> {
        pegboard_agent::called_tools(messages, &self.hub().catalog())
    }

    /// Returns an agent with these tools that asks this model.
    pub fn agent(&self, provider: impl Provider + 'static) -> Agent {
        let settings = &self.configuration().loaded.settings;
        Agent::new(self.hub().clone(), provider)
            .essential(settings.essential.clone())
            .recorder(self.recorder().clone())
            .result_tokens(settings.result_tokens)
    }

    /// Returns the runner of model calls; it keeps large results aside for reading in parts.
    pub fn toolbox(&self) -> &Toolbox {
        self.toolbox.get_or_init(|| {
            let configuration = self.configuration();
            let session = SessionId(SESSION.to_owned());
            let tokens = configuration.loaded.settings.result_tokens;
            Toolbox::new(self.hub().clone(), session, &configuration.limits, tokens)
        })
    }
}

/// Creates a call from the id, name and arguments that a model wrote. Arguments that are a JSON text, as OpenAI sends
/// them, are parsed.
pub fn tool_use(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> ToolUse {
    ToolUse {
        id: id.into(),
        name: name.into(),
        arguments: parse_arguments(arguments),
        kind: ToolUseKind::Call,
    }
}
