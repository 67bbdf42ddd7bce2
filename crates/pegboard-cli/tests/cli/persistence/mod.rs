//! Persistence: the catalog survives exits, crashes and concurrent processes.

mod cold_start;
mod concurrent_processes;
mod crashes;
mod damage;
mod hostile_memory;
mod soak;
mod special_files;
mod thousand_servers;
mod unwritable;
