//! Page requests: the viewer, the theme and the query.

use axum::extract::FromRequestParts;
use axum::http::header::COOKIE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use pegboard_gateway::http::{Principal, Role};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::Pages;
use super::page::empty_frame;
use crate::role::Authorized;

/// The cookie with the chosen theme, set by the page's script.
const THEME_COOKIE: &str = "pegboard_theme";
/// Largest query string, in bytes.
const QUERY_MAX: usize = 4_096;
/// Largest number of query parameters.
const VALUES_MAX: usize = 32;

/// A request for a page.
pub(crate) struct PageRequest {
    /// The client.
    pub(crate) viewer: Authorized,
    /// `light` or `dark`, if the user chose one.
    pub(crate) theme: Option<&'static str>,
    query: Vec<(String, String)>,
}

impl PageRequest {
    /// A query parameter, unless it is empty.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let value = self.query.iter().find(|(key, _)| key == name);
        let value = value.map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty())
    }

    /// Whether only the content is requested, without the frame.
    pub(crate) fn is_fragment(&self) -> bool {
        self.query("fragment").is_some()
    }

    /// The requested page, from 1.
    pub(crate) fn page(&self) -> usize {
        let page = self.query("page").and_then(|page| page.parse().ok());
        page.unwrap_or(1).max(1)
    }
}

impl FromRequestParts<Pages> for PageRequest {
    type Rejection = Response;

    /// A browser without the page key gets an empty frame, whose script sends the key and fetches the content.
    async fn from_request_parts(parts: &mut Parts, pages: &Pages) -> Result<Self, Response> {
        let cookies = parts.headers.get_all(COOKIE).into_iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let theme = cookies
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(name, _)| *name == THEME_COOKIE)
            .and_then(|(_, value)| ["light", "dark"].into_iter().find(|theme| *theme == value));
        let visitor = parts.extensions.get::<Principal>();
        if visitor.is_some_and(|visitor| visitor.role == Role::Frame) {
            return Err(empty_frame(pages, parts.uri.path(), theme));
        }
        let viewer = Authorized::of(parts).map_err(IntoResponse::into_response)?;
        let query = parts.uri.query().unwrap_or_default();
        Ok(Self {
            viewer,
            theme,
            query: read_query(query.get(..QUERY_MAX).unwrap_or(query)),
        })
    }
}

fn read_query(query: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| {
        let spaced = text.replace('+', " ");
        percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
    };
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .take(VALUES_MAX)
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) => (decoded(name), decoded(value)),
            None => (decoded(pair), String::from("1")),
        })
        .collect()
}

/// A query string with `?`, without empty values.
pub(crate) fn query_string(values: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in values.iter().filter(|(_, value)| !value.is_empty()) {
        text.push(if text.is_empty() { '?' } else { '&' });
        text.push_str(name);
        text.push('=');
        text.push_str(&escaped(value));
    }
    text
}

/// Characters that need no escaping in a URL.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Escapes a text for one URL segment.
pub(crate) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_as_it_was_written() {
        let values = [("q", "a b&c=é"), ("empty", ""), ("server", "github")];
        let text = query_string(&values);
        assert_eq!(text, "?q=a%20b%26c%3D%C3%A9&server=github");
        let read = read_query(text.trim_start_matches('?'));
        assert_eq!(read[0], ("q".to_owned(), "a b&c=é".to_owned()));
        assert_eq!(read.len(), 2);
        assert_eq!(
            read_query("a+b=1&flag"),
            [("a b".into(), "1".into()), ("flag".into(), "1".into())]
        );
        assert!(read_query(&"x=1&".repeat(5000)).len() <= VALUES_MAX);
    }
}
