//! A small catalog for tests.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "not every test file uses all of it"
)]

use std::sync::Arc;

use pegboard_search::{Index, Query, Ranking, Segment, ServerText, ToolText};

/// A catalog as lines `server: tool description`.
pub fn segments(lines: &[&str]) -> Vec<Arc<Segment>> {
    let mut servers: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
    for line in lines {
        let (server, tool) = line.split_once(": ").unwrap();
        let (name, description) = tool.split_once(' ').unwrap_or((tool, ""));
        match servers.iter_mut().find(|(known, _)| *known == server) {
            Some((_, tools)) => tools.push((name, description)),
            None => servers.push((server, vec![(name, description)])),
        }
    }
    servers
        .iter()
        .map(|(server, tools)| segment(server, tools))
        .collect()
}

fn segment(server: &str, tools: &[(&str, &str)]) -> Arc<Segment> {
    let exposed: Vec<String> = tools
        .iter()
        .map(|(name, _)| format!("{server}__{name}"))
        .collect();
    let server = ServerText {
        name: server,
        description: "",
    };
    let texts = tools
        .iter()
        .zip(&exposed)
        .map(|((name, description), exposed)| ToolText {
            name,
            exposed,
            description: (*description).into(),
            input_schema: r#"{"properties":{"limit":{"description":"How many"}}}"#,
            aliases: &[],
        });
    Arc::new(Segment::new(Some(server), texts))
}

pub struct Catalog {
    pub index: Index,
    pub names: Vec<Vec<String>>,
}

pub fn catalog(lines: &[&str]) -> Catalog {
    let mut servers: Vec<&str> = Vec::new();
    let mut names: Vec<Vec<String>> = Vec::new();
    for line in lines {
        let (server, tool) = line.split_once(": ").unwrap();
        let name = tool.split(' ').next().unwrap();
        let at = servers
            .iter()
            .position(|known| *known == server)
            .unwrap_or_else(|| {
                servers.push(server);
                names.push(Vec::new());
                servers.len() - 1
            });
        names[at].push(format!("{server}/{name}"));
    }
    Catalog {
        index: Index::new(segments(lines)),
        names,
    }
}

impl Catalog {
    pub fn names(&self, found: &Ranking) -> Vec<&str> {
        found
            .hits
            .iter()
            .map(|hit| &*self.names[hit.at.segment][hit.at.tool])
            .collect()
    }

    #[track_caller]
    pub fn check(&self, request: &str, first: &[&str]) {
        let found = self.index.search(&Query::words(request), 10);
        let names = self.names(&found);
        assert_eq!(
            &names[..first.len().min(names.len())],
            first,
            "{request}: {names:?}"
        );
    }
}

pub const OFFICE: &[&str] = &[
    "github: create_issue Opens a new issue in a repository",
    "github: close_issue Closes an issue",
    "github: list_issues Lists the issues of a repository",
    "github: create_issue_comment Writes a comment below an issue",
    "github: search Finds code",
    "files: read_file Reads the contents of one file from disk",
    "files: readMultipleFiles Reads several files",
    "files: search Finds files by pattern",
    "files: delete_file Removes a file for good",
    "mail: send_message Sends an e-mail to people",
    "mail: search Finds e-mails",
    "weather: forecast Returns tomorrow's temperature for a city",
    "kochbuch: suche 查询天气 Rezepte für jeden Tag",
];
