//! Asks package managers for the exact version and the hashes of a package, and checks a pinned server before it starts.
//!
//! The registry is never contacted directly: `npm`, `uv` and `docker` know the user's registries, mirrors and logins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pegboard_model::{
    Ecosystem, Reason, RunnerPackage, ServerSpec, ToolError, ToolResult, UntrustedText,
    find_package,
};
use serde_json::Value;

use crate::environment::server_environment;
use crate::spawn::{Launch, run_to_end};

/// How long a package manager may take. Pulling an image takes longest.
const TIME: Duration = Duration::from_secs(120);
/// Folders of the npm cache that are searched for an installed package.
const INSTALLED: usize = 1000;
/// The largest lock file that is read.
const LOCK_BYTES: u64 = 8 * 1024 * 1024;
/// Characters of a package manager's message in an error.
const SHOWN_MESSAGE: usize = 300;

/// What a registry has under a name and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPackage {
    /// The exact version; the digest of an image.
    pub version: String,
    /// The hashes of its files.
    pub integrity: Vec<String>,
}

/// Asks the package manager for a version of a package: an exact one, a range, a tag, or the newest one.
///
/// # Errors
/// Fails if the package manager is missing, fails, or does not know the package.
pub async fn resolve_package(
    package: &RunnerPackage,
    version: Option<&str>,
    environment: &BTreeMap<String, String>,
) -> ToolResult<ResolvedPackage> {
    let variables = server_environment(environment, &[], BTreeMap::new());
    resolve(package, version, &variables, Access::Registry).await
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Only what was downloaded before.
    Cache,
    Registry,
}

async fn resolve(
    package: &RunnerPackage,
    version: Option<&str>,
    variables: &BTreeMap<String, String>,
    access: Access,
) -> ToolResult<ResolvedPackage> {
    let name = package.name();
    // A name that starts like an option would become one.
    if name.is_empty() || name.starts_with('-') || version.is_some_and(|text| text.starts_with('-'))
    {
        return Err(failed(name, "this is not the name of a package"));
    }
    match package.ecosystem {
        Ecosystem::Npm => {
            let wanted = format!("{name}@{}", version.unwrap_or("latest"));
            let mut args = vec!["view", &wanted, "version", "dist.integrity", "--json"];
            args.extend((access == Access::Cache).then_some("--offline"));
            let text = ask("npm", &args, None, variables, name).await?;
            from_npm(&text).ok_or_else(|| failed(name, "`npm view` named no version"))
        }
        Ecosystem::Python => {
            let wanted = match version {
                Some(range) if range.starts_with(['<', '>', '~', '!']) => {
                    format!("{name}{range}\n")
                }
                Some("latest") | None => format!("{name}\n"),
                Some(version) => format!("{name}=={version}\n"),
            };
            let mut args = vec!["pip", "compile", "-", "--generate-hashes", "--no-deps"];
            args.extend(["--no-header", "--no-annotate", "--quiet"]);
            args.extend((access == Access::Cache).then_some("--offline"));
            let text = ask("uv", &args, Some(&wanted), variables, name).await?;
            from_uv(&text).ok_or_else(|| failed(name, "`uv pip compile` named no version"))
        }
        Ecosystem::Image => {
            let wanted = match version {
                Some(digest) if digest.starts_with("sha256:") => format!("{name}@{digest}"),
                Some(tag) => format!("{name}:{tag}"),
                None => format!("{name}:latest"),
            };
            let text = ask(package.runner, &["pull", &wanted], None, variables, name).await?;
            from_docker(&text).ok_or_else(|| failed(name, "the pull named no digest"))
        }
    }
}

async fn ask(
    program: &str,
    args: &[&str],
    input: Option<&str>,
    variables: &BTreeMap<String, String>,
    name: &str,
) -> ToolResult<String> {
    match run_to_end(program, args, input, variables, TIME).await {
        Ok(output) if output.is_success => Ok(output.stdout),
        Ok(output) => {
            let lines = output.stderr.lines().map(str::trim);
            let line = lines
                .filter(|line| !line.is_empty())
                .take(3)
                .collect::<Vec<_>>()
                .join(" ");
            let shown = UntrustedText::new(&line)
                .shortened(SHOWN_MESSAGE)
                .to_string();
            Err(failed(name, &format!("`{program}` failed: {shown}")))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(failed(name, &format!("`{program}` is not installed")))
        }
        Err(error) => Err(failed(
            name,
            &format!("`{program}` could not be run: {error}"),
        )),
    }
}

