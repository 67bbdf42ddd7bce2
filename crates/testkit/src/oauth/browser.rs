//! Plays the browser of a person who approves everything.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use url::Url;

/// How long a page may take.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How many redirects are followed.
const REDIRECTS: usize = 10;

/// A page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its address.
    pub url: String,
    /// The status.
    pub status: u16,
    /// The headers as one text.
    pub head: String,
    /// The body.
    pub body: String,
}

impl Page {
    /// The body as JSON; null if it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).next()
    }

    /// The values of all headers of this name.
    fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        self.head.lines().filter_map(move |line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// Opens an address and follows redirects with cookies, as far as they stay on this machine. The last page is the
/// client's callback, if everything went well.
///
/// # Panics
/// If a page cannot be read.
pub fn browse(url: &str) -> Page {
    let mut cookies: BTreeMap<String, String> = BTreeMap::new();
    let mut page = get(url);
    for _ in 0..REDIRECTS {
        for cookie in page.headers("set-cookie") {
            let pair = cookie.split(';').next().unwrap_or_default();
            if let Some((name, value)) = pair.split_once('=') {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        let from = Url::parse(&page.url).expect("its own address");
        let next = page.header("location").and_then(|to| from.join(to).ok());
        let Some(next) = next.filter(|next| next.host_str() == Some("127.0.0.1")) else {
            break;
        };
        // Cookies without a value were deleted. Paths are not compared: the names of the pages' cookies differ.
        let pairs = cookies.iter().filter(|(_, value)| !value.is_empty());
        let pairs: Vec<_> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let headers = [("Accept", "text/html"), ("Cookie", &pairs.join("; "))];
        page = send("GET", next.as_str(), &headers, "");
    }
    page
}

/// Fetches one page without following redirects.
///
/// # Panics
/// If it cannot be read.
pub fn get(url: &str) -> Page {
    send("GET", url, &[("Accept", "text/html")], "")
}

/// Sends a form, as programs do.
///
/// # Panics
/// If the answer cannot be read.
pub fn post_form(url: &str, headers: &[(&str, &str)], fields: &[(&str, &str)]) -> Page {
    let form = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    let kind = ("Content-Type", "application/x-www-form-urlencoded");
    send("POST", url, &[&[kind], headers].concat(), &form)
}

/// Sends a request to this machine and reads the whole answer.
///
/// # Panics
/// If there is none.
pub fn send(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> Page {
    let parsed = Url::parse(url).unwrap_or_else(|flaw| panic!("`{url}`: {flaw}"));
    let host = parsed.host_str().unwrap_or_default();
    let port = parsed.port_or_known_default().unwrap_or_default();
    let mut stream = TcpStream::connect((host, port))
        .unwrap_or_else(|error| panic!("cannot open {host}:{port}: {error}"));
    stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
    let query = parsed.query().map(|query| format!("?{query}"));
    let target = format!("{}{}", parsed.path(), query.unwrap_or_default());
    let mut request = format!(
        "{method} {target} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("\r\n{body}"));
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    Page {
        url: url.to_owned(),
        status: status.unwrap_or_default(),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}
