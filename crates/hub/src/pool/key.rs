//! The key of an instance: what determines which program runs, and who may share it.

use std::path::Path;

use pegboard_model::{HashKey, ServerSpec, ShareScope};
use pegboard_upstream::{instance_variables, resolved_program};

use super::ViewContext;

/// A keyed hash of everything that two clients must have in common to share an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct InstanceKey([u8; 32]);

/// The part of all keys of a view that comes from its environment.
#[derive(Clone, Copy)]
pub(super) struct EnvironmentHash([u8; 32]);

impl EnvironmentHash {
    pub(super) fn new(context: &ViewContext, hash_key: &HashKey) -> Self {
        let variables = instance_variables(&context.environment, &context.env_allow);
        let parts = variables.iter().flat_map(|(name, value)| [name, value]);
        Self(hash_key.hash(parts.map(|part| part.as_bytes())))
    }
}

/// What a key is made of.
pub(super) struct KeyParts<'a> {
    pub(super) spec: &'a ServerSpec,
    pub(super) scope: ShareScope,
    pub(super) context: &'a ViewContext,
    pub(super) environment: EnvironmentHash,
    /// A number that no other key has, for an instance that is not shared.
    pub(super) unique: Option<u64>,
}

impl KeyParts<'_> {
    pub(super) fn key(&self, hash_key: &HashKey) -> InstanceKey {
        let Self { spec, context, .. } = self;
        // The definition covers command, arguments, variables, `cwd`, headers and the versions of secrets. Servers with
        // different names have different private folders and logs.
        let program = resolved_program(spec, &context.environment);
        let project = match self.scope {
            ShareScope::User => None,
            ShareScope::Project | ShareScope::Session => context.project.as_deref(),
        };
        let path = |path: Option<&Path>| {
            let bytes = path.map(|path| path.as_os_str().as_encoded_bytes());
            bytes.unwrap_or_default().to_vec()
        };
        let unique = self.unique.map(u64::to_le_bytes);
        let parts: [&[u8]; 8] = [
            spec.name.as_str().as_bytes(),
            &spec.hash.0,
            self.scope.as_str().as_bytes(),
            &path(project),
            &path(program.as_deref()),
            &path(context.working_dir.as_deref()),
            &self.environment.0,
            unique.as_ref().map_or(&[], |unique| unique.as_slice()),
        ];
        InstanceKey(hash_key.hash(parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_testkit::{stdio_spec, with_env};

    fn key(spec: &ServerSpec, scope: ShareScope, context: &ViewContext) -> InstanceKey {
        let hash_key = HashKey([1; 32]);
        let environment = EnvironmentHash::new(context, &hash_key);
        let parts = KeyParts {
            spec,
            scope,
            context,
            environment,
            unique: None,
        };
        parts.key(&hash_key)
    }

    fn context(project: &str, variables: &[(&str, &str)]) -> ViewContext {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        ViewContext {
            project: Some(project.into()),
            environment: variables.iter().map(pair).collect(),
            env_allow: vec!["MINE".to_owned()],
            ..ViewContext::default()
        }
    }

    #[test]
    fn r_share_02_a_key_covers_what_runs_and_who_shares_it() {
        use ShareScope::{Project, User};
        let spec = stdio_spec("s", "server", ["x"]);
        let here = context("/a", &[("PATH", "/bin"), ("TERM", "xterm")]);
        let same = |spec: &ServerSpec, scope, other: &ViewContext| {
            key(spec, scope, other) == key(&stdio_spec("s", "server", ["x"]), scope, &here)
        };
        assert!(same(&spec, User, &here) && same(&spec, Project, &here));
        assert_ne!(key(&spec, User, &here), key(&spec, Project, &here));
        // Another project.
        let there = context("/b", &[("PATH", "/bin"), ("TERM", "xterm")]);
        assert!(same(&spec, User, &there) && !same(&spec, Project, &there));
        // Another terminal, and other variables.
        assert!(same(
            &spec,
            User,
            &context("/a", &[("PATH", "/bin"), ("TERM", "vt100")])
        ));
        for other in [
            &[("PATH", "/bin:/usr/bin")][..],
            &[("PATH", "/bin"), ("VIRTUAL_ENV", "/v")],
            &[("PATH", "/bin"), ("HTTPS_PROXY", "http://p")],
            &[("PATH", "/bin"), ("MINE", "1")],
        ] {
            assert!(!same(&spec, User, &context("/a", other)), "{other:?}");
        }
        // Another definition, name or working directory.
        assert!(!same(&with_env(spec.clone(), "K", "v"), User, &here));
        assert!(!same(&stdio_spec("t", "server", ["x"]), User, &here));
        let elsewhere = ViewContext {
            working_dir: Some("/w".into()),
            ..here.clone()
        };
        assert!(!same(&spec, User, &elsewhere));
    }

    #[test]
    fn r_share_02_a_reinstalled_program_is_another_instance() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = format!(
            "{}/new:{}/old",
            folder.path().display(),
            folder.path().display()
        );
        let install = |place: &str| {
            let file = folder.path().join(place).join("server");
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        let (spec, context) = (
            stdio_spec("s", "server", ["x"]),
            context("/a", &[("PATH", &path)]),
        );
        install("old");
        let before = key(&spec, ShareScope::User, &context);
        assert_eq!(before, key(&spec, ShareScope::User, &context));
        install("new");
        assert_ne!(before, key(&spec, ShareScope::User, &context));
    }
}
