//! Time and dates. Time zones are offsets, so no time zone database is needed.

use jiff::civil::Date;
use jiff::tz::Offset;
use jiff::{Timestamp, Unit};
use serde_json::json;

use super::{Effect, ExampleTool, ToolOutput, object};

pub(super) const CURRENT_TIME: ExampleTool = ExampleTool {
    name: "current_time",
    title: "Current time",
    description: "Returns the current date and time, in UTC or at a fixed offset from it.",
    effect: Effect::Varying,
    input: || {
        object(
            json!({"utc_offset": {
                "type": "string",
                "description": "The offset from UTC as `+HH:MM` or `-HH:MM`.",
                "pattern": "^[+-][0-9]{2}:[0-9]{2}$",
                "default": "+00:00",
                "examples": ["+02:00", "-05:30"],
            }}),
            &[],
        )
    },
    output: Some(|| {
        object(
            json!({
                "time": {"type": "string", "description": "Date and time with the offset, by RFC 3339."},
                "date": {"type": "string", "description": "The date alone."},
                "weekday": {"type": "string", "description": "The day of the week."},
                "unix_seconds": {"type": "integer", "description": "Seconds since 1970-01-01 UTC."},
            }),
            &["time", "date", "weekday", "unix_seconds"],
        )
    }),
    run: |arguments, _| {
        let written = arguments.optional_text("utc_offset")?.unwrap_or("+00:00");
        let offset = offset(written).ok_or_else(|| {
            let written: String = written.chars().take(60).collect();
            format!(
                "`utc_offset` must look like `+02:00` or `-05:30`, up to 23:59, not {written:?}."
            )
        })?;
        let now = Timestamp::now();
        let local = offset.to_datetime(now);
        Ok(ToolOutput::data(json!({
            "time": format!("{local:.0}{written}"),
            "date": local.date().to_string(),
            "weekday": weekday(local.date()),
            "unix_seconds": now.as_second(),
        })))
    },
};

pub(super) const DATE_DIFFERENCE: ExampleTool = ExampleTool {
    name: "date_difference",
    title: "Difference of two dates",
    description: "Returns how far one date is from another: in days, and in years, months and days of the \
                  calendar. The numbers are negative when the second date is the earlier one.",
    effect: Effect::Pure,
    input: || {
        let date = |description: &str, example: &str| json!({"type": "string", "format": "date", "description": description, "examples": [example]});
        object(
            json!({
                "from": date("The first date, as `YYYY-MM-DD`.", "2024-02-29"),
                "to": date("The second date, as `YYYY-MM-DD`.", "2026-07-28"),
            }),
            &["from", "to"],
        )
    },
    output: Some(|| {
        let number = |what: &str| json!({"type": "integer", "description": what});
        object(
            json!({
                "total_days": number("All of it in days."),
                "years": number("Whole years."),
                "months": number("Whole months beyond the years."),
                "days": number("Days beyond the months."),
                "weekday_from": {"type": "string", "description": "The first date's day of the week."},
                "weekday_to": {"type": "string", "description": "The second date's day of the week."},
            }),
            &[
                "total_days",
                "years",
                "months",
                "days",
                "weekday_from",
                "weekday_to",
            ],
        )
    }),
    run: |arguments, _| {
        let from = date("from", arguments.text("from")?)?;
        let to = date("to", arguments.text("to")?)?;
        let fault = |error: jiff::Error| format!("These dates cannot be compared: {error}.");
        let days = from.until((Unit::Day, to)).map_err(fault)?;
        let span = from.until((Unit::Year, to)).map_err(fault)?;
        Ok(ToolOutput::data(json!({
            "total_days": days.get_days(),
            "years": span.get_years(),
            "months": span.get_months(),
            "days": span.get_days(),
            "weekday_from": weekday(from),
            "weekday_to": weekday(to),
        })))
    },
};

fn offset(written: &str) -> Option<Offset> {
    let (sign, rest) = match written.strip_prefix('+') {
        Some(rest) => (1, rest),
        None => (-1, written.strip_prefix('-')?),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let number = |text: &str, below: i32| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i32>()
            .ok()
            .filter(|number| digits && *number < below)
    };
    Offset::from_seconds(sign * (number(hours, 24)? * 3_600 + number(minutes, 60)? * 60)).ok()
}

fn date(name: &str, written: &str) -> Result<Date, String> {
    written.parse().map_err(|_| {
        let written: String = written.chars().take(60).collect();
        format!("`{name}` must be a date of the calendar as `YYYY-MM-DD`, not {written:?}.")
    })
}

fn weekday(date: Date) -> String {
    format!("{:?}", date.weekday())
}