fn failed(name: &str, why: &str) -> ToolError {
    let name = UntrustedText::new(name)
        .shortened(SHOWN_MESSAGE)
        .to_string();
    let what = format!("the package `{name}` could not be looked up: {why}");
    ToolError::new(Reason::SpawnFailed, what)
        .with_remedy("Check the name of the package, the network and the package manager.")
}

/// Reads the output of `npm view --json`: an object, or a list of them for a range.
fn from_npm(text: &str) -> Option<ResolvedPackage> {
    let value: Value = serde_json::from_str(text).ok()?;
    let found = match &value {
        Value::Array(versions) => versions.last()?,
        one => one,
    };
    let field = |key: &str| found.get(key).and_then(Value::as_str).map(str::to_owned);
    let version = field("version").filter(|version| is_version(version))?;
    let integrity = field("dist.integrity").filter(|hash| is_hash(hash))?;
    Some(ResolvedPackage {
        version,
        integrity: vec![integrity],
    })
}

/// Reads the output of `uv pip compile --generate-hashes`: `name==version \` and a line for each hash.
fn from_uv(text: &str) -> Option<ResolvedPackage> {
    let words = text.split_whitespace();
    let version = words.clone().find_map(|word| word.split_once("=="))?.1;
    let mut integrity: Vec<String> = words
        .filter_map(|word| word.strip_prefix("--hash="))
        .filter(|hash| is_hash(hash))
        .map(str::to_owned)
        .collect();
    integrity.sort_unstable();
    (is_version(version) && !integrity.is_empty()).then(|| ResolvedPackage {
        version: version.to_owned(),
        integrity,
    })
}

/// Reads the output of `docker pull`.
fn from_docker(text: &str) -> Option<ResolvedPackage> {
    let digest = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Digest:"))?;
    let digest = digest.trim();
    let is_digest = digest
        .strip_prefix("sha256:")
        .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_digest.then(|| ResolvedPackage {
        version: digest.to_owned(),
        integrity: vec![digest.to_owned()],
    })
}

fn is_version(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-+!".contains(&byte))
}

fn is_hash(text: &str) -> bool {
    let of_hash = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=-:".contains(&byte);
    text.len() > 32 && text.starts_with("sha") && text.bytes().all(of_hash)
}

/// Checks that the package that a pinned server would run is the recorded one. Does nothing for other servers.
///
/// # Errors
/// Fails with `SUPPLY_CHANGED` if it is another one, and with another code if it cannot be determined.
pub(crate) async fn verify(spec: &ServerSpec, launch: &Launch) -> ToolResult<()> {
    if spec.integrity.is_empty() {
        return Ok(());
    }
    let args: Vec<&str> = launch.args.iter().map(String::as_str).collect();
    let package = find_package(&launch.program, &args).filter(RunnerPackage::is_pinned);
    let version = package.as_ref().and_then(RunnerPackage::version);
    let (Some(package), Some(version)) = (&package, version) else {
        return Err(changed(
            spec,
            "its command names no package with an exact version",
        ));
    };
    let found = match package.ecosystem {
        // The engine itself checks a digest.
        Ecosystem::Image => vec![version.to_owned()],
        Ecosystem::Npm => match installed(package, version, &launch.env) {
            Some(integrity) => vec![integrity],
            None => lookup(package, version, spec, launch).await?,
        },
        Ecosystem::Python => lookup(package, version, spec, launch).await?,
    };
    match found.iter().find(|hash| !spec.integrity.contains(hash)) {
        None if !found.is_empty() => Ok(()),
        _ => {
            let name = UntrustedText::new(package.name()).to_string();
            let version = UntrustedText::new(version).to_string();
            let why = format!("`{name}` {version} does not have the recorded hash");
            Err(changed(spec, &why))
        }
    }
}

