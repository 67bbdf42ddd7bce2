//! Which clients share an instance.

use crate::status::{ClientStatus, InstanceStatus, LeaseStatus, ProcessStatus};

impl ProcessStatus {
    /// Returns the connected clients that share an instance: those of the views that use it, or the one of its session.
    pub fn clients_of<'a>(
        &'a self,
        instance: &'a InstanceStatus,
    ) -> impl Iterator<Item = &'a ClientStatus> {
        let shares = |client: &&ClientStatus| {
            let is_used_by = |lease: &LeaseStatus| {
                let is_session = match &lease.session {
                    Some(session) => client.session.as_ref() == Some(session),
                    None => true,
                };
                lease.view == client.view && is_session
            };
            instance.leases.iter().any(is_used_by)
        };
        self.clients.iter().filter(shares)
    }
}
