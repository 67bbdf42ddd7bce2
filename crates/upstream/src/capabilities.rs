//! Capabilities declared by clients and servers.

use pegboard_jsonrpc::{present, string};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Default, Deserialize)]
struct ClientCapabilities<'a> {
    #[serde(borrow, default)]
    elicitation: Option<&'a RawValue>,
    #[serde(borrow, default)]
    sampling: Option<&'a RawValue>,
    #[serde(borrow, default)]
    roots: Option<&'a RawValue>,
}

/// Returns whether a client with these capabilities supports a request of a server.
pub fn declares(capabilities: &str, method: &str, params: Option<&RawValue>) -> bool {
    let declared: ClientCapabilities<'_> = serde_json::from_str(capabilities).unwrap_or_default();
    match method {
        "sampling/createMessage" => declared.sampling.is_some(),
        "roots/list" => declared.roots.is_some(),
        "elicitation/create" => declared
            .elicitation
            .is_some_and(|modes| has_mode(modes, params)),
        _ => false,
    }
}

/// An elicitation without a mode is a form, and so is a capability without modes.
fn has_mode(modes: &RawValue, params: Option<&RawValue>) -> bool {
    #[derive(Default, Deserialize)]
    struct Modes<'a> {
        #[serde(borrow, default)]
        form: Option<&'a RawValue>,
        #[serde(borrow, default)]
        url: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Asked<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        mode: Option<&'a RawValue>,
    }
    let modes: Modes<'_> = serde_json::from_str(modes.get()).unwrap_or_default();
    let asked = params
        .and_then(|params| serde_json::from_str::<Asked<'_>>(params.get()).ok())
        .and_then(|asked| asked.mode)
        .and_then(string);
    match asked.as_deref() {
        Some("url") => modes.url.is_some(),
        None | Some("form") => modes.form.is_some() || modes.url.is_none(),
        Some(_) => false,
    }
}

/// Capabilities of a server other than tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerCapabilities {
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) logging: bool,
    /// Which lists it sends change notifications for.
    pub(crate) tools_changed: bool,
    pub(crate) prompts_changed: bool,
    pub(crate) resources_changed: bool,
}

impl ServerCapabilities {
    /// A server that was not asked may have everything. Logging must be declared, because it needs a request of its
    /// own.
    const UNKNOWN: Self = Self {
        prompts: true,
        resources: true,
        logging: false,
        tools_changed: true,
        prompts_changed: true,
        resources_changed: true,
    };

    pub(crate) fn read(capabilities: Option<&str>) -> Self {
        #[derive(Default, Deserialize)]
        struct Capabilities<'a> {
            #[serde(borrow, default)]
            tools: Option<&'a RawValue>,
            #[serde(borrow, default)]
            prompts: Option<&'a RawValue>,
            #[serde(borrow, default)]
            resources: Option<&'a RawValue>,
            #[serde(borrow, default)]
            logging: Option<&'a RawValue>,
        }
        let Some(text) = capabilities else {
            return Self::UNKNOWN;
        };
        let declared: Capabilities<'_> = serde_json::from_str(text).unwrap_or_default();
        Self {
            prompts: declared.prompts.is_some(),
            resources: declared.resources.is_some(),
            logging: declared.logging.is_some(),
            tools_changed: announces(declared.tools),
            prompts_changed: announces(declared.prompts),
            resources_changed: announces(declared.resources),
        }
    }
}

fn announces(list: Option<&RawValue>) -> bool {
    #[derive(Deserialize)]
    struct List {
        #[serde(default, rename = "listChanged")]
        list_changed: bool,
    }
    list.and_then(|list| serde_json::from_str::<List>(list.get()).ok())
        .is_some_and(|list| list.list_changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(capabilities: &str, method: &str, params: &str, expected: bool) {
        let params = RawValue::from_string(params.to_owned()).unwrap();
        let found = declares(capabilities, method, Some(&params));
        assert_eq!(found, expected, "{capabilities} {method} {params}");
    }

    #[test]
    fn r_gate_03_a_client_is_asked_only_what_it_declared() {
        let (form, url) = (r#"{"message":"?"}"#, r#"{"mode":"url"}"#);
        for (capabilities, has_form, has_url) in [
            ("{}", false, false),
            ("nonsense", false, false),
            (r#"{"elicitation":null}"#, false, false),
            (r#"{"elicitation":{}}"#, true, false),
            (r#"{"elicitation":{"form":{}}}"#, true, false),
            (r#"{"elicitation":{"url":{}}}"#, false, true),
            (r#"{"elicitation":{"form":{},"url":{}}}"#, true, true),
        ] {
            check(capabilities, "elicitation/create", form, has_form);
            check(capabilities, "elicitation/create", url, has_url);
            check(capabilities, "roots/list", "{}", false);
        }
        check(r#"{"roots":{}}"#, "roots/list", "{}", true);
        check(r#"{"sampling":{}}"#, "sampling/createMessage", "{}", true);
        check(
            r#"{"elicitation":{}}"#,
            "sampling/createMessage",
            "{}",
            false,
        );
        check(r#"{"shell":{}}"#, "shell/run", "{}", false);
    }

    #[test]
    fn what_a_server_has_is_read_from_its_own_words() {
        let told = ServerCapabilities::read(Some(
            r#"{"prompts":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}"#,
        ));
        let expected = ServerCapabilities {
            prompts: true,
            resources: true,
            logging: true,
            tools_changed: false,
            prompts_changed: true,
            resources_changed: false,
        };
        assert_eq!(told, expected);
        assert_eq!(ServerCapabilities::read(None), ServerCapabilities::UNKNOWN);
        assert!(!ServerCapabilities::read(Some("[]")).prompts);
    }
}
