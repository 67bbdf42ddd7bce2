//! The server on standard input and output: both eras on one pair of pipes.

use std::collections::HashMap;
use std::io::{BufRead as _, Write as _};
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tokio::sync::{broadcast, mpsc};
use tokio::task::AbortHandle;

use crate::legacy::Session;
use crate::message::{Refusal, response};
use crate::modern;
use crate::turn::{Emission, Outlet, send};
use crate::world::{News, World};

/// Answers messages until standard input ends.
pub(crate) async fn serve(world: Arc<World>) {
    let mut connection = Connection {
        world,
        outlet: writer(),
        session: Arc::default(),
        running: HashMap::new(),
    };
    let mut lines = reader();
    while let Some(line) = lines.recv().await {
        match serde_json::from_str::<Value>(&line) {
            Ok(message) => connection.take(message),
            Err(error) => {
                let refusal = Refusal::new(-32700, format!("this is not JSON: {error}"));
                send(&connection.outlet, response(&Value::Null, Err(refusal)));
            }
        }
    }
}

struct Connection {
    world: Arc<World>,
    outlet: Outlet,
    /// Filled by `initialize`, once.
    session: Arc<OnceLock<Session>>,
    /// The requests that are being answered, by their id as JSON.
    running: HashMap<String, AbortHandle>,
}

impl Connection {
    fn take(&mut self, message: Value) {
        let Some(method) = message["method"].as_str().map(str::to_owned) else {
            if let Some(session) = self.session.get() {
                session.take_reply(message);
            }
            return;
        };
        if message.get("id").is_none() {
            if method == "notifications/cancelled" {
                self.cancel(&message["params"]["requestId"]);
            }
            return;
        }
        if method == "initialize" && !modern::is_modern(&message) {
            let answer = self.initialize(&message["params"]);
            return send(&self.outlet, response(&message["id"], answer));
        }
        self.running.retain(|_, task| !task.is_finished());
        let key = message["id"].to_string();
        let work = Work {
            // Taken here, so that a listener hears of everything that is asked for after it.
            news: self.world.news(),
            world: self.world.clone(),
            session: self.session.clone(),
            outlet: self.outlet.clone(),
            method,
            message,
        };
        let task = tokio::spawn(work.run());
        self.running.insert(key, task.abort_handle());
    }

    fn cancel(&mut self, id: &Value) {
        if let Some(task) = self.running.remove(&id.to_string()) {
            task.abort();
        }
    }

    fn initialize(&mut self, params: &Value) -> Result<Value, Refusal> {
        if !self.world.eras.legacy() {
            let wanted = params["protocolVersion"].as_str().unwrap_or_default();
            return Err(modern::unsupported(wanted));
        }
        if self.session.set(Session::open(params)).is_ok() {
            tokio::spawn(tell_news(
                self.world.news(),
                self.session.clone(),
                self.outlet.clone(),
            ));
        }
        let session = self.session.get();
        Ok(session.map(Session::greeting).unwrap_or_default())
    }
}

/// One request of either era.
struct Work {
    world: Arc<World>,
    news: broadcast::Receiver<News>,
    session: Arc<OnceLock<Session>>,
    outlet: Outlet,
    method: String,
    message: Value,
}

impl Work {
    async fn run(self) {
        let (world, method, outlet) = (&self.world, &self.method, &self.outlet);
        let (id, params) = (&self.message["id"], &self.message["params"]);
        let answer = if modern::is_modern(&self.message) && world.eras.modern() {
            match modern::check(params) {
                Err(refusal) => Err(refusal),
                Ok(()) if method == modern::LISTEN => {
                    return modern::listen(self.news, id, params, outlet).await;
                }
                Ok(()) => modern::answer(world, method, params, outlet.clone()).await,
            }
        } else if let Some(session) = self.session.get() {
            let outlet = outlet.clone();
            session.answer(world, method, params, outlet).await
        } else if world.eras.modern() {
            modern::check(params).and(Err(Refusal::unknown_method(method)))
        } else {
            Err(Refusal::unknown_method(method))
        };
        send(outlet, response(id, answer));
    }
}

async fn tell_news(
    mut news: broadcast::Receiver<News>,
    session: Arc<OnceLock<Session>>,
    outlet: Outlet,
) {
    while let Ok(news) = news.recv().await {
        if let Some(message) = session.get().and_then(|session| session.tells(&news)) {
            send(&outlet, message);
        }
    }
}

/// A thread that reads lines, because a blocking read cannot be waited for in the runtime.
fn reader() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// A thread that writes each message as one line.
fn writer() -> Outlet {
    let (outlet, mut emissions) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        while let Some(emission) = emissions.blocking_recv() {
            if let Emission::Message(message) = emission {
                let mut out = std::io::stdout().lock();
                let written = out
                    .write_all(format!("{message}\n").as_bytes())
                    .and_then(|()| out.flush());
                if written.is_err() {
                    return;
                }
            }
        }
    });
    outlet
}