async fn lookup(
    package: &RunnerPackage,
    version: &str,
    spec: &ServerSpec,
    launch: &Launch,
) -> ToolResult<Vec<String>> {
    let mut outcome = resolve(package, Some(version), &launch.env, Access::Cache).await;
    if outcome.is_err() {
        outcome = resolve(package, Some(version), &launch.env, Access::Registry).await;
    }
    match outcome {
        Ok(found) if found.version == version => Ok(found.integrity),
        Ok(_) => Err(changed(spec, "its version does not exist any more")),
        Err(error) => {
            let what = format!("server `{}` was not started: {}", spec.name, error.message);
            Err(ToolError::new(error.reason, what)
                .at_server(&spec.name)
                .with_remedy(error.remedy.clone()))
        }
    }
}

fn changed(spec: &ServerSpec, why: &str) -> ToolError {
    let what = format!("server `{}` was not started: {why}", spec.name);
    ToolError::new(Reason::SupplyChanged, what)
        .at_server(&spec.name)
        .at_field("integrity")
}

/// Returns the hash with which `npx` installed a version of a package, from the lock files of its cache. If it was
/// installed several times with different hashes, returns one that differs.
fn installed(
    package: &RunnerPackage,
    version: &str,
    variables: &BTreeMap<String, String>,
) -> Option<String> {
    let cache = ["npm_config_cache", "NPM_CONFIG_CACHE"]
        .iter()
        .find_map(|name| variables.get(*name).map(PathBuf::from));
    let cache = cache.or_else(|| Some(Path::new(variables.get("HOME")?).join(".npm")))?;
    let folders = std::fs::read_dir(cache.join("_npx")).ok()?;
    let mut found: Vec<String> = folders
        .flatten()
        .take(INSTALLED)
        .filter_map(|folder| {
            locked(
                &folder.path().join("package-lock.json"),
                package.name(),
                version,
            )
        })
        .collect();
    found.dedup();
    match found.len() {
        0 | 1 => found.pop(),
        _ => Some("several".to_owned()),
    }
}

fn locked(file: &Path, name: &str, version: &str) -> Option<String> {
    let is_small = std::fs::metadata(file).is_ok_and(|about| about.len() <= LOCK_BYTES);
    let text = is_small.then(|| std::fs::read(file).ok()).flatten()?;
    let lock: Value = serde_json::from_slice(&text).ok()?;
    let entry = lock.get("packages")?.get(format!("node_modules/{name}"))?;
    let field = |key: &str| entry.get(key).and_then(Value::as_str);
    (field("version")? == version).then(|| field("integrity").map(str::to_owned))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answers_of_package_managers_are_read() {
        let hash = format!("sha512-{}==", "a".repeat(86));
        let one = format!(r#"{{"version":"1.2.3","dist.integrity":"{hash}"}}"#);
        let range = format!(r#"[{{"version":"1.0.0","dist.integrity":"sha1"}},{one}]"#);
        for text in [&one, &range] {
            let found = from_npm(text).unwrap();
            assert_eq!(
                (found.version.as_str(), &found.integrity),
                ("1.2.3", &vec![hash.clone()])
            );
        }
        for bad in [
            "",
            "{}",
            r#"{"version":"1.2.3"}"#,
            r#"{"version":"--x","dist.integrity":"y"}"#,
        ] {
            assert_eq!(from_npm(bad), None, "{bad}");
        }
        let (a, b) = ("b".repeat(64), "a".repeat(64));
        let text = format!("s==2026.1 \\\n    --hash=sha256:{a} \\\n    --hash=sha256:{b}\n");
        let found = from_uv(&text).unwrap();
        assert_eq!(found.version, "2026.1");
        assert_eq!(
            found.integrity,
            [format!("sha256:{b}"), format!("sha256:{a}")]
        );
        assert_eq!(from_uv("s==1.0\n"), None);
        let text = format!("latest: Pulling from a/b\nDigest: sha256:{a}\nStatus: fine\n");
        assert_eq!(from_docker(&text).unwrap().version, format!("sha256:{a}"));
        assert_eq!(from_docker("Digest: sha256:12\n"), None);
    }
}
