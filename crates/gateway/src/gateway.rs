//! The gateway object that all transports and clients share.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use pegboard_catalog::Catalog;
use pegboard_hub::Hub;
use pegboard_metatools::ResultStore;
use pegboard_model::Limits;
use tokio::sync::watch;

use crate::conversation::Conversation;
use crate::parked::ParkedCalls;
use crate::profile::Profile;
use crate::seal::Sealer;
use crate::sessions::Sessions;
use crate::subscribers::Subscribers;
use crate::view::View;

/// Settings a gateway is created with.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// Profiles by name. `""` is the default profile.
    pub profiles: BTreeMap<String, Profile>,
    /// Results with more tokens than this are stored and returned in parts.
    pub result_tokens: usize,
    /// Key that seals session ids and request state carried by clients. It must survive restarts.
    pub key: [u8; 32],
    /// The version reported in `serverInfo`.
    pub version: String,
    /// Limits on sessions, parked calls, watched resources and stored results.
    pub limits: Limits,
}

/// Pegboard as an MCP server. Clones are handles to the same gateway.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) shared: Arc<Shared>,
}

/// A profile and the part of the catalog that it exposes.
pub struct ProfileCatalog {
    /// The catalog restricted to the profile's servers.
    pub catalog: Arc<Catalog>,
    /// The profile.
    pub profile: Arc<Profile>,
}

/// State shared by all conversations.
pub(crate) struct Shared {
    pub(crate) hub: Hub,
    views: ArcSwap<BTreeMap<String, Arc<View>>>,
    pub(crate) version: String,
    pub(crate) result_tokens: usize,
    pub(crate) sealer: Sealer,
    pub(crate) result_store: ResultStore,
    pub(crate) parked: ParkedCalls,
    pub(crate) sessions: Sessions,
    pub(crate) subscribers: Subscribers,
    pub(crate) limits: Limits,
    /// Notified when all open requests are ended.
    shutdown: watch::Sender<()>,
}

impl Gateway {
    /// Creates a gateway over a hub. Starts no servers.
    pub fn new(hub: Hub, settings: GatewaySettings) -> Self {
        let shared = Arc::new(Shared {
            hub,
            views: ArcSwap::from_pointee(views(settings.profiles)),
            version: settings.version,
            result_tokens: settings.result_tokens,
            sealer: Sealer::new(&settings.key),
            result_store: ResultStore::new(&settings.limits),
            parked: ParkedCalls::new(&settings.limits),
            sessions: Sessions::new(&settings.limits),
            subscribers: Subscribers::default(),
            limits: settings.limits,
            shutdown: watch::Sender::new(()),
        });
        Self { shared }
    }

    /// The hub that requests are forwarded to.
    pub fn hub(&self) -> &Hub {
        &self.shared.hub
    }

    /// Results with more tokens than this are stored and returned in parts.
    pub fn result_tokens(&self) -> usize {
        self.shared.result_tokens
    }

    /// Replaces the profiles. Conversations use them from their next request on.
    pub fn set_profiles(&self, profiles: BTreeMap<String, Profile>) {
        self.report_saved_tokens();
        let present = self.shared.views.load();
        let mut next = views(profiles);
        for (name, view) in &mut next {
            // An unchanged profile keeps its cached lists.
            let former = present
                .get(name)
                .filter(|former| former.profile == view.profile);
            if let Some(former) = former {
                *view = former.clone();
            }
        }
        self.shared.views.store(Arc::new(next));
        self.shared.subscribers.wake();
    }

    /// Whether a profile exists. The default profile `""` always does.
    pub fn has_profile(&self, name: &str) -> bool {
        self.shared.view(name).is_some()
    }

    /// The names of all profiles except the default one.
    pub fn profile_names(&self) -> Vec<String> {
        let views = self.shared.views.load();
        views
            .keys()
            .filter(|name| !name.is_empty())
            .cloned()
            .collect()
    }

    /// Returns a profile with its part of the catalog, or `None` if the profile does not exist.
    pub fn profile_catalog(&self, profile: &str) -> Option<ProfileCatalog> {
        let view = self.shared.view(profile)?;
        let surface = view.surface(&self.shared.hub);
        Some(ProfileCatalog {
            catalog: surface.catalog.clone(),
            profile: view.profile.clone(),
        })
    }

    /// Starts a conversation: one per stdio client, per legacy session, or per modern HTTP request. Returns `None` if
    /// the profile does not exist.
    pub fn begin(&self, profile: &str) -> Option<Arc<Conversation>> {
        self.has_profile(profile)
            .then(|| Arc::new(Conversation::new(self.shared.clone(), profile)))
    }

    /// Finds a legacy session by the id from [`Conversation::session_id`], including sessions from before a restart.
    /// Returns `None` if the id is invalid or the session was ended.
    pub fn session(&self, profile: &str, id: &str) -> Option<Arc<Conversation>> {
        self.shared.sessions.find(&self.shared, profile, id)
    }

    /// Ends a legacy session at its client's request. Returns whether it existed.
    pub fn end_session(&self, profile: &str, id: &str) -> bool {
        match self.session(profile, id) {
            Some(conversation) => {
                self.shared.sessions.end(id);
                conversation.close();
                true
            }
            None => false,
        }
    }

    /// Closes all sessions and drops all parked calls.
    pub fn close(&self) {
        self.shared.sessions.close();
        self.shared.parked.close();
    }

    /// Records how many tokens the lists since the last report have saved by not listing every tool, and returns how
    /// many one list of the default profile saves. Lists are only counted while they are served, so that serving them
    /// stays cheap.
    pub fn report_saved_tokens(&self) -> u64 {
        let (hub, views) = (&self.shared.hub, self.shared.views.load());
        let mut saved = 0;
        for view in views.values() {
            let lists = view.take_lists();
            if lists > 0 {
                saved += lists.saturating_mul(view.surface(hub).saved_tokens());
            }
        }
        hub.recorder().tokens_saved(saved);
        let default = views.get("");
        default.map_or(0, |view| view.surface(hub).saved_tokens())
    }

    /// Ends every open request with an error because the program is shutting down, and cancels its upstream calls.
    /// Later requests are handled as usual.
    pub fn end_requests(&self) {
        self.shared.shutdown.send_replace(());
    }
}

impl Shared {
    /// Completes when [`Gateway::end_requests`] is called.
    pub(crate) async fn shutdown_started(&self) {
        // `self` holds the sender, so the channel cannot close.
        let _ = self.shutdown.subscribe().changed().await;
    }

    pub(crate) fn view(&self, profile: &str) -> Option<Arc<View>> {
        self.views.load().get(profile).cloned()
    }
}

fn views(profiles: BTreeMap<String, Profile>) -> BTreeMap<String, Arc<View>> {
    let mut profiles = profiles;
    profiles.entry(String::new()).or_default();
    let view = |(name, profile)| (name, Arc::new(View::new(profile)));
    profiles.into_iter().map(view).collect()
}

/// The meta tool definitions and instructions sent to every client without pinned tools.
pub fn fixed_surface() -> String {
    let tools = crate::meta_tools::definitions().map(|tool| tool.to_string());
    format!("[{}]\n{}", tools.join(","), crate::meta_tools::INSTRUCTIONS)
}
