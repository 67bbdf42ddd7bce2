//! Building of many segments in parallel.

use std::sync::Arc;
use std::thread::{self, available_parallelism};

use crate::segment::Segment;
use crate::segment_builder::SegmentBuilder;

/// Minimum number of servers per thread.
const MIN_SERVERS_PER_THREAD: usize = 16;
/// Maximum number of threads. Each has its own cache of words, so more threads do more work in total.
const MAX_THREADS: usize = 4;

/// Builds the segment of each server, in order. Many servers use several threads, which end before this returns.
pub fn build_segments<Server: Sync>(
    servers: &[Server],
    read: impl Fn(&Server, &mut SegmentBuilder) -> Arc<Segment> + Sync,
) -> Vec<Arc<Segment>> {
    let read_all = |servers: &[Server]| -> Vec<Arc<Segment>> {
        let mut reader = SegmentBuilder::default();
        let segments = servers.iter().map(|server| read(server, &mut reader));
        segments.collect()
    };
    let max = (servers.len() / MIN_SERVERS_PER_THREAD).clamp(1, MAX_THREADS);
    let threads = match max {
        1 => 1,
        max => available_parallelism().map_or(1, |number| number.get().min(max)),
    };
    let (own, others) = servers.split_at(servers.len().div_ceil(threads));
    thread::scope(|scope| {
        let others: Vec<_> = others
            .chunks(own.len().max(1))
            .map(|part| {
                let read = || read_all(part);
                (part, thread::Builder::new().spawn_scoped(scope, read))
            })
            .collect();
        let mut segments = read_all(own);
        for (part, thread) in others {
            let read = thread.ok().and_then(|thread| thread.join().ok());
            segments.extend(read.unwrap_or_else(|| read_all(part)));
        }
        segments
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Index, Query, ServerText, ToolText};

    #[test]
    fn r_find_01_segments_keep_the_order_of_the_servers() {
        for count in [0, 1, 15, 16, 17, 32, 33, 101] {
            let servers: Vec<String> = (0..count).map(|number| format!("host{number}")).collect();
            let segments = build_segments(&servers, |server, reader| {
                let name = format!("greet_{server}");
                let server = ServerText {
                    name: server,
                    description: "",
                };
                let tool = ToolText {
                    name: &name,
                    exposed: &name,
                    description: "Says hello.".into(),
                    input_schema: "{}",
                    aliases: &[],
                };
                Arc::new(reader.segment(Some(server), [tool]))
            });
            assert_eq!(segments.len(), servers.len());
            let index = Index::new(segments);
            for (number, server) in servers.iter().enumerate() {
                let found = index.search(&Query::words(&format!("greet_{server}")), 1);
                assert_eq!(found.hits[0].at.segment, number);
            }
        }
    }
}
