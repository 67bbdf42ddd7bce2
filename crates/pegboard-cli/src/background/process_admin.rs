//! The process as the API and the dashboard see it.

use async_trait::async_trait;
use pegboard::dashboard::ProcessAdmin;
use pegboard_background::ProcessStatus;

use super::process::Process;

#[async_trait]
impl ProcessAdmin for Process {
    fn status(&self) -> ProcessStatus {
        Process::status(self)
    }

    async fn stop_instance(&self, id: u64) -> Option<String> {
        let stopped = self.pool().stop_instance(id).await;
        stopped.map(|server| server.to_string())
    }
}
