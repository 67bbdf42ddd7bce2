use std::sync::Arc;

use pegboard_catalog::{Catalog, ServerEntry, exposed_prompt, exposed_uri};
use pegboard_model::{Offer, Offers, Reason, ServerSpec, TrustState};

use crate::fixture::{catalog, entry, name, record, spec};

fn offers(keys: &[&str]) -> Vec<Offer> {
    let offer = |key: &&str| Offer {
        key: (*key).to_owned(),
        definition: format!(r#"{{"of":"{key}"}}"#).into(),
    };
    let mut offers: Vec<Offer> = keys.iter().map(offer).collect();
    offers.sort_by(|one, other| one.key.cmp(&other.key));
    offers
}

fn offering(
    spec: ServerSpec,
    prompts: &[&str],
    resources: &[&str],
    templates: &[&str],
) -> ServerEntry {
    let mut record = record(spec.name.as_str(), &[]);
    record.offers = Arc::new(Offers {
        prompts: offers(prompts),
        resources: offers(resources),
        templates: offers(templates),
    });
    ServerEntry::new(Arc::new(spec), Arc::new(record))
}

fn mixed() -> Catalog {
    let mut off = spec("off");
    off.enabled = false;
    let mut pending = spec("pending");
    pending.trust_state = TrustState::Pending;
    [
        offering(
            spec("notes"),
            &["summarise", "a__b", "plan", "GitHub__plan", "Git-Hub/plan"],
            &["note://2", "note://1", "test://same"],
            &["note://{id}/text", "file:///{+path}"],
        ),
        offering(
            spec("docs"),
            &["plan", "review code"],
            &["doc://1", "test://same"],
            &["doc://{id}", "note://{id}/copy", "both://{x}"],
        ),
        offering(spec("more"), &[], &[], &["both://{y}"]),
        offering(off, &["hidden"], &["off://1"], &["off://{x}"]),
        offering(pending, &["waits"], &["pending://1"], &[]),
    ]
    .into_iter()
    .collect()
}

#[test]
fn r_gate_03_offers_of_offered_servers_are_listed_by_server_and_key() {
    let catalog = mixed();
    let prompts: Vec<String> = catalog
        .prompts()
        .map(|view| exposed_prompt(view.server, &view.offer.key))
        .collect();
    assert_eq!(
        prompts,
        [
            "docs__plan",
            "docs__review code",
            "notes__Git-Hub/plan",
            "notes__GitHub__plan",
            "notes__a__b",
            "notes__plan",
            "notes__summarise"
        ]
    );
    let resources: Vec<String> = catalog
        .resources()
        .map(|view| exposed_uri(view.server, &view.offer.key))
        .collect();
    assert_eq!(
        resources,
        [
            "pegboard://docs/doc://1",
            "pegboard://docs/test://same",
            "pegboard://notes/note://1",
            "pegboard://notes/note://2",
            "pegboard://notes/test://same"
        ]
    );
    assert_eq!(catalog.templates().count(), 6);
    let view = catalog.prompts().next().unwrap();
    assert_eq!(view.entry.name(), view.server);
    assert_eq!(&*view.offer.definition, r#"{"of":"plan"}"#);
}

#[track_caller]
fn prompt(written: &str, expected: Result<(&str, &str), Reason>) {
    let catalog = mixed();
    let got = catalog
        .find_prompt(written)
        .map(|view| (view.server.as_str(), view.offer.key.as_str()))
        .map_err(|error| error.reason);
    assert_eq!(got, expected, "{written:?}");
}

#[test]
fn r_gate_03_a_prompt_name_resolves_to_its_server() {
    prompt("notes__plan", Ok(("notes", "plan")));
    prompt("docs/plan", Ok(("docs", "plan")));
    prompt("docs__review code", Ok(("docs", "review code")));
    prompt(" summarise ", Ok(("notes", "summarise")));
    prompt("notes__a__b", Ok(("notes", "a__b")));
    prompt("plan", Err(Reason::PromptUnknown));
    prompt("off__hidden", Err(Reason::ServerDisabled));
    prompt("hidden", Err(Reason::PromptUnknown));
    prompt("pending/waits", Err(Reason::ServerPending));
    prompt("", Err(Reason::PromptUnknown));
    let catalog = mixed();
    let nearest = |written: &str| {
        catalog
            .find_prompt(written)
            .unwrap_err()
            .into_details()
            .nearest
    };
    assert_eq!(nearest("plan"), ["docs__plan", "notes__plan"]);
    assert_eq!(nearest("sumarise")[0], "notes__summarise");
    assert_eq!(nearest("notes__sumarise")[0], "notes__summarise");
    let hostile = catalog.find_prompt("\u{1b}[2J").unwrap_err();
    assert!(!hostile.message.contains('\u{1b}'), "{}", hostile.message);
}

#[test]
fn r_sec_05_a_qualified_prompt_never_means_another_servers_prompt() {
    prompt("a__b", Err(Reason::PromptUnknown));
    prompt("a/b", Err(Reason::PromptUnknown));
    // No server can be called `GitHub`, but the name still has a server part.
    prompt("notes__GitHub__plan", Ok(("notes", "GitHub__plan")));
    prompt("GitHub__plan", Err(Reason::PromptUnknown));
    prompt("notes__Git-Hub/plan", Ok(("notes", "Git-Hub/plan")));
    prompt("Git-Hub/plan", Err(Reason::PromptUnknown));
}

#[track_caller]
fn resource(uri: &str, expected: Result<(&str, &str), Reason>) {
    let catalog = mixed();
    let got = catalog.find_resource(uri);
    let got = got
        .as_ref()
        .map(|(entry, uri)| (entry.name().as_str(), uri.as_str()))
        .map_err(|error| error.reason);
    assert_eq!(got, expected, "{uri}");
}

#[test]
fn r_gate_03_a_uri_resolves_to_its_server_and_the_servers_own_uri() {
    resource("pegboard://notes/note://1", Ok(("notes", "note://1")));
    resource(
        "pegboard://notes/unlisted://x?a=1#b",
        Ok(("notes", "unlisted://x?a=1#b")),
    );
    resource("note://1", Ok(("notes", "note://1")));
    resource("note://7/text", Ok(("notes", "note://7/text")));
    resource("note://7/copy", Ok(("docs", "note://7/copy")));
    resource("doc://9", Ok(("docs", "doc://9")));
    resource("file:///a/b.txt", Ok(("notes", "file:///a/b.txt")));
    resource("test://same", Err(Reason::ResourceUnknown));
    resource("both://1", Err(Reason::ResourceUnknown));
    resource("gone://1", Err(Reason::ResourceUnknown));
    resource("off://1", Err(Reason::ResourceUnknown));
    resource("pegboard://off/off://1", Err(Reason::ServerDisabled));
    resource("pegboard://missing/x://1", Err(Reason::ServerUnknown));
    resource("pegboard://notes", Err(Reason::ResourceUnknown));
    resource("pegboard://notes/", Err(Reason::ResourceUnknown));
    resource("pegboard://", Err(Reason::ResourceUnknown));
    let catalog = mixed();
    let several = catalog.find_resource("test://same").unwrap_err();
    assert_eq!(
        several.nearest,
        [
            "pegboard://docs/test://same",
            "pegboard://notes/test://same"
        ]
    );
    for view in catalog.resources() {
        let exposed = exposed_uri(view.server, &view.offer.key);
        let (entry, uri) = catalog.find_resource(&exposed).unwrap();
        assert_eq!((entry.name(), &uri), (view.server, &view.offer.key));
    }
}

#[test]
fn r_gate_02_a_restricted_catalog_has_only_the_kept_servers() {
    let whole = catalog(&["a: one two", "b: three", "c: one"]);
    let some = whole.only(|server| server.as_str() != "b");
    let names: Vec<&str> = some.servers().map(|entry| entry.name().as_str()).collect();
    assert_eq!(names, ["a", "c"]);
    assert_eq!(some.find("a/one").unwrap().name(), "one");
    assert_eq!(
        some.find("b/three").unwrap_err().reason,
        Reason::ServerUnknown
    );
    assert_eq!(some.find("three").unwrap_err().reason, Reason::ToolUnknown);
    let alone = whole.only(|server| *server == name("c"));
    assert_eq!(
        alone.find("one").unwrap().exposed().as_str(),
        "c__one",
        "a bare name is unique where the others are left out"
    );
    assert!(Arc::ptr_eq(
        whole.server(&name("a")).unwrap(),
        some.server(&name("a")).unwrap()
    ));
}

#[test]
fn r_reg_06_names_are_found_in_any_order_of_the_record() {
    let mut sorted = entry("files", &["b", "a.x", "c", "a_x"]);
    let mut shuffled = (*sorted.record).clone();
    let mut tools = shuffled.tools.to_vec();
    tools.reverse();
    shuffled.tools = tools.into();
    sorted = ServerEntry::new(sorted.spec, Arc::new(shuffled));
    let catalog = Catalog::default().with_server(sorted).0;
    for view in catalog.tools() {
        let own = format!("files/{}", view.name());
        for written in [view.exposed().as_str(), &own, view.name()] {
            assert_eq!(catalog.find(written).unwrap().name(), view.name());
        }
    }
}
