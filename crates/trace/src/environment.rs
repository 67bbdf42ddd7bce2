//! Reads the OpenTelemetry and Langfuse environment variables.

use std::time::Duration;

use pegboard_model::{Secret, UntrustedText};

use crate::plan::{Destination, LangfuseKeys, TraceConfig, TracePlan, percent_decoded};

/// Maximum number of attributes in `OTEL_RESOURCE_ATTRIBUTES`.
const RESOURCE_ATTRIBUTES_MAX: usize = 64;
/// Maximum number of headers in `OTEL_EXPORTER_OTLP_HEADERS`.
const HEADERS_MAX: usize = 32;

/// Looks up an environment variable.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

impl TracePlan {
    /// Combines the configuration and the environment. The configuration has priority, because the standard variables are
    /// often set for other programs. A collector and Langfuse may be used together. The second value lists the settings
    /// that cannot be used.
    pub fn resolve(config: &TraceConfig, variables: Variables<'_>) -> (Self, Vec<String>) {
        let read = |name: &str| variables(name).filter(|value| !value.trim().is_empty());
        let mut plan = Self {
            capture_content: config.capture_content,
            resource: resource(config, &read),
            environment: config
                .environment
                .clone()
                .or_else(|| read("LANGFUSE_TRACING_ENVIRONMENT")),
            release: read("LANGFUSE_RELEASE"),
            ..Self::default()
        };
        let mut problems = Vec::new();
        if is_disabled(&read) {
            return (plan, problems);
        }
        let found = [collector(config, &read), langfuse(config, &read)];
        for (destination, secrets) in found.into_iter().flatten() {
            plan.secrets.extend(secrets);
            match destination {
                Ok(destination) => {
                    plan.secrets.extend(destination.credentials());
                    // A Langfuse URL that is configured both ways is used once, with the Langfuse keys.
                    plan.destinations
                        .retain(|known| known.url != destination.url);
                    plan.destinations.push(destination);
                }
                Err(problem) => problems.push(problem),
            }
        }
        let protocol = read("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
            .or_else(|| read("OTEL_EXPORTER_OTLP_PROTOCOL"));
        if let Some(protocol) = protocol
            && protocol.trim() != "http/protobuf"
            && !plan.destinations.is_empty()
        {
            problems.push(format!(
                "`OTEL_EXPORTER_OTLP_PROTOCOL` is `{}`, but only `http/protobuf` is supported; its usual port is 4318",
                UntrustedText::new(protocol.trim()).shortened(40)
            ));
        }
        (plan, problems)
    }
}

fn is_disabled(read: &dyn Fn(&str) -> Option<String>) -> bool {
    let says =
        |name, word: &str| read(name).is_some_and(|value| value.trim().eq_ignore_ascii_case(word));
    says("OTEL_SDK_DISABLED", "true") || says("OTEL_TRACES_EXPORTER", "none")
}

type Resolved = Option<(Result<Destination, String>, Vec<Secret>)>;

fn collector(config: &TraceConfig, read: &dyn Fn(&str) -> Option<String>) -> Resolved {
    if let Some(endpoint) = &config.endpoint {
        let destination = Destination::collector(endpoint, &config.headers);
        return Some((destination, Vec::new()));
    }
    let mut headers = config.headers.clone();
    for name in [
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    ] {
        headers.extend(read(name).iter().flat_map(|text| pairs(text, HEADERS_MAX)));
    }
    let destination = match read("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
        Some(exact) => Destination::exact(&exact, &headers),
        None => Destination::collector(&read("OTEL_EXPORTER_OTLP_ENDPOINT")?, &headers),
    };
    let timeout =
        read("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT").or_else(|| read("OTEL_EXPORTER_OTLP_TIMEOUT"));
    let timeout = timeout
        .and_then(|text| text.trim().parse().ok())
        .filter(|ms| *ms > 0);
    let destination = destination.map(|destination| match timeout {
        Some(milliseconds) => destination.with_timeout(Duration::from_millis(milliseconds)),
        None => destination,
    });
    Some((destination, Vec::new()))
}

fn langfuse(config: &TraceConfig, read: &dyn Fn(&str) -> Option<String>) -> Resolved {
    let keys = config.langfuse.clone().or_else(|| {
        Some(LangfuseKeys {
            public_key: Secret::new(read("LANGFUSE_PUBLIC_KEY")?.trim()),
            secret_key: Secret::new(read("LANGFUSE_SECRET_KEY")?.trim()),
            base_url: read("LANGFUSE_BASE_URL").or_else(|| read("LANGFUSE_HOST")),
        })
    })?;
    let secrets = vec![keys.public_key.clone(), keys.secret_key.clone()];
    Some((Destination::langfuse(&keys), secrets))
}

fn resource(config: &TraceConfig, read: &dyn Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let service = config
        .service_name
        .clone()
        .or_else(|| read("OTEL_SERVICE_NAME"));
    let mut resource: Vec<(String, String)> = Vec::new();
    for (key, value) in read("OTEL_RESOURCE_ATTRIBUTES")
        .iter()
        .flat_map(|text| pairs(text, RESOURCE_ATTRIBUTES_MAX))
    {
        resource.push((key, value.reveal().to_owned()));
    }
    let mut set = |key: &str, value: Option<String>, instead: Option<&str>| {
        let is_there = resource.iter().any(|(known, _)| known == key);
        if let Some(value) = value {
            resource.retain(|(known, _)| known != key);
            resource.push((key.to_owned(), value));
        } else if let Some(instead) = instead.filter(|_| !is_there) {
            resource.push((key.to_owned(), instead.to_owned()));
        }
    };
    set("service.name", service, Some("pegboard"));
    set("service.version", None, Some(env!("CARGO_PKG_VERSION")));
    set(
        "deployment.environment.name",
        config.environment.clone(),
        None,
    );
    resource
}

/// Parses comma-separated `key=value` pairs with percent-encoding.
fn pairs(text: &str, max: usize) -> Vec<(String, Secret)> {
    let decode = |text: &str| percent_decoded(text.trim());
    let pairs = text.split(',').filter_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        (!key.trim().is_empty()).then(|| (decode(key), Secret::new(decode(value))))
    });
    pairs.take(max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Flavour;

    fn plan(config: &TraceConfig, variables: &[(&str, &str)]) -> (TracePlan, Vec<String>) {
        TracePlan::resolve(config, &|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[track_caller]
    fn check(variables: &[(&str, &str)], expected: &[&str]) -> TracePlan {
        let (plan, problems) = plan(&TraceConfig::default(), variables);
        let urls: Vec<_> = plan.destinations.iter().map(|d| d.url.as_str()).collect();
        assert_eq!(urls, expected);
        assert_eq!(problems, Vec::<String>::new());
        plan
    }

    #[test]
    fn r_obs_02_a_collector_is_named_by_the_standards_variables() {
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318");
        check(&[], &[]);
        check(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "  ")], &[]);
        check(&[base], &["http://localhost:4318/v1/traces"]);
        check(
            &[
                ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://h:1/own"),
                base,
            ],
            &["http://h:1/own"],
        );
        check(&[base, ("OTEL_SDK_DISABLED", "true")], &[]);
        check(&[base, ("OTEL_TRACES_EXPORTER", "none")], &[]);
        let timed = check(
            &[
                base,
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
                ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b , x=1,junk"),
            ],
            &["http://localhost:4318/v1/traces"],
        );
        let destination = &timed.destinations[0];
        assert_eq!(destination.timeout, Duration::from_millis(250));
        assert_eq!(destination.headers["api-key"], "a b");
        assert_eq!(destination.headers["x"], "1");
        assert_eq!(destination.flavour(), Flavour::Plain);
    }

    #[test]
    fn r_obs_02_langfuse_is_used_beside_a_collector() {
        let keys = [
            ("LANGFUSE_PUBLIC_KEY", "pk-lf-x"),
            ("LANGFUSE_SECRET_KEY", "sk-lf-y"),
        ];
        let plan = check(
            &[
                &keys[..],
                &[
                    ("LANGFUSE_BASE_URL", "http://l:3000"),
                    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:1"),
                ],
            ]
            .concat(),
            &[
                "http://h:1/v1/traces",
                "http://l:3000/api/public/otel/v1/traces",
            ],
        );
        assert_eq!(plan.destinations[1].flavour(), Flavour::Langfuse);
        assert_eq!(plan.secrets.len(), 3);
        check(&keys[..1], &[]);
        let base = ("LANGFUSE_BASE_URL", "http://l:3000");
        let by_endpoint = (
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "http://l:3000/api/public/otel",
        );
        check(
            &[&keys[..], &[base, by_endpoint]].concat(),
            &["http://l:3000/api/public/otel/v1/traces"],
        );
    }

    #[test]
    fn unusable_variables_are_reported_and_the_rest_works() {
        let bad = ("OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://h:4317");
        let keys = [
            ("LANGFUSE_PUBLIC_KEY", "pk-lf-x"),
            ("LANGFUSE_SECRET_KEY", "sk-lf-y"),
            bad,
        ];
        let (found, problems) = plan(&TraceConfig::default(), &keys);
        assert_eq!(found.destinations.len(), 1);
        assert!(problems[0].contains("`grpc`"), "{problems:?}");
        let grpc = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4317"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ];
        let (_, problems) = plan(&TraceConfig::default(), &grpc);
        assert!(problems[0].contains("4318"), "{problems:?}");
    }

    #[test]
    fn the_configuration_comes_before_the_environment() {
        let config = TraceConfig {
            endpoint: Some("http://own:1".into()),
            service_name: Some("mine".into()),
            environment: Some("test".into()),
            ..TraceConfig::default()
        };
        let (plan, _) = plan(
            &config,
            &[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://other:1"),
                ("OTEL_SERVICE_NAME", "other"),
                ("OTEL_RESOURCE_ATTRIBUTES", "service.name=third,team=a%2Cb"),
            ],
        );
        assert_eq!(plan.destinations[0].url.as_str(), "http://own:1/v1/traces");
        let value = |key: &str| {
            let found = plan.resource.iter().filter(|(known, _)| known == key);
            found.map(|(_, value)| value.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(value("service.name"), ["mine"]);
        assert_eq!(value("team"), ["a,b"]);
        assert_eq!(value("deployment.environment.name"), ["test"]);
    }
}
