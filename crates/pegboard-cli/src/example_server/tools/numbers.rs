//! Addition and random values.

use serde_json::{Value, json};

use super::{Effect, ExampleTool, ToolOutput, object};

const COUNT_MAX: i64 = 100;
/// The largest integer that all JSON parsers represent exactly (2^53 - 1).
const WHOLE_MAX: i64 = 9_007_199_254_740_991;

pub(super) const ADD_NUMBERS: ExampleTool = ExampleTool {
    name: "add_numbers",
    title: "Add two numbers",
    description: "Adds two numbers and gives their sum.",
    effect: Effect::Pure,
    input: || {
        let number = |description: &str, example: f64| json!({"type": "number", "description": description, "examples": [example]});
        object(
            json!({"a": number("The first number.", 1.0), "b": number("The second number.", 2.5)}),
            &["a", "b"],
        )
    },
    output: Some(|| {
        object(
            json!({"sum": {"type": "number", "description": "Both together."}}),
            &["sum"],
        )
    }),
    run: |arguments, _| {
        let sum = arguments.number("a")? + arguments.number("b")?;
        if !sum.is_finite() {
            return Err("The sum is too large to be written as a number.".to_owned());
        }
        Ok(ToolOutput::data(json!({"sum": without_fraction(sum)})))
    },
};

pub(super) const RANDOM_NUMBER: ExampleTool = ExampleTool {
    name: "random_number",
    title: "Random numbers",
    description: "Draws whole numbers at random, every number from `min` to `max` being equally likely. \
                  Both ends can be drawn.",
    effect: Effect::Varying,
    input: || {
        object(
            json!({
                "min": bound("The smallest number that can be drawn.", 1),
                "max": bound("The largest number that can be drawn.", 100),
                "count": count("How many numbers to draw."),
            }),
            &[],
        )
    },
    output: Some(|| {
        let numbers = json!({
            "type": "array",
            "description": "The numbers, in the order they were drawn.",
            "items": {"type": "integer"},
        });
        object(json!({"numbers": numbers}), &["numbers"])
    }),
    run: |arguments, _| {
        let min = arguments.integer("min", 1, -WHOLE_MAX, WHOLE_MAX)?;
        let max = arguments.integer("max", 100, -WHOLE_MAX, WHOLE_MAX)?;
        let count = arguments.integer("count", 1, 1, COUNT_MAX)?;
        if max < min {
            return Err(format!(
                "`max` ({max}) must not be smaller than `min` ({min})."
            ));
        }
        let numbers: Vec<i64> = (0..count)
            .map(|_| draw(min, max))
            .collect::<Result<_, _>>()?;
        Ok(ToolOutput::data(json!({"numbers": numbers})))
    },
};

pub(super) const GENERATE_UUID: ExampleTool = ExampleTool {
    name: "generate_uuid",
    title: "Generate UUIDs",
    description: "Makes random UUIDs (version 4), one per line.",
    effect: Effect::Varying,
    input: || {
        object(
            json!({
                "count": count("How many UUIDs to make."),
                "uppercase": {
                    "type": "boolean",
                    "description": "Whether to write the hex digits in capitals.",
                    "default": false,
                },
            }),
            &[],
        )
    },
    output: None,
    run: |arguments, _| {
        let count = arguments.integer("count", 1, 1, COUNT_MAX)?;
        let uppercase = arguments.flag("uppercase")?;
        let uuids: Vec<String> = (0..count).map(|_| uuid()).collect::<Result<_, _>>()?;
        let text = uuids.join("\n");
        Ok(ToolOutput::text(if uppercase {
            text.to_uppercase()
        } else {
            text
        }))
    },
};

fn bound(description: &str, default: i64) -> Value {
    json!({
        "type": "integer",
        "description": description,
        "minimum": -WHOLE_MAX,
        "maximum": WHOLE_MAX,
        "default": default,
    })
}

fn count(description: &str) -> Value {
    json!({"type": "integer", "description": description, "minimum": 1, "maximum": COUNT_MAX, "default": 1})
}

/// Converts a whole number to a JSON integer.
fn without_fraction(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() <= WHOLE_MAX as f64 {
        json!(number as i64)
    } else {
        json!(number)
    }
}

/// Draws again if the value falls into the last, incomplete part of the range, which would favor small numbers.
fn draw(min: i64, max: i64) -> Result<i64, String> {
    let width = max.abs_diff(min) + 1;
    let complete = u64::MAX - u64::MAX % width;
    loop {
        let drawn = u64::from_le_bytes(random()?);
        if drawn < complete {
            return Ok(min.saturating_add_unsigned(drawn % width));
        }
    }
}

fn uuid() -> Result<String, String> {
    const VERSION_4: u128 = 0x4 << 76;
    const VARIANT: u128 = 0b10 << 62;
    let random = u128::from_be_bytes(random()?) & !(0xf << 76) & !(0b11 << 62);
    let digits = format!("{:032x}", random | VERSION_4 | VARIANT);
    let mut text = String::with_capacity(36);
    for (place, digit) in digits.chars().enumerate() {
        if matches!(place, 8 | 12 | 16 | 20) {
            text.push('-');
        }
        text.push(digit);
    }
    Ok(text)
}

fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| format!("The system gave no random numbers: {error}."))?;
    Ok(bytes)
}
