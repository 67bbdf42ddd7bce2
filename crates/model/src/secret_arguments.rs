//! Which words of a command line may be secrets that somebody wrote down.

/// Parts of a flag's name that mean its value is nobody else's business.
const SECRET_WORDS: &[&str] = &[
    "token",
    "secret",
    "key",
    "passw",
    "auth",
    "bearer",
    "credential",
    "env",
    "header",
    "cookie",
];

/// Whether the value of a flag or variable of this name may be a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// For each argument, whether it may hold a secret: `--token=x`, and `x` in `--token x`.
pub fn secret_arguments<'a>(args: impl IntoIterator<Item = &'a str>) -> Vec<bool> {
    let mut after_flag = false;
    let judge = |arg: &str| {
        let flag = arg.trim_start_matches('-').split('=').next();
        let may_name = arg.starts_with('-') || arg.contains('=');
        let names_secret = may_name && flag.is_some_and(is_secret_name);
        let secret = after_flag || (names_secret && arg.contains('=')) || has_url_secret(arg);
        after_flag = names_secret && arg.starts_with('-') && !arg.contains('=');
        secret
    };
    args.into_iter().map(judge).collect()
}

/// Whether a text is an address with a user, a password or a query in it.
pub fn has_url_secret(text: &str) -> bool {
    text.split_once("://")
        .is_some_and(|(_, rest)| rest.contains(['@', '?', '#']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &str, expected: &[bool]) {
        assert_eq!(secret_arguments(words.split(' ')), expected, "{words}");
    }

    #[test]
    fn r_cfg_08_values_of_telling_flags_and_addresses_with_a_password_may_be_secret() {
        check("-y server@1.2.3 --port 80", &[false, false, false, false]);
        check("--api-key abc --port 80", &[false, true, false, false]);
        check("--token=abc x", &[true, false]);
        check("-e API_KEY=abc", &[false, true]);
        check("https://user:pass@host/ https://host/", &[true, false]);
    }
}
