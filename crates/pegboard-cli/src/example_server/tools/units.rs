//! Unit conversion.

use serde_json::json;

use super::{Effect, ExampleTool, ToolOutput, object};

/// A unit. A value is converted to the base unit of its kind by multiplying with `factor` and adding `offset`.
struct Unit {
    name: &'static str,
    kind: &'static str,
    factor: f64,
    offset: f64,
}

const fn unit(kind: &'static str, name: &'static str, factor: f64) -> Unit {
    Unit {
        name,
        kind,
        factor,
        offset: 0.0,
    }
}

const UNITS: &[Unit] = &[
    unit("length", "millimetre", 0.001),
    unit("length", "centimetre", 0.01),
    unit("length", "metre", 1.0),
    unit("length", "kilometre", 1_000.0),
    unit("length", "inch", 0.0254),
    unit("length", "foot", 0.3048),
    unit("length", "yard", 0.9144),
    unit("length", "mile", 1_609.344),
    unit("length", "nautical_mile", 1_852.0),
    unit("mass", "gram", 0.001),
    unit("mass", "kilogram", 1.0),
    unit("mass", "tonne", 1_000.0),
    unit("mass", "ounce", 0.028_349_523_125),
    unit("mass", "pound", 0.453_592_37),
    unit("volume", "millilitre", 0.001),
    unit("volume", "litre", 1.0),
    unit("volume", "cubic_metre", 1_000.0),
    unit("volume", "us_gallon", 3.785_411_784),
    unit("volume", "imperial_gallon", 4.546_09),
    unit("speed", "metre_per_second", 1.0),
    unit("speed", "kilometre_per_hour", 1.0 / 3.6),
    unit("speed", "mile_per_hour", 0.447_04),
    unit("speed", "knot", 1_852.0 / 3_600.0),
    unit("temperature", "kelvin", 1.0),
    Unit {
        name: "celsius",
        kind: "temperature",
        factor: 1.0,
        offset: 273.15,
    },
    Unit {
        name: "fahrenheit",
        kind: "temperature",
        factor: 5.0 / 9.0,
        offset: 459.67 * 5.0 / 9.0,
    },
    unit("data", "byte", 1.0),
    unit("data", "kilobyte", 1e3),
    unit("data", "megabyte", 1e6),
    unit("data", "gigabyte", 1e9),
    unit("data", "kibibyte", 1_024.0),
    unit("data", "mebibyte", 1_048_576.0),
    unit("data", "gibibyte", 1_073_741_824.0),
];

/// Results are rounded to this precision to hide floating-point noise.
const SIGNIFICANT_DIGITS: usize = 12;

pub(super) const CONVERT_UNITS: ExampleTool = ExampleTool {
    name: "convert_units",
    title: "Convert units",
    description: "Converts a value from one unit to another of the same kind: length, mass, volume, \
                  speed, temperature or amount of data.",
    effect: Effect::Pure,
    input: || {
        let names: Vec<&str> = UNITS.iter().map(|unit| unit.name).collect();
        object(
            json!({
                "value": {"type": "number", "description": "The value to convert.", "examples": [26.2]},
                "from": {"type": "string", "description": "The unit of the value.", "enum": names},
                "to": {"type": "string", "description": "The unit to convert to.", "enum": names},
            }),
            &["value", "from", "to"],
        )
    },
    output: Some(|| {
        object(
            json!({
                "value": {"type": "number", "description": "The converted value."},
                "unit": {"type": "string", "description": "Its unit."},
                "kind": {"type": "string", "description": "What both units measure."},
            }),
            &["value", "unit", "kind"],
        )
    }),
    run: |arguments, _| {
        let value = arguments.number("value")?;
        let (from, to) = (
            named(arguments.text("from")?)?,
            named(arguments.text("to")?)?,
        );
        if from.kind != to.kind {
            return Err(format!(
                "`{}` measures {} and `{}` measures {}; choose two units of the same kind.",
                from.name, from.kind, to.name, to.kind
            ));
        }
        let converted = rounded((value * from.factor + from.offset - to.offset) / to.factor);
        if !converted.is_finite() {
            return Err("The converted value is too large to be written as a number.".to_owned());
        }
        Ok(ToolOutput::data(
            json!({"value": converted, "unit": to.name, "kind": to.kind}),
        ))
    },
};

fn named(name: &str) -> Result<&'static Unit, String> {
    UNITS.iter().find(|unit| unit.name == name).ok_or_else(|| {
        let name: String = name.chars().take(60).collect();
        let known: Vec<&str> = UNITS.iter().map(|unit| unit.name).collect();
        format!(
            "There is no unit {name:?}. Units are: {}.",
            known.join(", ")
        )
    })
}

fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", SIGNIFICANT_DIGITS - 1)
        .parse()
        .unwrap_or(value)
}
