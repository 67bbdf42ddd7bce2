//! Generated files of clients, in the forms that people and programs write.

use pegboard_config::clients::{ClientFile, FileFormat, Root};
use proptest::prelude::*;

/// The form of a generated file.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    /// One level of indentation; nothing for everything on one line.
    pub(crate) unit: &'static str,
    pub(crate) eol: &'static str,
    pub(crate) has_mark: bool,
    pub(crate) has_comments: bool,
    pub(crate) has_trailing_commas: bool,
    pub(crate) ends_with_break: bool,
    pub(crate) servers: Servers,
    /// Number of settings before and after the servers.
    pub(crate) settings: (usize, usize),
    /// Whether the servers are in brackets (TOML, YAML).
    pub(crate) in_brackets: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Servers {
    Missing,
    Null,
    Empty,
    Some(usize),
}

pub(crate) fn forms() -> impl Strategy<Value = Form> {
    let servers = prop_oneof![
        1 => Just(Servers::Missing),
        1 => Just(Servers::Null),
        1 => Just(Servers::Empty),
        4 => (1..4_usize).prop_map(Servers::Some),
    ];
    (
        prop::sample::select(vec!["", "  ", "    ", "\t", "   "]),
        prop::sample::select(vec!["\n", "\r\n"]),
        prop::array::uniform5(any::<bool>()),
        servers,
        (0..3_usize, 0..3_usize),
    )
        .prop_map(
            |(unit, eol, [mark, comments, commas, last, brackets], servers, settings)| Form {
                unit,
                eol,
                has_mark: mark,
                has_comments: comments,
                has_trailing_commas: commas,
                ends_with_break: last,
                servers,
                settings,
                in_brackets: brackets,
            },
        )
}

impl Form {
    /// The text of a client's file.
    pub(crate) fn text(&self, file: &ClientFile) -> String {
        let lines = match file.format {
            FileFormat::Json => self.json(file.root),
            FileFormat::Toml => self.toml(file.root),
            FileFormat::Yaml => self.yaml(file.root),
        };
        let is_one_line = file.format == FileFormat::Json && self.unit.is_empty();
        let mut text = match is_one_line {
            true => lines.iter().map(|line| line.trim_start()).collect(),
            false => lines.join(self.eol),
        };
        if self.ends_with_break && !text.is_empty() {
            text.push_str(self.eol);
        }
        match self.has_mark {
            true => format!("\u{feff}{text}"),
            false => text,
        }
    }

