//! Sends one request to a collector and interprets the response.

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

/// Timeout for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a response.
const RESPONSE_BYTES_MAX: usize = 64 * 1024;
/// Maximum delay that a collector may request.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// The outcome of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SendOutcome {
    /// The collector accepted the request.
    Accepted {
        /// Number of spans that the collector rejected.
        rejected: u64,
    },
    /// The request may be retried.
    Retry {
        /// The delay that the collector requested.
        pause: Option<Duration>,
        /// The reason, without secrets.
        why: String,
    },
    /// The request must not be retried.
    Rejected {
        /// The reason, without secrets.
        why: String,
    },
}

/// Creates the HTTP client for a destination.
pub(crate) fn client(destination: &Destination) -> Result<Client, String> {
    static PROVIDER: Once = Once::new();
    // An error means that a provider is already installed, which is fine.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let mut builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .http1_only()
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(destination.timeout)
        .pool_max_idle_per_host(1);
    if destination.url.scheme() == "http" {
        // Plain HTTP needs no certificates, and loading them takes milliseconds.
        builder = builder.tls_certs_only([]);
    }
    if is_loopback(destination) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| cause(&error.without_url()))
}

/// Sends one request.
pub(crate) async fn send(client: &Client, destination: &Destination, body: Bytes) -> SendOutcome {
    let request = client
        .post(destination.url.clone())
        .headers(destination.headers.clone())
        .header(CONTENT_TYPE, "application/x-protobuf")
        .body(body);
    match request.send().await {
        Ok(response) => interpret(response).await,
        Err(error) => SendOutcome::Retry {
            pause: None,
            why: cause(&error.without_url()),
        },
    }
}

async fn interpret(response: Response) -> SendOutcome {
    let status = response.status();
    if status.is_success() {
        let rejected = rejected(response).await;
        return SendOutcome::Accepted { rejected };
    }
    let why = format!("it responded with {status}");
    match status {
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => {
            let requested = response.headers().get(RETRY_AFTER);
            let seconds = requested.and_then(|value| value.to_str().ok()?.trim().parse().ok());
            let pause = seconds.map(|seconds| Duration::from_secs(seconds).min(RETRY_AFTER_MAX));
            SendOutcome::Retry { pause, why }
        }
        _ => SendOutcome::Rejected { why },
    }
}

/// The number of rejected spans in a successful response.
async fn rejected(mut response: Response) -> u64 {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        if body.len() + chunk.len() > RESPONSE_BYTES_MAX {
            return 0;
        }
        body.extend_from_slice(&chunk);
    }
    let partial = ExportResponse::decode(body.as_slice()).ok();
    let partial = partial.and_then(|body| body.partial);
    partial.map_or(0, |partial| u64::try_from(partial.rejected).unwrap_or(0))
}

fn is_loopback(destination: &Destination) -> bool {
    let host = destination.url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The root cause of an error, which is the most specific.
fn cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    UntrustedText::new(&innermost.to_string())
        .shortened(200)
        .to_string()
}
