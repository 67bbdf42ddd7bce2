//! Notes in memory.

use serde_json::{Value, json};

use super::{Effect, ExampleTool, ToolOutput, object};

const NOTES_MAX: usize = 1_000;
const NOTE_CHARACTERS_MAX: usize = 4_000;
const TAG_CHARACTERS_MAX: usize = 40;

/// The notes of one server process.
#[derive(Default)]
pub(in super::super) struct Notes(Vec<Note>);

struct Note {
    text: String,
    tag: Option<String>,
}

pub(super) const NOTE_ADD: ExampleTool = ExampleTool {
    name: "note_add",
    title: "Add a note",
    description: "Keeps a short note in memory, with a tag if you like. Notes are gone when the server stops.",
    effect: Effect::Adding,
    input: || {
        object(
            json!({
                "text": {
                    "type": "string",
                    "description": "The note.",
                    "minLength": 1,
                    "maxLength": NOTE_CHARACTERS_MAX,
                },
                "tag": {
                    "type": "string",
                    "description": "A word to find it by.",
                    "maxLength": TAG_CHARACTERS_MAX,
                    "examples": ["shopping"],
                },
            }),
            &["text"],
        )
    },
    output: Some(|| {
        object(
            json!({
                "id": {"type": "integer", "description": "The new note's number, from 1."},
                "notes": {"type": "integer", "description": "How many notes there are now."},
            }),
            &["id", "notes"],
        )
    }),
    run: |arguments, notes| {
        let text = arguments.text("text")?;
        let tag = arguments.optional_text("tag")?;
        if text.trim().is_empty() || text.chars().count() > NOTE_CHARACTERS_MAX {
            return Err(format!(
                "`text` must have 1 to {NOTE_CHARACTERS_MAX} characters."
            ));
        }
        if tag.is_some_and(|tag| tag.chars().count() > TAG_CHARACTERS_MAX) {
            return Err(format!(
                "`tag` must have at most {TAG_CHARACTERS_MAX} characters."
            ));
        }
        if notes.0.len() >= NOTES_MAX {
            return Err(format!(
                "There are {NOTES_MAX} notes already; restart the server to remove them."
            ));
        }
        notes.0.push(Note {
            text: text.to_owned(),
            tag: tag.map(str::to_owned),
        });
        Ok(ToolOutput::data(
            json!({"id": notes.0.len(), "notes": notes.0.len()}),
        ))
    },
};

pub(super) const NOTE_LIST: ExampleTool = ExampleTool {
    name: "note_list",
    title: "List notes",
    description: "Lists the notes that were added since the server started, oldest first.",
    effect: Effect::Varying,
    input: || {
        object(
            json!({"tag": {
                "type": "string",
                "description": "Only notes with this tag; all notes when it is left out.",
            }}),
            &[],
        )
    },
    output: Some(|| {
        let note = object(
            json!({
                "id": {"type": "integer", "description": "The note's number."},
                "text": {"type": "string", "description": "The note."},
                "tag": {"type": "string", "description": "Its tag, if it has one."},
            }),
            &["id", "text"],
        );
        object(
            json!({"notes": {"type": "array", "description": "The notes.", "items": note}}),
            &["notes"],
        )
    }),
    run: |arguments, notes| {
        let tag = arguments.optional_text("tag")?;
        let wanted = |note: &Note| tag.is_none_or(|tag| note.tag.as_deref() == Some(tag));
        let listed: Vec<Value> = (1_u64..)
            .zip(&notes.0)
            .filter(|(_, note)| wanted(note))
            .map(|(id, note)| match &note.tag {
                Some(tag) => json!({"id": id, "text": note.text, "tag": tag}),
                None => json!({"id": id, "text": note.text}),
            })
            .collect();
        Ok(ToolOutput::data(json!({"notes": listed})))
    },
};
