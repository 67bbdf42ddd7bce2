//! Independent parsers of the three formats, to check what was written.

use pegboard_config::clients::{FileFormat, Root};
use serde_json::{Map, Value, json};

/// Parses a file. An empty file is an empty table.
pub(crate) fn parsed(text: &str, format: FileFormat) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    let value = match format {
        FileFormat::Json => match plain_json(text) {
            blank if blank.trim().is_empty() => Value::Null,
            plain => {
                serde_json::from_str(&plain).unwrap_or_else(|error| panic!("{error}:\n{text}"))
            }
        },
        FileFormat::Toml => {
            let document: toml_edit::DocumentMut = text.parse().unwrap();
            from_toml_table(document.as_table())
        }
        FileFormat::Yaml => {
            use saphyr::LoadableYamlNode;
            let documents = saphyr::Yaml::load_from_str(text).unwrap();
            documents.first().map_or(Value::Null, from_yaml)
        }
    };
    match value {
        Value::Null => json!({}),
        value => value,
    }
}

/// The servers of a file by name.
pub(crate) fn servers(file: &Value, root: Root) -> Map<String, Value> {
    let (keys, is_list) = match root {
        Root::Table(keys) => (keys, false),
        Root::List(keys) => (keys, true),
        Root::PerProject(..) => panic!("not a target"),
    };
    let mut found = file;
    for key in keys {
        found = found.get(key).unwrap_or(&Value::Null);
    }
    match (found, is_list) {
        (Value::Object(map), false) => map.clone(),
        (Value::Array(items), true) => {
            // An item without a name, such as a reference to a shared block, is not a server.
            let named = items.iter().filter_map(|item| {
                let name = item["name"].as_str()?.to_owned();
                Some((name, item.clone()))
            });
            named.collect()
        }
        _ => Map::new(),
    }
}

/// The file without its servers.
pub(crate) fn without_servers(file: &Value, root: Root) -> Value {
    let (Root::Table(keys) | Root::List(keys)) = root else {
        panic!("not a target")
    };
    let mut file = file.clone();
    let (last, parents) = keys.split_last().unwrap();
    let mut at = &mut file;
    for key in parents {
        let Some(inner) = at.get_mut(key) else {
            return file;
        };
        at = inner;
    }
    if let Some(map) = at.as_object_mut() {
        map.remove(*last);
    }
    // A parent that was created for the servers is empty without them.
    if let Some(first) = keys.first().filter(|_| keys.len() > 1)
        && file.get(first).is_some_and(|value| *value == json!({}))
    {
        file.as_object_mut().unwrap().remove(*first);
    }
    file
}

/// Removes comments and trailing commas.
fn plain_json(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '"' => {
                let mut end = 1;
                let bytes = rest.as_bytes();
                while bytes[end] != b'"' {
                    end += if bytes[end] == b'\\' { 2 } else { 1 };
                }
                plain.push_str(&rest[..=end]);
                end + 1
            }
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").unwrap() + 2,
            '}' | ']' => {
                let trimmed = plain.trim_end();
                if let Some(shorter) = trimmed.strip_suffix(',') {
                    plain.truncate(shorter.len());
                }
                plain.push(first);
                1
            }
            _ => {
                plain.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    plain
}

fn from_toml_table(table: &dyn toml_edit::TableLike) -> Value {
    let fields = table
        .iter()
        .map(|(key, item)| (key.to_owned(), from_toml(item)));
    Value::Object(fields.collect())
}

fn from_toml(item: &toml_edit::Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return from_toml_table(table);
    }
    if let Some(tables) = item.as_array_of_tables() {
        return tables.iter().map(|table| from_toml_table(table)).collect();
    }
    from_toml_value(item.as_value().unwrap())
}

fn from_toml_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(value) => (*value.value()).into(),
        toml_edit::Value::Datetime(date) => date.value().to_string().into(),
        toml_edit::Value::Array(items) => items.iter().map(from_toml_value).collect(),
        toml_edit::Value::InlineTable(table) => from_toml_table(table),
    }
}

fn from_yaml(node: &saphyr::Yaml<'_>) -> Value {
    use saphyr::{Scalar, Yaml};
    match node {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(value)) => (*value).into(),
        Yaml::Value(Scalar::Integer(number)) => (*number).into(),
        Yaml::Value(Scalar::FloatingPoint(number)) => number.into_inner().into(),
        Yaml::Value(Scalar::String(text)) => text.as_ref().into(),
        Yaml::Sequence(items) => items.iter().map(from_yaml).collect(),
        Yaml::Mapping(map) => {
            let pairs = map.iter().map(|(key, value)| {
                let key = from_yaml(key);
                let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
                (key, from_yaml(value))
            });
            Value::Object(pairs.collect())
        }
        other => panic!("unexpected YAML {other:?}"),
    }
}
