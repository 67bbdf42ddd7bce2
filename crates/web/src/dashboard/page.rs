//! The frame of every screen: head, navigation, heading and security headers.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::Pages;
use super::assets::address;
use super::icons::{Icon, icon, mark};
use super::request::PageRequest;

/// Allows only the embedded files, and no inline code or style.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The sections of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Overview,
    Servers,
    Tools,
    Search,
    Approvals,
    Review,
    Activity,
    Context,
    Clients,
    Connect,
}

const SECTIONS: &[(Section, &str, &str, Icon)] = &[
    (Section::Overview, "Overview", "/", Icon::Overview),
    (Section::Servers, "Servers", "/servers", Icon::Servers),
    (Section::Tools, "Tools", "/tools", Icon::Tools),
    (Section::Search, "Search", "/search", Icon::Search),
    (
        Section::Approvals,
        "Approvals",
        "/approvals",
        Icon::Approvals,
    ),
    (Section::Review, "Review", "/review", Icon::Review),
    (Section::Activity, "Activity", "/activity", Icon::Activity),
    (Section::Context, "Context", "/context", Icon::Context),
    (Section::Clients, "Clients", "/clients", Icon::Clients),
    (Section::Connect, "Connect", "/connect", Icon::Connect),
];

/// One screen.
pub(crate) struct Page {
    pub(crate) section: Section,
    /// The window's title, without the program's name.
    pub(crate) title: String,
    /// The heading with its actions.
    pub(crate) head: Markup,
    pub(crate) body: Markup,
    pub(crate) status: StatusCode,
}

impl Page {
    pub(crate) fn new(
        section: Section,
        title: impl Into<String>,
        head: Markup,
        body: Markup,
    ) -> Self {
        Self {
            section,
            title: title.into(),
            head,
            body,
            status: StatusCode::OK,
        }
    }

    /// Renders the screen: a whole page, or only its content for a fragment request.
    pub(crate) async fn render(self, pages: &Pages, request: &PageRequest) -> Response {
        // Opening a page discovers undiscovered servers in the background.
        pages.hub().discover_unknown_in_background();
        // If the inbox cannot be read, its own screen shows the reason.
        let waiting = pages
            .hub()
            .approvals()
            .await
            .map_or(0, |waiting| waiting.len());
        let content = html! { (self.head) (self.body) };
        let markup = match request.is_fragment() {
            true => {
                html! { span id="page-title" hidden data-title=(self.title) {} (badges(waiting)) (content) }
            }
            false => {
                let frame = Frame {
                    section: Some(self.section),
                    title: &self.title,
                    theme: request.theme,
                    is_admin: request.viewer.is_admin(),
                    waiting,
                };
                frame.around(pages, Some(&content))
            }
        };
        // A fragment updates an open page, so a missing subject is not an error.
        let status = match request.is_fragment() {
            true => StatusCode::OK,
            false => self.status,
        };
        (status, with_security_headers(markup)).into_response()
    }
}

/// The frame around the content of a screen.
struct Frame<'a> {
    section: Option<Section>,
    title: &'a str,
    theme: Option<&'static str>,
    is_admin: bool,
    waiting: usize,
}

impl Frame<'_> {
    /// Renders a whole page. Without content, its script fetches it.
    fn around(&self, pages: &Pages, content: Option<&Markup>) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" data-theme=[self.theme] {
                head {
                    (head(self.title))
                    meta name="pegboard-role" content=(if self.is_admin { "admin" } else { "call" });
                    script type="module" src=(address("main.js")) {}
                }
                body {
                    a.skip href="#main" { "Skip to the content" }
                    div.shell {
                        (self.navigation(pages))
                        main.main id="main" tabindex="-1" {
                            @match content {
                                Some(content) => div.inner { (content) },
                                None => div.inner data-empty {
                                    noscript { div.callout.warn { strong { "The dashboard needs JavaScript" } } }
                                },
                            }
                        }
                    }
                    div.toasts id="toasts" role="status" aria-live="polite" aria-atomic="false" {}
                    (confirmation())
                }
            }
        }
    }

    fn navigation(&self, pages: &Pages) -> Markup {
        html! {
            header.side id="side" {
                div.side-head {
                    a.brand href="/" { (mark()) "Pegboard" }
                    (badge("badge-top", self.waiting))
                    button.menu-button.icon.quiet type="button" id="menu" aria-expanded="false" aria-controls="fold"
                        aria-label="Menu" { (icon(Icon::Menu)) }
                }
                div.fold id="fold" {
                    nav.nav aria-label="Main" {
                        @for (section, name, path, picture) in SECTIONS {
                            a href=(path) aria-current=[(Some(*section) == self.section).then_some("page")] {
                                (icon(*picture)) (name)
                                @if *section == Section::Approvals {
                                    span.count { (badge("badge-side", self.waiting)) }
                                }
                            }
                        }
                    }
                    div.side-foot {
                        span.live id="live" data-state="wait" title="Whether this page updates live" { "connecting" }
                        span.num title="Version" { (pages.web.version()) }
                        button.icon.quiet type="button" id="theme" aria-label="Light or dark" title="Light or dark" {
                            (icon(Icon::Theme))
                        }
                        button.icon.quiet type="button" id="leave" aria-label="Log out" title="Log out" {
                            (icon(Icon::Leave))
                        }
                    }
                }
            }
        }
    }
}

