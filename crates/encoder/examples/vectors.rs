//! Reads lines `{"id", "text", "kind": "query" | "document" | "short"}` and prints a line
//! `{"id", "vector"}` for each.

#![allow(clippy::print_stdout, reason = "a program that prints vectors")]

use std::error::Error;
use std::io::{BufRead, stdin};

use pegboard_encoder::{Encoder, Text};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Request {
    id: serde_json::Value,
    text: String,
    kind: Kind,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Query,
    Document,
    Short,
}

#[derive(Serialize)]
struct Answer<'a> {
    id: serde_json::Value,
    vector: &'a [f32],
}

fn main() -> Result<(), Box<dyn Error>> {
    let encoder = Encoder::embedded()?;
    for line in stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let kind = match request.kind {
            Kind::Query => Text::Query,
            Kind::Document => Text::Document,
            Kind::Short => Text::Short,
        };
        let vector = encoder.encode(&request.text, kind);
        let answer = Answer {
            id: request.id,
            vector: vector.as_slice(),
        };
        println!("{}", serde_json::to_string(&answer)?);
    }
    Ok(())
}
