//! How values of each type are read and displayed, and the macro that defines a table of keys.

use std::time::Duration;

use pegboard_model::{Layer, Template};

use crate::keys::{Key, ValueType, Word, words};
use crate::node::Entry;
use crate::reader::TableReader;
use crate::sensitive::Visibility;

/// How the values of one type are read and displayed.
pub(crate) struct Kind<V> {
    pub(crate) value_type: ValueType,
    pub(crate) visibility: Visibility,
    pub(crate) read: fn(&Entry, &mut TableReader<'_>) -> Option<V>,
    /// Formats a value; empty for an absent one.
    pub(crate) show: fn(&V) -> String,
}

pub(crate) const BOOLEAN: Kind<bool> = Kind {
    value_type: ValueType::Boolean,
    visibility: Visibility::Open,
    read: |entry, reader| reader.boolean(entry),
    show: bool::to_string,
};
pub(crate) const TEXT: Kind<Option<String>> = Kind {
    value_type: ValueType::Text,
    visibility: Visibility::Open,
    read: |entry, reader| reader.text(entry).map(Some),
    show: |text| text.clone().unwrap_or_default(),
};
pub(crate) const TEXTS: Kind<Vec<String>> = Kind {
    value_type: ValueType::TextList,
    visibility: Visibility::Open,
    read: |entry, reader| reader.texts(entry),
    show: |texts| format!("[{}]", texts.join(", ")),
};
pub(crate) const DURATION: Kind<Duration> = Kind {
    value_type: ValueType::Duration,
    visibility: Visibility::Open,
    read: |entry, reader| reader.duration(entry, false),
    show: |duration| format_duration(*duration),
};
pub(crate) const DURATION_OR_ZERO: Kind<Duration> = Kind {
    read: |entry, reader| reader.duration(entry, true),
    ..DURATION
};
/// Text with `${…}`. Its value is never displayed.
pub(crate) const TEMPLATE: Kind<Option<Template>> = Kind {
    value_type: ValueType::Template,
    visibility: Visibility::Hidden,
    read: |entry, reader| reader.template(&entry.key, &entry.node).map(Some),
    show: |_| String::new(),
};

pub(crate) const fn count<const MAX: usize>() -> Kind<usize> {
    Kind {
        value_type: ValueType::Count { max: MAX },
        visibility: Visibility::Open,
        read: |entry, reader| reader.count(entry, MAX),
        show: usize::to_string,
    }
}

pub(crate) const fn one_of<T: Word>() -> Kind<T> {
    Kind {
        value_type: ValueType::OneOf(words::<T>),
        visibility: Visibility::Open,
        read: |entry, reader| reader.one_of(entry),
        show: |value| value.word().to_owned(),
    }
}

pub(crate) const fn optional_count<const MAX: usize>() -> Kind<Option<usize>> {
    Kind {
        value_type: ValueType::Count { max: MAX },
        visibility: Visibility::Open,
        read: |entry, reader| reader.count(entry, MAX).map(Some),
        show: |number| number.map_or(String::new(), |number| number.to_string()),
    }
}

pub(crate) const fn optional_one_of<T: Word>() -> Kind<Option<T>> {
    Kind {
        value_type: ValueType::OneOf(words::<T>),
        visibility: Visibility::Open,
        read: |entry, reader| reader.one_of(entry).map(Some),
        show: |value| value.map_or("", Word::word).to_owned(),
    }
}

/// What a project's file may do with a key. The texts complete "a project file …" and say what to do instead.
pub(crate) enum InProjects<V> {
    Allowed,
    Ignored(&'static str, &'static str),
    /// Allowed if the function accepts the current and the new value.
    Only(fn(&V, &V) -> bool, &'static str, &'static str),
}

impl<V> Kind<V> {
    /// Reads a value and assigns it, if the file may set it.
    pub(crate) fn apply(
        &self,
        target: &mut V,
        rule: InProjects<V>,
        entry: &Entry,
        reader: &mut TableReader<'_>,
    ) -> Option<()> {
        let is_project = reader.layer == Layer::Project;
        if let (true, InProjects::Ignored(why, help)) = (is_project, &rule) {
            return report_restriction(entry, reader, why, help);
        }
        let value = (self.read)(entry, reader)?;
        if let (true, InProjects::Only(accepts, why, help)) = (is_project, &rule)
            && !accepts(target, &value)
        {
            return report_restriction(entry, reader, why, help);
        }
        *target = value;
        Some(())
    }
}

/// Reports that a key has no effect in a project's file.
fn report_restriction(
    entry: &Entry,
    reader: &mut TableReader<'_>,
    why: &str,
    help: &str,
) -> Option<()> {
    let message = format!("a project file {why}; `{}` is ignored here", entry.key);
    reader.warn(entry.key_start, message, help);
    None
}

/// How a key of a table `T` is applied and displayed.
pub(crate) struct Field<T> {
    pub(crate) apply: fn(&mut T, &Entry, &mut TableReader<'_>) -> Option<()>,
    pub(crate) show: fn(&T) -> String,
}

/// Returns the default value of a key as Markdown; empty if there is none.
pub(crate) fn field_default<T: Default>(key: &Key<Field<T>>) -> String {
    let shown = (key.read.show)(&T::default());
    match shown.is_empty() {
        true => shown,
        false => format!("`{shown}`"),
    }
}

/// Defines a struct and the list of its keys. Each key has a description, a name, a type, a default, a [`Kind`], and
/// optionally a rule for project files.
macro_rules! key_table {
    (
        $(#[$meta:meta])*
        pub struct $table:ident, $keys:ident;
        $($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr, $kind:expr $(, $rule:expr)?;)+
    ) => {
        $(#[$meta])*
        pub struct $table {
            $($(#[doc = $doc])+ pub $name: $type,)+
        }

        impl Default for $table {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        #[doc = concat!("The keys of [`", stringify!($table), "`].")]
        pub(crate) const $keys: &[$crate::keys::Key<$crate::kinds::Field<$table>>] = &[$({
            const KIND: $crate::kinds::Kind<$type> = $kind;
            const FIELD: $crate::kinds::Field<$table> = $crate::kinds::Field {
                apply: |table, entry, reader| {
                    let rule = key_table!(@rule $($rule)?);
                    KIND.apply(&mut table.$name, rule, entry, reader)
                },
                show: |table| (KIND.show)(&table.$name),
            };
            $crate::keys::Key {
                visibility: KIND.visibility,
                ..$crate::keys::Key::new(stringify!($name), KIND.value_type, concat!($($doc),+), FIELD)
            }
        }),+];
    };
    (@rule) => { $crate::kinds::InProjects::Allowed };
    (@rule $rule:expr) => { $rule };
}
pub(crate) use key_table;

/// Formats a duration as it would be written in a config file.
pub(crate) fn format_duration(duration: Duration) -> String {
    let milliseconds = duration.as_millis();
    match milliseconds {
        0 => "0s".to_owned(),
        ms if ms % 3_600_000 == 0 => format!("{}h", ms / 3_600_000),
        ms if ms % 60_000 == 0 => format!("{}m", ms / 60_000),
        ms if ms % 1_000 == 0 => format!("{}s", ms / 1_000),
        ms => format!("{ms}ms"),
    }
}
