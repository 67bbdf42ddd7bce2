//! Questions at the terminal.

use std::collections::BTreeSet;

use pegboard_config::clients::{
    ApplyOptions, FileScope, ImportPlan, ImportServer, SecretMode, Selection,
};
use pegboard_model::Secret;

use super::show::count;
use crate::prompts::{ask as ask_text, confirm};

/// Asks what to import. Returns whether anything is to be imported.
pub(in crate::commands) fn ask(
    plan: &ImportPlan,
    selection: &mut Selection,
    options: &mut ApplyOptions,
    asks_about_secrets: bool,
) -> bool {
    let chosen: Vec<&ImportServer> = plan
        .importable()
        .filter(|server| selection.contains(server))
        .collect();
    if chosen.is_empty() {
        return false;
    }
    let question = format!(
        "Import {}? [Y/n/c = choose] ",
        count(chosen.len(), "server")
    );
    match ask_text(&question).as_deref() {
        Some("" | "y" | "yes") => {}
        Some("c" | "choose") => {
            let picked = chosen.iter().filter(|server| is_picked(server));
            let names = picked.filter_map(|server| server.name.as_ref());
            let names: BTreeSet<String> = names.map(ToString::to_string).collect();
            if names.is_empty() {
                return false;
            }
            selection.exact = Some(names);
        }
        _ => return false,
    }
    let chosen: Vec<&ImportServer> = plan
        .importable()
        .filter(|server| selection.contains(server))
        .collect();
    let secrets: usize = chosen.iter().map(|server| server.secrets.len()).sum();
    if asks_about_secrets && secrets > 0 {
        let values = count(secrets, "value");
        let question = format!("Move {values} that look like secrets into the secret store?");
        if !confirm(&question, true) {
            options.secrets = SecretMode::Keep;
        }
    }
    enter_secrets(&chosen, options);
    true
}

fn is_picked(server: &ImportServer) -> bool {
    let name = server
        .name
        .as_ref()
        .map(|name| name.as_str())
        .unwrap_or_default();
    let project = match server.scope {
        FileScope::Project => " into the project's file",
        FileScope::User => "",
    };
    confirm(
        &format!("Import `{name}`{project}?"),
        server.scope == FileScope::User,
    )
}

/// Asks for values that the clients ask for too. An empty value can be set later.
fn enter_secrets(chosen: &[&ImportServer], options: &mut ApplyOptions) {
    for secret in chosen.iter().flat_map(|server| &server.required_secrets) {
        if secret.is_stored || options.entered.contains_key(&secret.name) {
            continue;
        }
        let prompt = format!(
            "{} ({}; leave empty to set it later): ",
            secret.name, secret.prompt
        );
        match rpassword::prompt_password(prompt) {
            Ok(value) if !value.is_empty() => {
                options
                    .entered
                    .insert(secret.name.clone(), Secret::new(value));
            }
            _ => {}
        }
    }
}
