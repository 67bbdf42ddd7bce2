//! What stands in for the dashboard in a program that is built without it.

use axum::Router;

use crate::state::WebState;

pub(crate) fn routes(_: WebState) -> Router {
    Router::new()
}

pub(crate) fn assets() -> Router {
    Router::new()
}

/// The page on which a person logs in: a form that sends `code`, filled in when the address held one.
pub(crate) fn login_page(code: Option<&str>, problem: Option<&str>) -> String {
    let page = maud::html! {
        (maud::DOCTYPE)
        title { "Pegboard" }
        @if let Some(problem) = problem { p { (problem) } }
        form method="post" action="/login" {
            input name="code" value=[code];
            button { "Log in" }
        }
        p { "`pegboard dashboard` prints an address that logs you in." }
    };
    page.into_string()
}
