//! What lasts: the catalog outlives the process, crashes and other processes.

mod cold_start;
mod concurrent_processes;
mod crashes;
mod damage;
mod special_files;
mod thousand_servers;
mod unwritable;
