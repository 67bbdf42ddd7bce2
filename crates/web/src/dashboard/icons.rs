//! Inline icons, so that no further file is fetched.

use maud::{Markup, html};

/// The icons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Icon {
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
    Menu,
    Theme,
    Plus,
    Refresh,
    Leave,
}

impl Icon {
    /// The SVG path on a 16 by 16 grid.
    fn path(self) -> &'static str {
        match self {
            Self::Overview => "M2.5 9V3h4.5v6zM9 13V7h4.5v6zM9 4.5V3h4.5v1.5zM2.5 13v-1.5H7V13z",
            Self::Servers => "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
            Self::Tools => {
                "M9.8 4.2a2.6 2.6 0 0 1 3.3-1.5L11.3 4.500l.7 1.3 1.6.4 1-1.800a2.6 2.6 0 0 1-3.9 2.500L5.3 12.900a1.4 1.4 0 0 1-2-2l5.9-5.300a2.6 2.6 0 0 1 .6-1.400z"
            }
            Self::Search => "M7 2.500a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3 13.5 13.5",
            Self::Approvals => {
                "M8 1.8 13 3.800v3.900c0 3-2.1 5.3-5 6.5-2.9-1.2-5-3.5-5-6.500V3.800zM5.8 8l1.6 1.6 2.9-3.1"
            }
            Self::Review => {
                "M1.8 8c2.8-4.600 9.6-4.600 12.400 0-2.800 4.600-9.600 4.600-12.400 0zM8 6.300v0a1.7 1.7 0 1 0 0 3.400 1.7 1.7 0 0 0 0-3.400z"
            }
            Self::Activity => "M1.8 8.500h2.700l2-5 3 9 2-4h2.7",
            Self::Context => "M3.5 2.500h9v11h-9zM5.8 5.500h4.400M5.8 8h4.400M5.8 10.500h2.5",
            Self::Clients => "M2 3h12v8H2zM5.500 13.500h5M8 11v2.500",
            Self::Connect => {
                "M6.5 9.5 9.5 6.500M7 4.800l1.6-1.600a2.9 2.9 0 0 1 4.2 4.200L11.2 9M9 11.200l-1.6 1.600a2.9 2.9 0 0 1-4.2-4.200L4.8 7"
            }
            Self::Menu => "M2.5 4.500h11M2.5 8h11M2.5 11.500h11",
            Self::Theme => "M8 2.500a5.5 5.5 0 1 0 0 11zM8 2.500a5.5 5.5 0 0 1 0 11",
            Self::Plus => "M8 3v10M3 8h10",
            Self::Refresh => "M13 8a5 5 0 1 1-1.5-3.600M13 2.500v2.700h-2.7",
            Self::Leave => "M6.5 2.500h-4v11h4M6.5 8h7M10.8 5.3 13.5 8l-2.7 2.7",
        }
    }
}

/// An icon that is hidden from screen readers; the text beside it is read.
pub(crate) fn icon(icon: Icon) -> Markup {
    html! {
        svg viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.4" stroke-linecap="round"
            stroke-linejoin="round" aria-hidden="true" focusable="false" {
            path d=(icon.path()) {}
        }
    }
}

/// The logo: a board of holes and one peg.
pub(crate) fn mark() -> Markup {
    let places = [3.0, 8.0, 13.0];
    html! {
        svg viewBox="0 0 16 16" aria-hidden="true" focusable="false" {
            @for y in places {
                @for x in places {
                    @if x != 8.0 || y != 8.0 {
                        circle.hole cx=(x) cy=(y) r="1.2" {}
                    }
                }
            }
            rect.peg x="5.4" y="5.4" width="5.2" height="5.2" rx="1.6" {}
        }
    }
}
