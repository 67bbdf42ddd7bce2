//! The texts of the systemd units and of the launchd file.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use pegboard_model::{Reason, ToolError, ToolResult};

use super::files::ServiceFile;
use crate::background::COMMAND;

/// The unit that listens.
pub(super) const SOCKET_UNIT: &str = "pegboard.socket";
/// The unit that runs the process.
pub(super) const SERVICE_UNIT: &str = "pegboard.service";
/// The label of the launchd job, which is also the name of its file.
pub(super) const LAUNCHD_LABEL: &str = "pegboard.serve";

/// What the files of the service say.
pub(super) struct ServiceDefinition {
    pub(super) program: PathBuf,
    /// Variables for folders that are not the default ones.
    pub(super) variables: BTreeMap<String, String>,
    /// The name of the state folder in the name of the socket.
    pub(super) state_id: String,
    /// The folder for standard error under launchd.
    pub(super) logs: PathBuf,
}

impl ServiceDefinition {
    /// Returns the systemd units, to be written to `folder`.
    ///
    /// # Errors
    /// Fails if a path cannot be written into a unit.
    pub(super) fn systemd(&self, folder: &Path) -> ToolResult<Vec<ServiceFile>> {
        let socket = self.socket_unit();
        let service = self.service_unit()?;
        Ok(vec![
            ServiceFile::new(folder.join(SOCKET_UNIT), &socket),
            ServiceFile::new(folder.join(SERVICE_UNIT), &service),
        ])
    }

    fn socket_unit(&self) -> String {
        format!(
            "[Unit]\n\
             Description=Socket of Pegboard, which starts it for the first client\n\
             \n\
             [Socket]\n\
             ListenStream=%t/pegboard/{}.activate\n\
             SocketMode=0600\n\
             DirectoryMode=0700\n\
             RemoveOnStop=yes\n\
             \n\
             [Install]\n\
             WantedBy=sockets.target\n",
            self.state_id
        )
    }

    /// The service has no sandbox of systemd: a process serves only clients with the same restrictions as its own.
    fn service_unit(&self) -> ToolResult<String> {
        let mut variables = String::new();
        for (name, value) in &self.variables {
            let pair = quoted(&format!("{name}={value}"))?;
            let _ = writeln!(variables, "Environment={pair}");
        }
        let program = self.program.display().to_string();
        if program.contains('$') {
            return Err(unusable(&program));
        }
        Ok(format!(
            "[Unit]\n\
             Description=Pegboard, the MCP servers of all clients\n\
             Requires={SOCKET_UNIT}\n\
             After={SOCKET_UNIT}\n\
             \n\
             [Service]\n\
             Type=exec\n\
             ExecStart={} {COMMAND}\n\
             {variables}\
             Delegate=memory pids\n\
             KillMode=mixed\n\
             TimeoutStopSec=30\n",
            quoted(&program)?
        ))
    }

    /// Returns the launchd file, to be written to `folder`. It runs `pegboard serve`, because clients of `pegboard stdio`
    /// do not share a process on macOS.
    ///
    /// # Errors
    /// Fails if a path cannot be written into the file.
    pub(super) fn launchd(&self, folder: &Path) -> ToolResult<Vec<ServiceFile>> {
        let program = xml(&self.program.display().to_string())?;
        let log = xml(&self.logs.join("serve.log").display().to_string())?;
        let mut variables = String::new();
        for (name, value) in &self.variables {
            let (name, value) = (xml(name)?, xml(value)?);
            let _ = writeln!(
                variables,
                "    <key>{name}</key>\n    <string>{value}</string>"
            );
        }
        let text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
             <plist version=\"1.0\">\n\
             <dict>\n\
             \x20 <key>Label</key>\n\
             \x20 <string>{LAUNCHD_LABEL}</string>\n\
             \x20 <key>ProgramArguments</key>\n\
             \x20 <array>\n\
             \x20   <string>{program}</string>\n\
             \x20   <string>serve</string>\n\
             \x20   <string>--quiet</string>\n\
             \x20 </array>\n\
             \x20 <key>EnvironmentVariables</key>\n\
             \x20 <dict>\n\
             {variables}\
             \x20 </dict>\n\
             \x20 <key>RunAtLoad</key>\n\
             \x20 <true/>\n\
             \x20 <key>ProcessType</key>\n\
             \x20 <string>Background</string>\n\
             \x20 <key>StandardErrorPath</key>\n\
             \x20 <string>{log}</string>\n\
             </dict>\n\
             </plist>\n"
        );
        let path = folder.join(format!("{LAUNCHD_LABEL}.plist"));
        Ok(vec![ServiceFile::new(path, &text)])
    }
}

