use std::collections::BTreeSet;

use pegboard_catalog::{Catalog, Delta};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::{configured, spec, tools};

#[test]
fn r_disc_08_a_delta_lists_added_removed_and_changed_tools() {
    let old = [
        json!({"name": "gone"}),
        json!({"name": "kept", "description": "Same.", "inputSchema": {"type": "object"}}),
        json!({"name": "changed", "description": "Old.", "annotations": {"readOnlyHint": true},
            "inputSchema": {"type": "object", "properties": {"x": {"type": "string"}}}}),
    ];
    let new = [
        json!({"inputSchema": {"type": "object"}, "description": "Same.", "name": "kept"}),
        json!({"name": "changed", "description": "New.", "annotations": {"readOnlyHint": false},
            "inputSchema": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {}}}}),
        json!({"name": "new"}),
    ];
    let catalog = Catalog::default()
        .with_server(configured(spec("a"), &old))
        .0;
    let (catalog, delta) = catalog.with_server(configured(spec("a"), &new));
    assert_eq!(
        (delta.added.as_slice(), delta.removed.as_slice()),
        (&["new".to_owned()][..], &["gone".to_owned()][..])
    );
    assert_eq!(delta.unchanged, 1, "the order of keys is not a change");
    assert_eq!(delta.changed[0].name, "changed");
    let fields = [
        "annotations.readOnlyHint",
        "description",
        "inputSchema.properties.x.type",
        "inputSchema.properties.y",
    ];
    assert_eq!(delta.changed[0].fields, fields);
    assert!(!delta.is_empty());
    assert!(
        catalog
            .with_server(configured(spec("a"), &new))
            .1
            .is_empty()
    );
    let json = serde_json::to_value(&delta).unwrap();
    assert_eq!(json["changed"][0]["fields"][1], "description");
}

proptest! {
    #[test]
    fn r_disc_08_a_delta_applied_to_the_old_set_gives_the_new(
        old in prop::collection::btree_map("[a-e]{1,2}", 0..3_u8, 0..12),
        new in prop::collection::btree_map("[a-e]{1,2}", 0..3_u8, 0..12),
    ) {
        let definitions = |set: &std::collections::BTreeMap<String, u8>| -> Vec<Value> {
            set.iter().map(|(name, version)| json!({"name": name, "description": version.to_string()})).collect()
        };
        let (before, after) = (tools("s", &definitions(&old)), tools("s", &definitions(&new)));
        let delta = Delta::between(&before, &after);
        let mut names: BTreeSet<&String> = old.keys().collect();
        names.extend(&delta.added);
        names.retain(|name| !delta.removed.contains(name));
        prop_assert_eq!(names, new.keys().collect::<BTreeSet<_>>());
        let changed: Vec<&String> = delta.changed.iter().map(|tool| &tool.name).collect();
        let expected: Vec<&String> = new.iter().filter(|(name, version)| {
            old.get(*name).is_some_and(|former| former != *version)
        }).map(|(name, _)| name).collect();
        prop_assert_eq!(changed, expected);
        prop_assert_eq!(delta.unchanged + delta.changed.len() + delta.added.len(), new.len());
    }
}