    fn names(&self) -> Vec<String> {
        match self.servers {
            Servers::Some(count) => (0..count)
                .map(|number| format!("server {number}"))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn json(&self, root: Root) -> Vec<String> {
        let Root::Table(keys) = root else {
            panic!("no client has a list in JSON")
        };
        let can_comment = self.has_comments && !self.unit.is_empty();
        let mut members: Vec<Vec<String>> = Vec::new();
        let setting = |number: usize| {
            vec![format!(
                "\"setting {number}\": {{\"a\": [1, 2.5e3], \"b\": \"x // y \\\" }}\"}}"
            )]
        };
        members.extend((0..self.settings.0).map(setting));
        members.extend(self.json_container(keys));
        members.extend((10..10 + self.settings.1).map(setting));
        // Something that tests can change.
        members.push(vec!["\"marker\": \"one\"".to_owned()]);
        let mut lines = self.object(members, 0);
        if can_comment {
            lines.insert(0, "// My settings".to_owned());
            lines.push("/* the end */".to_owned());
        }
        lines
    }

    /// The member that contains the servers, at any depth.
    fn json_container(&self, keys: &[&str]) -> Option<Vec<String>> {
        let (first, rest) = keys.split_first().unwrap();
        if !rest.is_empty() {
            let inner: Vec<Vec<String>> = self.json_container(rest).into_iter().collect();
            return Some(self.member(first, inner));
        }
        match self.servers {
            Servers::Missing => None,
            Servers::Null => Some(vec![format!("\"{first}\": null")]),
            Servers::Empty => Some(vec![format!("\"{first}\": {{}}")]),
            Servers::Some(_) => {
                let servers = self.names().into_iter().map(|name| {
                    let fields = vec![
                        vec!["\"command\": \"npx\"".to_owned()],
                        vec!["\"args\": [\"-y\", \"pkg\"]".to_owned()],
                    ];
                    self.member(&name, fields)
                });
                Some(self.member(first, servers.collect()))
            }
        }
    }

    fn member(&self, key: &str, members: Vec<Vec<String>>) -> Vec<String> {
        let mut lines = self.object(members, 0);
        lines[0] = format!("\"{key}\": {}", lines[0]);
        lines
    }

    fn object(&self, members: Vec<Vec<String>>, _depth: usize) -> Vec<String> {
        if members.is_empty() {
            return vec!["{}".to_owned()];
        }
        let mut lines = vec!["{".to_owned()];
        let count = members.len();
        for (index, mut member) in members.into_iter().enumerate() {
            let last = member.last_mut().unwrap();
            if index + 1 < count || self.has_trailing_commas {
                last.push(',');
            }
            if self.has_comments && !self.unit.is_empty() {
                last.push_str(" // note, {");
                if index % 2 == 0 {
                    member.insert(0, "/* about , it */".to_owned());
                }
            }
            lines.extend(
                member
                    .into_iter()
                    .map(|line| format!("{}{line}", self.unit)),
            );
        }
        lines.push("}".to_owned());
        lines
    }

    fn toml(&self, root: Root) -> Vec<String> {
        let (Root::Table([key]) | Root::List([key])) = root else {
            panic!("unexpected root")
        };
        let is_list = matches!(root, Root::List(_));
        let mut lines = vec!["marker = \"one\"".to_owned()];
        lines.extend((0..self.settings.0).map(|number| format!("setting{number} = [1, 2] # [x]")));
        let fields = "command = \"npx\", args = [\"-y\", \"pkg\"]";
        let is_inline = self.in_brackets || !matches!(self.servers, Servers::Some(_));
        let names = self.names();
        let inline = |name: &String| match is_list {
            true => format!("{{ name = \"{name}\", {fields} }}"),
            false => format!("\"{name}\" = {{ {fields} }}"),
        };
        match self.servers {
            Servers::Missing | Servers::Null => {}
            _ if is_inline => {
                let items: Vec<String> = names.iter().map(inline).collect();
                let (open, close) = if is_list { ("[", "]") } else { ("{", "}") };
                lines.push(format!("{key} = {open}{}{close}", items.join(", ")));
            }
            _ => {
                for name in &names {
                    if self.has_comments {
                        lines.extend(["".to_owned(), format!("# about {name}")]);
                    }
                    lines.push(match is_list {
                        true => format!("[[{key}]]"),
                        false => format!("[{key}.\"{name}\"] # here"),
                    });
                    if is_list {
                        lines.push(format!("name = \"{name}\""));
                    }
                    lines.push("command = 'npx'".to_owned());
                    lines.extend([
                        "args = [".to_owned(),
                        "  \"-y\",".to_owned(),
                        "]".to_owned(),
                    ]);
                    let env = if is_list {
                        format!("[{key}.env]")
                    } else {
                        format!("[{key}.\"{name}\".env]")
                    };
                    lines.extend([env, "A = \"b\"".to_owned()]);
                }
            }
        }
        for number in 0..self.settings.1 {
            lines.extend([
                "".to_owned(),
                "# other".to_owned(),
                format!("[other{number}]"),
                "x = 1".to_owned(),
            ]);
        }
        lines
    }

    fn yaml(&self, root: Root) -> Vec<String> {
        let (Root::Table([key]) | Root::List([key])) = root else {
            panic!("unexpected root")
        };
        let is_list = matches!(root, Root::List(_));
        // YAML forbids tabs as indentation.
        let unit = if self.unit.trim_matches(' ').is_empty() && !self.unit.is_empty() {
            self.unit
        } else {
            "  "
        };
        let mut lines = vec!["marker: \"one\"".to_owned()];
        lines.extend(
            (0..self.settings.0).map(|number| format!("setting{number}: {{a: [1, 2]}} # x: y")),
        );
        let mut container = Vec::new();
        let names = self.names();
        match self.servers {
            Servers::Missing => {}
            Servers::Null => container.push(format!("{key}:")),
            Servers::Empty => {
                container.push(format!("{key}: {}", if is_list { "[]" } else { "{}" }))
            }
            Servers::Some(_) if self.in_brackets => {
                let item = |name: &String| match is_list {
                    true => format!("{{name: {name}, command: npx}}"),
                    false => format!("\"{name}\": {{cmd: npx}}"),
                };
                let items: Vec<String> = names.iter().map(item).collect();
                let (open, close) = if is_list { ("[", "]") } else { ("{", "}") };
                container.push(format!("{key}: {open}{}{close}", items.join(", ")));
            }
            Servers::Some(_) => {
                container.push(format!("{key}: # servers"));
                for name in &names {
                    if self.has_comments {
                        container.push(format!("{unit}# about {name}"));
                    }
                    match is_list {
                        true => container.extend([
                            format!("{unit}- name: {name}"),
                            format!("{unit}  command: npx"),
                            format!("{unit}  args:"),
                            format!("{unit}    - -y"),
                        ]),
                        false => container.extend([
                            format!("{unit}{name}:"),
                            format!("{unit}{unit}cmd: npx"),
                            format!("{unit}{unit}description: |"),
                            format!("{unit}{unit}  two"),
                            format!("{unit}{unit}  lines"),
                            format!("{unit}{unit}envs: {{}}"),
                        ]),
                    }
                }
            }
        }
        lines.extend(container);
        for number in 0..self.settings.1 {
            lines.extend([
                "".to_owned(),
                "# other".to_owned(),
                format!("other{number}:"),
                "  x: 1".to_owned(),
            ]);
        }
        lines
    }
}
