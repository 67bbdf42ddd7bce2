//! The `Retry-After` header.

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822};
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// The longest delay that is reported, whatever the server asks for.
const LONGEST: Duration = Duration::from_secs(3600);

/// Returns the delay that the headers of a response ask for, in whole seconds; `None` if there is none or it is
/// invalid.
pub(crate) fn retry_delay(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let seconds = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // All digits, so parsing fails only if the number is too large.
        text.parse().unwrap_or(u64::MAX)
    } else {
        let date = rfc2822::parse(text).ok()?.timestamp();
        u64::try_from(date.as_second().saturating_sub(now.as_second())).ok()?
    };
    Some(Duration::from_secs(seconds).min(LONGEST)).filter(|pause| !pause.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[track_caller]
    fn check(written: &str, seconds: Option<u64>) {
        let now = Timestamp::from_second(1_767_225_600).unwrap();
        let value = HeaderValue::from_str(written).unwrap();
        let headers = HeaderMap::from_iter([(RETRY_AFTER, value)]);
        let expected = seconds.map(Duration::from_secs);
        assert_eq!(retry_delay(&headers, now), expected, "{written}");
    }

    #[test]
    fn r_sec_01_i15_retry_after_is_read_in_every_form_and_clamped() {
        check("7", Some(7));
        check(" 120 ", Some(120));
        check("1000000000000", Some(3600));
        check(&"9".repeat(10_000), Some(3600));
        check("Thu, 01 Jan 2026 00:00:30 GMT", Some(30));
        check("Fri, 01 Jan 2100 00:00:00 GMT", Some(3600));
        check("Thu, 01 Jan 1970 00:00:00 GMT", None);
        for unread in ["0", "-1", "", "soon", "1.5", "+3", "\u{e9}"] {
            check(unread, None);
        }
        assert_eq!(retry_delay(&HeaderMap::new(), Timestamp::UNIX_EPOCH), None);
    }
}
