//! Detection of forms that ask for a secret. The protocol forbids them, because form input passes through the client,
//! its model's context and Pegboard. A server that needs a secret must use url mode.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::Refusal;
use crate::confusables::skeleton_of;

/// Matched anywhere in a text, ignoring separators. All words are compared by their skeleton.
const PHRASES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "apikey",
    "accesskey",
    "accesstoken",
    "authtoken",
    "bearertoken",
    "refreshtoken",
    "privatekey",
    "secretkey",
    "sshkey",
    "clientsecret",
    "seedphrase",
    "recoveryphrase",
    "recoverycode",
    "backupcode",
    // Codes and cards.
    "onetimecode",
    "onetimepin",
    "verificationcode",
    "securitycode",
    "authenticationcode",
    "authenticatorcode",
    "confirmationcode",
    "pincode",
    "pinnumber",
    "yourpin",
    "cardnumber",
    "creditcard",
    "debitcard",
    // Other languages.
    "passwort",
    "kennwort",
    "contraseña",
    "motdepasse",
    "пароль",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
];
/// Matched as whole words.
const WORDS: &[&str] = &["otp", "totp", "2fa", "mfa", "cvv", "cvc", "pwd", "senha"];
/// Matched as whole words if the form has a text field; with a number field they are usually a count (`token limit`).
const TEXT_WORDS: &[&str] = &[
    "secret",
    "secrets",
    "token",
    "credential",
    "credentials",
    "mnemonic",
];
/// After one of `TEXT_WORDS`, these mean that the secret itself is not requested: `secret_name`, `token count`.
const QUALIFIERS: &[&str] = &[
    "address", "count", "id", "limit", "name", "names", "symbol", "type",
];
/// Field names that mean a secret, although the same word in a sentence may not.
const NAMES: &[&str] = &["pass", "pw", "pin", "auth"];

static TABLE: LazyLock<Table> = LazyLock::new(|| Table {
    phrases: skeletons(PHRASES),
    words: skeletons(WORDS),
    text_words: skeletons(TEXT_WORDS),
    qualifiers: skeletons(QUALIFIERS),
    names: skeletons(NAMES),
});

struct Table {
    phrases: BTreeSet<String>,
    words: BTreeSet<String>,
    text_words: BTreeSet<String>,
    qualifiers: BTreeSet<String>,
    names: BTreeSet<String>,
}

fn skeletons(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| skeleton_of(word)).collect()
}

/// Collects whether the texts of a form mention secrets, and what can be entered into it.
#[derive(Debug, Default)]
pub(super) struct SecretDetector {
    /// A mentioned secret can be entered into a text or number field.
    in_any_field: bool,
    /// A mentioned secret can be entered into a text field only.
    in_text: bool,
    takes_text: bool,
    takes_number: bool,
}

impl SecretDetector {
    pub(super) fn takes_text(&mut self) {
        self.takes_text = true;
    }

    pub(super) fn takes_number(&mut self) {
        self.takes_number = true;
    }

    /// Records a field that is declared as secret.
    pub(super) fn takes_secret(&mut self) {
        self.takes_text = true;
        self.in_any_field = true;
    }

    /// Scans a text that is shown to the user.
    pub(super) fn read(&mut self, text: &str) {
        let table = &*TABLE;
        let words = words(text);
        let joined = words.concat();
        // `pin` in lower case is often a verb.
        let mut plain = text.split(|c: char| !c.is_alphanumeric());
        self.in_any_field |= plain.any(|word| word == "PIN")
            || (table.phrases.iter()).any(|phrase| joined.contains(phrase.as_str()))
            || words.iter().any(|word| table.words.contains(word));
        let is_qualified = |at: usize| {
            let next = words.get(at + 1);
            next.is_some_and(|next| table.qualifiers.contains(next))
        };
        let mut named = words.iter().enumerate();
        self.in_text |=
            named.any(|(at, word)| table.text_words.contains(word) && !is_qualified(at));
    }

    /// Scans the name of a field.
    pub(super) fn read_name(&mut self, name: &str) {
        self.read(name);
        self.in_any_field |= TABLE.names.contains(&words(name).concat());
    }

    /// # Errors
    ///
    /// Returns the reason if the form mentions a secret and has a field to enter it.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let takes_any = self.takes_text || self.takes_number;
        if (takes_any && self.in_any_field) || (self.takes_text && self.in_text) {
            return Err(Refusal::new(
                "forms must not ask for a password, a token, a key, a code or another secret; \
                 use an elicitation in url mode instead",
            ));
        }
        Ok(())
    }
}

/// The skeletons of the words of a text, split at everything except letters and digits and inside `camelCase`.
fn words(text: &str) -> Vec<String> {
    let mut split = String::with_capacity(text.len());
    let mut was_lower = false;
    for character in text.chars() {
        if character.is_uppercase() && was_lower {
            split.push(' ');
        }
        was_lower = character.is_lowercase();
        split.push(character);
    }
    let skeleton = skeleton_of(&split);
    skeleton
        .split(|c: char| !c.is_alphanumeric() && !is_mark(c))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Whether a character is an accent; in a skeleton accents are separate characters.
fn is_mark(character: char) -> bool {
    matches!(u32::from(character), 0x300..=0x36F | 0x3099 | 0x309A)
}
