//! Whether a form asks for a secret. The protocol forbids it: what is typed into a form passes through the client,
//! its model's context and Pegboard. A server that needs a secret uses url mode.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::Refusal;
use crate::confusables::look;

/// Found anywhere in a text, whatever separates their letters. Compared by their look.
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
    // Other languages in which people are asked.
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
/// Found as whole words.
const WORDS: &[&str] = &["otp", "totp", "2fa", "mfa", "cvv", "cvc", "pwd", "senha"];
/// Found as whole words, where the form has a field for text: with numbers they are counted (`token limit`).
const TEXT_WORDS: &[&str] = &[
    "secret",
    "secrets",
    "token",
    "credential",
    "credentials",
    "mnemonic",
];
/// After one of `TEXT_WORDS`, these say that the secret itself is not meant: `secret_name`, `token count`.
const ABOUT: &[&str] = &[
    "address", "count", "id", "limit", "name", "names", "symbol", "type",
];
/// Whole names of fields that mean a secret, where the same word in a sentence may not.
const NAMES: &[&str] = &["pass", "pw", "pin", "auth"];

static TABLE: LazyLock<Table> = LazyLock::new(|| Table {
    phrases: looks(PHRASES),
    words: looks(WORDS),
    text_words: looks(TEXT_WORDS),
    about: looks(ABOUT),
    names: looks(NAMES),
});

struct Table {
    phrases: BTreeSet<String>,
    words: BTreeSet<String>,
    text_words: BTreeSet<String>,
    about: BTreeSet<String>,
    names: BTreeSet<String>,
}

fn looks(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| look(word)).collect()
}

/// What is known of a form while it is read: whether its texts speak of secrets, and what can be typed into it.
#[derive(Debug, Default)]
pub(super) struct SecretDetector {
    /// A secret that a field for text or numbers takes.
    in_any_field: bool,
    /// One that only a field for text takes.
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

    /// A field that says itself that it holds a secret.
    pub(super) fn takes_secret(&mut self) {
        self.takes_text = true;
        self.in_any_field = true;
    }

    /// Reads a text that the user sees.
    pub(super) fn read(&mut self, text: &str) {
        let table = &*TABLE;
        let words = words(text);
        let joined = words.concat();
        // In small letters it is a verb as often.
        let mut plain = text.split(|c: char| !c.is_alphanumeric());
        self.in_any_field |= plain.any(|word| word == "PIN")
            || (table.phrases.iter()).any(|phrase| joined.contains(phrase.as_str()))
            || words.iter().any(|word| table.words.contains(word));
        let is_about = |at: usize| {
            let next = words.get(at + 1);
            next.is_some_and(|next| table.about.contains(next))
        };
        let mut named = words.iter().enumerate();
        self.in_text |= named.any(|(at, word)| table.text_words.contains(word) && !is_about(at));
    }

    /// Reads the name of a field.
    pub(super) fn read_name(&mut self, name: &str) {
        self.read(name);
        self.in_any_field |= TABLE.names.contains(&words(name).concat());
    }

    /// # Errors
    ///
    /// Returns the reason when the form speaks of a secret and has a field to type it into.
    pub(super) fn judge(&self) -> Result<(), Refusal> {
        let takes_any = self.takes_text || self.takes_number;
        if (takes_any && self.in_any_field) || (self.takes_text && self.in_text) {
            return Err(Refusal::new(
                "the form asks for a password, a token, a key, a code or another secret, and a form must not; \
                 use an elicitation in url mode instead",
            ));
        }
        Ok(())
    }
}

/// The words of a text by their look: parted at everything but letters and digits, and within `camelCase`.
fn words(text: &str) -> Vec<String> {
    let mut parted = String::with_capacity(text.len());
    let mut was_lower = false;
    for character in text.chars() {
        if character.is_uppercase() && was_lower {
            parted.push(' ');
        }
        was_lower = character.is_lowercase();
        parted.push(character);
    }
    let looked = look(&parted);
    looked
        .split(|c: char| !c.is_alphanumeric() && !is_mark(c))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Accents are apart from their letters in a skeleton.
fn is_mark(character: char) -> bool {
    matches!(u32::from(character), 0x300..=0x36F | 0x3099 | 0x309A)
}
