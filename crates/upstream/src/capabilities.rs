//! Capabilities declared by clients and servers.

use std::sync::Arc;

use pegboard_jsonrpc::{Members, present, string};
use pegboard_model::ClientRequests;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The capabilities that a client declared, read once and passed on as a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCapabilities {
    text: Arc<str>,
    form: bool,
    url: bool,
    sampling: bool,
    roots: bool,
}

impl ClientCapabilities {
    /// Reads a client's JSON text. Capabilities that Pegboard cannot forward are removed; text that is not an object
    /// declares nothing.
    pub fn parse(declared: &str) -> Self {
        let mut members = Members::of(declared).unwrap_or(Members(Vec::new()));
        let before = members.0.len();
        members.remove("extensions");
        members.remove("tasks");
        let modes = sole(&members, "elicitation").map(ElicitationModes::read);
        Self {
            form: modes.is_some_and(|modes| modes.form),
            url: modes.is_some_and(|modes| modes.url),
            sampling: sole(&members, "sampling").is_some(),
            roots: sole(&members, "roots").is_some(),
            text: match members.0.len() == before && before > 0 {
                true => declared.into(),
                false => members.to_string().into(),
            },
        }
    }

    /// Returns the capabilities as JSON text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns them without roots, for a server that serves clients of several projects.
    #[must_use]
    pub fn without_roots(&self) -> Self {
        let mut left = self.clone();
        if let Some(mut members) = Members::of(&self.text).filter(|_| self.roots) {
            members.remove("roots");
            left.text = members.to_string().into();
            left.roots = false;
        }
        left
    }

    /// Returns those that a server with these rules may use.
    #[must_use]
    pub fn allowed_by(&self, allowed: ClientRequests) -> Self {
        let mut left = self.clone();
        if allowed != ClientRequests::default()
            && let Some(mut members) = Members::of(&self.text)
        {
            if !allowed.elicitation {
                members.remove("elicitation");
                (left.form, left.url) = (false, false);
            }
            if !allowed.sampling {
                members.remove("sampling");
                left.sampling = false;
            }
            left.text = members.to_string().into();
        }
        left
    }

    /// Returns whether a client with these capabilities supports a request of a server.
    pub fn supports(&self, method: &str, params: Option<&RawValue>) -> bool {
        #[derive(Deserialize)]
        struct Asked<'a> {
            #[serde(borrow, default, deserialize_with = "present")]
            mode: Option<&'a RawValue>,
        }
        match method {
            "sampling/createMessage" => self.sampling,
            "roots/list" => self.roots,
            "elicitation/create" => {
                let asked = params
                    .and_then(|params| serde_json::from_str::<Asked<'_>>(params.get()).ok())
                    .and_then(|asked| asked.mode)
                    .and_then(string);
                match asked.as_deref() {
                    Some("url") => self.url,
                    // An elicitation without a mode is a form.
                    None | Some("form") => self.form,
                    Some(_) => false,
                }
            }
            _ => false,
        }
    }
}

/// Returns the value of a member that is declared exactly once and not `null`.
fn sole<'m>(members: &'m Members<'_>, key: &str) -> Option<&'m str> {
    let mut found = members.0.iter().filter(|(held, _)| held == key);
    let (_, value) = found.next().filter(|_| found.next().is_none())?;
    (value != "null").then_some(value)
}

/// How a client shows elicitations. A capability without modes means forms.
#[derive(Clone, Copy)]
struct ElicitationModes {
    form: bool,
    url: bool,
}

impl ElicitationModes {
    fn read(modes: &str) -> Self {
        let modes = Members::of(modes).unwrap_or(Members(Vec::new()));
        let url = sole(&modes, "url").is_some();
        let form = sole(&modes, "form").is_some() || !url;
        Self { form, url }
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
    /// A server whose capabilities are unknown may have everything. Logging must be declared, because it needs a request
    /// of its own.
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
        let found = ClientCapabilities::parse(capabilities).supports(method, Some(&params));
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
    fn r_sec_11_a_server_is_shown_only_what_it_may_use() {
        let text = r#"{"elicitation":{"url":{}}, "tasks":{}, "sampling":{},"other":1.50}"#;
        let all = ClientCapabilities::parse(text);
        let shown = r#"{"elicitation":{"url":{}},"sampling":{},"other":1.50}"#;
        assert_eq!(all.as_str(), shown);
        assert_eq!(all.allowed_by(ClientRequests::default()), all);
        let left = all.allowed_by(ClientRequests {
            sampling: false,
            ..ClientRequests::default()
        });
        assert_eq!(left, ClientCapabilities::parse(left.as_str()));
        assert!(!left.supports("sampling/createMessage", None));
        assert_eq!(left.as_str(), r#"{"elicitation":{"url":{}},"other":1.50}"#);
        for nothing in ["", "[1]", "{ }", r#"{"tasks":{}}"#] {
            assert_eq!(ClientCapabilities::parse(nothing).as_str(), "{}");
        }
    }

    #[test]
    fn capabilities_are_read_from_the_servers_response() {
        let read = ServerCapabilities::read(Some(
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
        assert_eq!(read, expected);
        assert_eq!(ServerCapabilities::read(None), ServerCapabilities::UNKNOWN);
        assert!(!ServerCapabilities::read(Some("[]")).prompts);
    }
}
