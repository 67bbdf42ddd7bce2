//! The gateway: one for all faces and all clients.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use pegboard_catalog::Catalog;
use pegboard_hub::Hub;
use pegboard_model::Limits;
use tokio::sync::watch;

use crate::conversation::Conversation;
use crate::parked::ParkedCalls;
use crate::profile::Profile;
use crate::result_store::ResultStore;
use crate::seal::Sealer;
use crate::sessions::Sessions;
use crate::subscribers::Subscribers;
use crate::view::View;

/// What a gateway is told at its start.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// The named profiles; the one that everybody gets without a name is `""`.
    pub profiles: BTreeMap<String, Profile>,
    /// Results of more tokens than this are kept aside and given in parts.
    pub result_tokens: usize,
    /// The key that seals what clients carry for us; the same after a restart.
    pub key: [u8; 32],
    /// The program's version.
    pub version: String,
    /// The limits in force.
    pub limits: Limits,
}

/// Pegboard as an MCP server. Cloning gives another handle to the same gateway.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) shared: Arc<Shared>,
}

/// What a session of a profile is offered.
pub struct ProfileCatalog {
    /// The tools within its reach.
    pub catalog: Arc<Catalog>,
    /// How they are shown.
    pub profile: Arc<Profile>,
}

/// What all conversations share.
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
    /// Changes whenever all open requests are given up.
    ending: watch::Sender<()>,
}

impl Gateway {
    /// A gateway over a hub. It starts nothing.
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
            ending: watch::Sender::new(()),
        });
        Self { shared }
    }

    /// The hub behind it.
    pub fn hub(&self) -> &Hub {
        &self.shared.hub
    }

    /// Replaces the profiles, for all conversations from their next request on.
    pub fn set_profiles(&self, profiles: BTreeMap<String, Profile>) {
        self.report_saved_tokens();
        let present = self.shared.views.load();
        let mut next = views(profiles);
        for (name, view) in &mut next {
            // An unchanged profile keeps its lists.
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

    /// Whether a profile is there; `""` always is.
    pub fn has_profile(&self, name: &str) -> bool {
        self.shared.view(name).is_some()
    }

    /// The names of the profiles, without the one that has none.
    pub fn profile_names(&self) -> Vec<String> {
        let views = self.shared.views.load();
        views
            .keys()
            .filter(|name| !name.is_empty())
            .cloned()
            .collect()
    }

    /// What a session of a profile is offered; `None` without such a profile.
    pub fn profile_catalog(&self, profile: &str) -> Option<ProfileCatalog> {
        let view = self.shared.view(profile)?;
        let surface = view.surface(&self.shared.hub);
        Some(ProfileCatalog {
            catalog: surface.catalog.clone(),
            profile: view.profile.clone(),
        })
    }

    /// Begins a conversation with a client: one per stdio client, one per legacy session, one per modern
    /// HTTP request. `None` when there is no such profile.
    pub fn begin(&self, profile: &str) -> Option<Arc<Conversation>> {
        self.has_profile(profile)
            .then(|| Arc::new(Conversation::new(self.shared.clone(), profile)))
    }

    /// Finds a legacy session by the id that [`Conversation::session_id`] gave, also one from before a
    /// restart; `None` when it is not ours or was ended.
    pub fn session(&self, profile: &str, id: &str) -> Option<Arc<Conversation>> {
        self.shared.sessions.find(&self.shared, profile, id)
    }

    /// Ends a legacy session on its client's wish; whether there was one.
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

    /// Lets go of every client, and of every call that waits for one.
    pub fn close(&self) {
        self.shared.sessions.close();
        self.shared.parked.close();
    }

    /// Tells the recorder how many tokens the lists since the last time have saved their models, because not every
    /// tool was listed. Gives back how many one list of the profile without a name saves. Lists are only counted
    /// where they are answered, so that answering them costs nothing more.
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

    /// The result of `tools/list` of a profile, for measuring what it costs; `None` without such a profile.
    pub fn tools_list(&self, profile: &str) -> Option<bytes::Bytes> {
        let view = self.shared.view(profile)?;
        Some(view.surface(&self.shared.hub).tools())
    }
}

impl Gateway {
    /// Answers every open request by an error, because the program ends. What it set in motion is cancelled. Later
    /// requests are answered as usual.
    pub fn end_requests(&self) {
        self.shared.ending.send_replace(());
    }
}

impl Shared {
    /// Returns when the requests are given up that are open now.
    pub(crate) async fn ending(&self) {
        // The sender is held here, so there is no other end to the wait.
        let _ = self.ending.subscribe().changed().await;
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

/// The definitions of the meta tools and the instructions, as every client without pinned tools gets them.
pub fn fixed_surface() -> String {
    let tools = crate::meta_tools::definitions().map(|tool| tool.to_string());
    format!("[{}]\n{}", tools.join(","), crate::meta_tools::INSTRUCTIONS)
}