/// The number of waiting calls. The element exists even for zero, so that the page's script can update it.
fn badge(id: &str, waiting: usize) -> Markup {
    html! {
        span id=(id) data-live="approvals" {
            @if waiting > 0 {
                span.badge { (waiting) span.visually-hidden { " waiting" } }
            }
        }
    }
}

fn badges(waiting: usize) -> Markup {
    html! { (badge("badge-top", waiting)) (badge("badge-side", waiting)) }
}

/// The confirmation dialog for irreversible actions; filled by the page's script.
fn confirmation() -> Markup {
    html! {
        dialog id="confirm" aria-labelledby="confirm-title" {
            form method="dialog" {
                h2 id="confirm-title" { "Are you sure?" }
                p.muted id="confirm-text" {}
                div.row {
                    button type="submit" value="no" { "Cancel" }
                    button.danger type="submit" value="yes" id="confirm-yes" { "Yes" }
                }
            }
        }
    }
}

fn head(title: &str) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        title { (title) " · Pegboard" }
        link rel="icon" type="image/svg+xml" href=(address("mark.svg"));
        link rel="stylesheet" href=(address("pegboard.css"));
    }
}

/// Whether a URL is a screen as a whole page.
pub(crate) fn is_page(url: &Uri) -> bool {
    let is_fragment = url.query().unwrap_or_default().contains("fragment");
    !is_fragment && section_at(url.path()).is_some()
}

/// The section of a path.
fn section_at(path: &str) -> Option<Section> {
    if path == "/add-server" || path == "/import" {
        return Some(Section::Servers);
    }
    let first = path.get(1..)?.split('/').next()?;
    let mut sections = SECTIONS.iter();
    let section = sections.find(|(_, _, start, _)| start.get(1..) == Some(first));
    section.map(|(section, ..)| *section)
}

/// A screen without content, for a browser that has not sent its page key yet. The page's script sends it and fetches
/// the content.
pub(crate) fn empty_frame(pages: &Pages, path: &str, theme: Option<&'static str>) -> Response {
    let frame = Frame {
        section: section_at(path),
        title: "Dashboard",
        theme,
        is_admin: true,
        waiting: 0,
    };
    with_security_headers(frame.around(pages, None))
}

/// The login page. Its script reads the one-time code from the fragment of the URL, which is not sent to servers.
pub(crate) fn login_page() -> Response {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (head("Log in"))
                script type="module" src=(address("login.js")) {}
            }
            body {
                main.login id="main" {
                    div.card { div.body.stack {
                        div.brand { (mark()) "Pegboard" }
                        div.stack-tight {
                            h1 { "Log in" }
                            p.muted data-without-code { "Open the link printed by " code { "pegboard up" } ", or get a new one with " code { "pegboard dashboard" } "." }
                            p.muted data-with-code hidden { "This link logs one browser in, once." }
                        }
                        div.callout.bad id="problem" role="alert" hidden { strong { "Login failed" } span {} }
                        form.stack id="login" {
                            div.field data-without-code {
                                label for="code" { "One-time code" }
                                input.mono id="code" name="code" type="password" autocomplete="off" required autofocus;
                            }
                            button.primary type="submit" data-without-code { "Log in" }
                            button.primary type="submit" data-with-code hidden { "Log in to this Pegboard" }
                        }
                        noscript { div.callout.warn { strong { "The dashboard needs JavaScript" } } }
                    } }
                }
            }
        }
    };
    with_security_headers(markup)
}

/// An HTML response with the security headers.
fn with_security_headers(markup: Markup) -> Response {
    let PreEscaped(text) = markup;
    let headers: [(HeaderName, &str); 6] = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (X_FRAME_OPTIONS, "DENY"),
        (CACHE_CONTROL, "no-store"),
    ];
    let mut response = text.into_response();
    for (name, value) in headers {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A heading with a subtitle.
pub(crate) fn heading(title: &str, lead: &str) -> Markup {
    html! { div.page-head { div.titles { h1 { (title) } p.lead { (lead) } } } }
}

/// A heading with a subtitle and buttons.
pub(crate) fn heading_with_actions(title: &str, lead: &str, actions: &Markup) -> Markup {
    html! {
        div.page-head {
            div.titles { h1 { (title) } p.lead { (lead) } }
            div.actions { (actions) }
        }
    }
}
