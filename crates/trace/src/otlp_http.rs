//! One request to a collector, and what its answer means.

use std::error::Error;
use std::sync::Once;
use std::time::Duration;

use bytes::Bytes;
use pegboard_model::UntrustedText;
use prost::Message;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};

use crate::otlp::ExportResponse;
use crate::plan::Destination;

/// How long a connection may take to be there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Most of an answer that is read.
const ANSWER_MAX: usize = 64 * 1024;
/// Longest pause that a collector may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How a request ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SendOutcome {
    /// Accepted, apart from so many spans.
    Accepted {
        /// Spans that the collector does not want.
        rejected: u64,
    },
    /// Worth another try, not before so long.
    Retry {
        /// What the collector asked for.
        pause: Option<Duration>,
        /// What happened, without secrets.
        why: String,
    },
    /// Not worth another try.
    Rejected {
        /// What happened, without secrets.
        why: String,
    },
}

/// The client for one destination, made as the connections to servers are.
pub(crate) fn client(destination: &Destination) -> Result<Client, String> {
    static PROVIDER: Once = Once::new();
    // An error means that a provider was chosen before us, which is fine.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let mut builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .http1_only()
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(destination.timeout)
        .pool_max_idle_per_host(1);
    if destination.url.scheme() == "http" {
        // Nothing is verified on a plain connection, and reading the certificates takes milliseconds.
        builder = builder.tls_certs_only([]);
    }
    if is_loopback(destination) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| cause(&error.without_url()))
}

/// Sends one body.
pub(crate) async fn send(client: &Client, destination: &Destination, body: Bytes) -> SendOutcome {
    let request = client
        .post(destination.url.clone())
        .headers(destination.headers.clone())
        .header(CONTENT_TYPE, "application/x-protobuf")
        .body(body);
    match request.send().await {
        Ok(response) => judge(response).await,
        Err(error) => SendOutcome::Retry {
            pause: None,
            why: cause(&error.without_url()),
        },
    }
}

async fn judge(response: Response) -> SendOutcome {
    let status = response.status();
    if status.is_success() {
        let rejected = rejected(response).await;
        return SendOutcome::Accepted { rejected };
    }
    let why = format!("it answered {status}");
    match status {
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => {
            let asked = response.headers().get(RETRY_AFTER);
            let seconds = asked.and_then(|value| value.to_str().ok()?.trim().parse().ok());
            let pause = seconds.map(|seconds| Duration::from_secs(seconds).min(LONGEST_PAUSE));
            SendOutcome::Retry { pause, why }
        }
        _ => SendOutcome::Rejected { why },
    }
}

/// How many spans the collector does not want although it took the request.
async fn rejected(mut response: Response) -> u64 {
    let mut answer = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        if answer.len() + chunk.len() > ANSWER_MAX {
            return 0;
        }
        answer.extend_from_slice(&chunk);
    }
    let partial = ExportResponse::decode(answer.as_slice()).ok();
    let partial = partial.and_then(|answer| answer.partial);
    partial.map_or(0, |partial| u64::try_from(partial.rejected).unwrap_or(0))
}

fn is_loopback(destination: &Destination) -> bool {
    let host = destination.url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The innermost reason, which says most.
fn cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    UntrustedText::new(&innermost.to_string())
        .shortened(200)
        .to_string()
}
