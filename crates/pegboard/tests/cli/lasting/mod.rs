//! What lasts: the catalog outlives the process, crashes and other processes.

mod at_once;
mod cold;
mod crashes;
mod damage;
mod special_files;
mod thousand;
mod unwritable;
