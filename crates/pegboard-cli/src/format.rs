//! Formatting of numbers, durations and times.

use std::time::Duration;

use pegboard_model::{LoginState, Timestamp, UntrustedText};

/// Formats the time since `then` in one unit, or `never`.
pub(crate) fn ago(now: Timestamp, then: Option<Timestamp>) -> String {
    match then {
        Some(then) => format!("{} ago", duration(now.since(then))),
        None => "never".to_owned(),
    }
}

/// Formats a duration in its largest unit.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{} ms", duration.as_millis()),
        1..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Describes a login: `logged in as ann@example.com until 2026-11-18 12:00 UTC`.
pub(crate) fn login_text(login: &LoginState, now: Timestamp) -> String {
    let LoginState::LoggedIn {
        account,
        until,
        renewable,
        ..
    } = login
    else {
        return login.words().to_owned();
    };
    let account = account.as_ref();
    let account = account.map(|name| format!(" as {}", UntrustedText::new(name)));
    let until = match until {
        Some(until) if *until > now => {
            let time = i64::try_from(until.0).ok();
            let time = time.and_then(|time| jiff::Timestamp::from_millisecond(time).ok());
            let text = time.map(|time| time.strftime(" until %Y-%m-%d %H:%M UTC").to_string());
            text.unwrap_or_default()
        }
        _ => String::new(),
    };
    let renewal = if *renewable {
        ", renewed automatically"
    } else {
        ""
    };
    format!("logged in{}{until}{renewal}", account.unwrap_or_default())
}

/// Formats a number with its noun, with a plural `s` if needed.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let digits = thousands(number);
    if number == 1 {
        format!("{digits} {noun}")
    } else {
        format!("{digits} {noun}s")
    }
}

/// Formats a number with thousands separators.
pub(crate) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a size in its largest unit.
pub(crate) fn bytes(number: u64) -> String {
    match number {
        0..1024 => format!("{number} bytes"),
        1024..1_048_576 => format!("{} KiB", number / 1024),
        _ => format!("{:.1} MiB", number as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_durations_are_formatted() {
        assert_eq!(thousands(1_174_647), "1,174,647");
        assert_eq!(thousands(999), "999");
        assert_eq!(count(1, "tool"), "1 tool");
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(70_000), "68 KiB");
        assert_eq!(bytes(2_621_440), "2.5 MiB");
        assert_eq!(count(2500, "tool"), "2,500 tools");
        assert_eq!(
            ago(Timestamp(200_000), Some(Timestamp(20_000))),
            "3 min ago"
        );
        assert_eq!(ago(Timestamp(0), None), "never");
    }
}
