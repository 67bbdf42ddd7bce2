//! A temporary home folder with the files of clients.

use std::path::{Path, PathBuf};

use pegboard_config::clients::{
    Client, ClientStatus, ConnectOptions, ConnectPlan, DisconnectPlan, EntryTransport, Launch,
    Places, StatusOptions, TakeOver, client, connection_status,
};
use pegboard_config::{Environment, Problem};

pub(crate) struct Machine {
    folder: tempfile::TempDir,
    env: Environment,
}

pub(crate) const PROGRAM: &str = "/opt/peg board/pegboard";

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (home, working_dir) = (root.join("home"), root.join("project"));
        for folder in [&home, &working_dir] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let env = Environment {
            home,
            working_dir,
            ..Environment::default()
        };
        Self { folder, env }
    }

    /// A machine with one file of a client.
    pub(crate) fn with(key: &str, text: &[u8]) -> Self {
        let machine = Self::new();
        machine.write(&machine.file(key), text);
        machine
    }

    pub(crate) fn home(&self) -> &Path {
        &self.env.home
    }

    pub(crate) fn project(&self) -> &Path {
        &self.env.working_dir
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub(crate) fn places(&self) -> Places<'_> {
        let mut places = Places::new(&self.env);
        places.is_macos = false;
        places
    }

    pub(crate) fn write(&self, path: &Path, text: &[u8]) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn status_of(&self, key: &str) -> ClientStatus {
        let options = StatusOptions::new(Some(PROGRAM.to_owned()), None);
        let all = connection_status(&self.places(), &self.state(), &options).unwrap();
        all.into_iter().find(|status| status.client == key).unwrap()
    }

    /// The file that `connect` writes.
    pub(crate) fn file(&self, key: &str) -> PathBuf {
        self.status_of(key).file.unwrap()
    }

    pub(crate) fn read(&self, key: &str) -> Vec<u8> {
        std::fs::read(self.file(key)).unwrap()
    }

    pub(crate) fn text(&self, key: &str) -> String {
        String::from_utf8(self.read(key)).unwrap()
    }

    pub(crate) fn plan(&self, key: &str, options: &ConnectOptions) -> Result<ConnectPlan, Problem> {
        let known = |_: &str, _: &serde_json::Value| true;
        ConnectPlan::new(&self.places(), &self.state(), named(key), options, &known)
    }

    pub(crate) fn connect(&self, key: &str, options: &ConnectOptions) -> ConnectPlan {
        let plan = self.plan(key, options).unwrap();
        plan.apply().unwrap();
        plan
    }

    pub(crate) fn disconnect_plans(&self, key: &str) -> Result<Vec<DisconnectPlan>, Problem> {
        DisconnectPlan::all(&self.places(), &self.state(), named(key), None)
    }

    pub(crate) fn disconnect(&self, key: &str) -> DisconnectPlan {
        let mut plans = self.disconnect_plans(key).unwrap();
        assert_eq!(plans.len(), 1, "{key}");
        plans[0].apply().unwrap();
        plans.remove(0)
    }

    /// Deletes the back-ups, so that undoing has to rely on the record.
    pub(crate) fn delete_backups(&self) {
        for entry in std::fs::read_dir(self.state().join("clients")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "bak") {
                std::fs::remove_file(path).unwrap();
            }
        }
    }
}

pub(crate) fn named(key: &str) -> &'static Client {
    client(key).unwrap()
}

/// Options that add Pegboard as a program.
pub(crate) fn stdio() -> ConnectOptions {
    let mut launch = Launch::default();
    launch.command = PROGRAM.to_owned();
    launch.env.insert(
        "PEGBOARD_CONFIG_DIR".to_owned(),
        "/srv/my config".to_owned(),
    );
    ConnectOptions::new(EntryTransport::Stdio {
        launch,
        profile: None,
    })
}

/// Options that also take all servers out.
pub(crate) fn taking_over() -> ConnectOptions {
    let mut options = stdio();
    options.take_over = TakeOver::All;
    options
}

/// Options with a profile, which differ from [`stdio`].
pub(crate) fn with_profile(name: &str) -> ConnectOptions {
    let mut options = stdio();
    if let EntryTransport::Stdio { profile, .. } = &mut options.transport {
        *profile = Some(name.to_owned());
    }
    options
}
