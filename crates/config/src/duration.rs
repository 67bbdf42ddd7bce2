//! Parsing of durations.

use std::time::Duration;

/// Longest accepted duration. It keeps sums of durations far from overflow.
const MAX_DURATION: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Parses `30s`, `5m`, `24h`, `500ms`, `1h30m` or a whole number of seconds.
///
/// # Errors
/// Returns a message that shows the accepted forms.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a duration as `30s`, `5m`, `24h`, `500ms` or `1h30m`".to_owned();
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let letters = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let milliseconds: u64 = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "" if total.is_zero() && after.is_empty() && rest.len() == text.trim().len() => 1_000,
            _ => return Err(wrong()),
        };
        let part = number.checked_mul(milliseconds).map(Duration::from_millis);
        total = part
            .and_then(|part| total.checked_add(part))
            .filter(|total| *total <= MAX_DURATION)
            .ok_or_else(|| "the duration is longer than ten years".to_owned())?;
        rest = after;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, milliseconds: Option<u64>) {
        assert_eq!(
            parse_duration(text).ok(),
            milliseconds.map(Duration::from_millis),
            "{text:?}"
        );
    }

    #[test]
    fn r_cfg_02_durations_are_parsed_in_their_usual_forms() {
        check("30s", Some(30_000));
        check("5m", Some(300_000));
        check("24h", Some(86_400_000));
        check("500ms", Some(500));
        check("1h30m", Some(5_400_000));
        check("2d", Some(172_800_000));
        check("30", Some(30_000));
        check(" 30s ", Some(30_000));
        check("0", Some(0));
        for wrong in [
            "",
            "s",
            "5 m",
            "5minutes",
            "-5s",
            "1.5s",
            "5m30",
            "99999999999999999999s",
            "11000d",
            "٣s",
        ] {
            check(wrong, None);
        }
    }
}