/// Quotes a word of a unit file.
fn quoted(text: &str) -> ToolResult<String> {
    if text.chars().any(char::is_control) {
        return Err(unusable(text));
    }
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%");
    Ok(format!("\"{escaped}\""))
}

fn xml(text: &str) -> ToolResult<String> {
    if text.chars().any(char::is_control) {
        return Err(unusable(text));
    }
    let escaped = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    Ok(escaped)
}

fn unusable(text: &str) -> ToolError {
    let text = pegboard_model::UntrustedText::new(text);
    let message =
        format!("`{text}` cannot be written into a service file: it contains a special character");
    ToolError::new(Reason::ConfigInvalid, message)
        .with_remedy("Move the program or the folder to a path without it.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(program: &str) -> ServiceDefinition {
        ServiceDefinition {
            program: program.into(),
            variables: BTreeMap::from([(
                "PEGBOARD_STATE_DIR".to_owned(),
                "/home/a b/100%<&>\"state\"".to_owned(),
            )]),
            state_id: "0011aabb".to_owned(),
            logs: "/home/a b/logs".into(),
        }
    }

    #[test]
    fn r_share_01_the_units_keep_the_socket_private_and_quote_paths() {
        let files = definition("/opt/my \\tools/pegboard")
            .systemd("/u".as_ref())
            .unwrap();
        let [socket, service] = files.as_slice() else {
            panic!("two units");
        };
        for line in [
            "ListenStream=%t/pegboard/0011aabb.activate",
            "SocketMode=0600",
            "DirectoryMode=0700",
        ] {
            assert!(socket.text.lines().any(|text| text == line), "{line}");
        }
        for line in [
            "ExecStart=\"/opt/my \\\\tools/pegboard\" background",
            "Environment=\"PEGBOARD_STATE_DIR=/home/a b/100%%<&>\\\"state\\\"\"",
        ] {
            assert!(
                service.text.lines().any(|text| text == line),
                "{}",
                service.text
            );
        }
        for program in ["/opt/$HOME/pegboard", "/opt/a\nUser=root"] {
            let error = definition(program).systemd("/u".as_ref()).unwrap_err();
            assert_eq!(error.reason, Reason::ConfigInvalid);
        }
    }

    #[test]
    fn r_share_01_the_launchd_file_escapes_its_values() {
        let files = definition("/opt/R&D/pegboard")
            .launchd("/l".as_ref())
            .unwrap();
        let text = &files.first().unwrap().text;
        assert!(text.contains("<string>/opt/R&amp;D/pegboard</string>"));
        assert!(text.contains("/home/a b/100%&lt;&amp;&gt;\"state\"</string>"));
        // Every element that is opened is closed, in order.
        let mut open = Vec::new();
        for tag in text
            .split('<')
            .skip(1)
            .filter(|tag| !tag.starts_with(['?', '!']))
        {
            let name = tag.split('>').next().unwrap();
            match name.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name.to_owned()), "{text}"),
                None if name.ends_with('/') => {}
                None => open.push(name.split(' ').next().unwrap().to_owned()),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }
}
