//! Confusable texts: texts that look alike have the same skeleton.

use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_security::confusable_detection::skeleton;

/// Skeletons of the ASCII characters. Tool names are nearly always ASCII, and long lists contain many.
static ASCII: LazyLock<Vec<String>> = LazyLock::new(|| {
    let characters = (0..128_u8).map(char::from);
    characters
        .map(|character| folded(&character.to_string()))
        .collect()
});

/// The skeleton of a text according to Unicode Technical Standard #39, ignoring case, invisible characters and
/// surrounding white space.
pub(crate) fn skeleton_of(text: &str) -> String {
    if !text.is_ascii() {
        return folded(text).trim().to_owned();
    }
    let parts = text.bytes().filter_map(|byte| ASCII.get(usize::from(byte)));
    let skeleton: String = parts.map(String::as_str).collect();
    skeleton.trim().to_owned()
}

fn folded(text: &str) -> String {
    let lower = text.nfkc().collect::<String>().to_lowercase();
    let folded: String = skeleton(&lower).collect();
    folded.to_lowercase()
}

/// Groups of confusable names, each as positions in the list. Names that are unique are in no group.
pub fn confusable_groups<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Vec<usize>> {
    let mut groups: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, name) in names.enumerate() {
        groups.entry(skeleton_of(name)).or_default().push(at);
    }
    groups
        .into_values()
        .filter(|group| group.len() > 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn alike(one: &str, other: &str, expected: bool) {
        assert_eq!(
            skeleton_of(one) == skeleton_of(other),
            expected,
            "{one} {other}"
        );
    }

    #[test]
    fn r_sec_01_names_that_look_alike_have_one_skeleton() {
        for other in [
            "wipe",
            "Wipe",
            "WIPE",
            "wi\u{0440}\u{0435}",
            "wipe ",
            "\u{a0}wipe",
            "wi\u{200b}pe",
            "ｗｉｐｅ",
        ] {
            alike("wipe", other, true);
        }
        alike("list_l", "list_1", true);
        alike("modern", "rnodern", true);
        alike("wipe", "wiped", false);
        alike("get_user", "getuser", false);
    }

    #[test]
    fn only_names_that_collide_are_in_a_group() {
        let names = ["wipe", "read", "Wipe", "wi\u{0440}\u{0435}", "write"];
        assert_eq!(confusable_groups(names.into_iter()), [vec![0, 2, 3]]);
        assert!(confusable_groups(["a", "b"].into_iter()).is_empty());
    }

    #[test]
    fn the_fast_path_for_ascii_gives_the_same() {
        let all: String = (0..128_u8).map(char::from).collect();
        assert_eq!(skeleton_of(&all), folded(&all).trim());
    }
}
