//! `pegboard policy grants` and `revoke`: permanent grants.

use pegboard_hub::SystemClock;
use pegboard_model::{Clock, Grant, Reason, ToolError, UntrustedText};
use serde::Serialize;

use crate::commands::{CommandResult, Global, Output, builder, load_config, open, reading};
use crate::format::ago;
use crate::output::Paint;

#[derive(Serialize)]
struct Grants<'a> {
    grants: &'a [Grant],
}

pub(super) fn list(global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        let hub = pegboard.hub();
        let grants = hub.grants().await?;
        if output.json {
            return output.document(&Grants { grants: &grants });
        }
        if grants.is_empty() {
            output.note("No permanent grants.");
            return Ok(());
        }
        let now = SystemClock.now();
        let catalog = hub.catalog();
        let rows = grants.iter().map(|grant| {
            let present = catalog.all_tools().find(|view| {
                view.server() == grant.version.server.as_ref() && view.name() == grant.version.tool
            });
            let is_same = present
                .and_then(|view| view.tool().map(|tool| tool.fingerprint))
                .is_none_or(|fingerprint| fingerprint == grant.version.fingerprint);
            vec![
                UntrustedText::new(&grant.exposed).to_string(),
                ago(now, Some(grant.at)),
                UntrustedText::new(&grant.by).to_string(),
                match is_same {
                    true => String::new(),
                    false => output.paint(Paint::Warn, "changed since; needs approval again"),
                },
            ]
        });
        output.line(&output.table(&["TOOL", "ALLOWED", "BY", ""], rows.collect(), None))
    })
}

pub(super) fn revoke(tool: &str, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        let hub = pegboard.hub();
        let grants = hub.grants().await?;
        let is_meant = |grant: &&Grant| {
            let version = &grant.version;
            let written = version
                .server
                .as_ref()
                .map(|server| format!("{server}/{}", version.tool));
            grant.exposed == tool || written.as_deref() == Some(tool)
        };
        let Some(grant) = grants.iter().find(is_meant) else {
            let message = format!("no permanent grant for `{}`", UntrustedText::new(tool));
            let names = grants
                .iter()
                .map(|grant| grant.exposed.clone())
                .take(3)
                .collect();
            return Err(ToolError::new(Reason::GrantUnknown, message)
                .with_remedy("List grants with `pegboard policy grants`.")
                .with_nearest(names)
                .into());
        };
        let version = &grant.version;
        hub.revoke_grant(version.server.as_ref(), &version.tool)
            .await?;
        output.note(&format!(
            "revoked the grant for `{}`",
            UntrustedText::new(&grant.exposed)
        ));
        Ok(())
    })
}
