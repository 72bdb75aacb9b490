//! Figures of each operator, for EXPLAIN ANALYZE. Counted once a batch, and only when asked for.
//!
//! Time is *self* time, summed over threads: a meter stands between each producer and its consumer; what passes through
//! it is charged to the consumer and taken off the producer, in whose own time it was spent.

use crate::memory::MemoryAccountant;
use crate::pipeline::{Flow, Push};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use types::Result;
use vector::Batch;

/// One operator's figures.
#[derive(Debug, Default)]
pub struct NodeStats {
    pub rows: AtomicU64,
    pub batches: AtomicU64,
    /// How often the operator was run from the start.
    pub loops: AtomicU64,
    /// Nanoseconds of all threads in this operator alone.
    pub self_ns: AtomicI64,
    /// Nanoseconds from the statement's start to the first and last row out; 0 if none.
    pub first_row_ns: AtomicU64,
    pub last_row_ns: AtomicU64,
    pub spilled_bytes: AtomicU64,
    memory: OnceLock<Arc<MemoryAccountant>>,
}

impl NodeStats {
    /// What the operator's states are charged to.
    pub(crate) fn memory(&self, statement: &Arc<MemoryAccountant>) -> Arc<MemoryAccountant> {
        self.memory.get_or_init(|| MemoryAccountant::gauge(statement)).clone()
    }

    /// Bytes that the operator held at most, of all its threads at one time.
    pub fn peak_bytes(&self) -> u64 {
        self.memory.get().map_or(0, |m| m.peak_bytes() as u64)
    }
}

/// All operators of a plan, by `PlanNode::id`.
#[derive(Debug)]
pub struct NodeStatsSet {
    nodes: Vec<NodeStats>,
    start: Instant,
}

impl NodeStatsSet {
    pub fn new(node_count: usize) -> NodeStatsSet {
        NodeStatsSet { nodes: (0..node_count).map(|_| NodeStats::default()).collect(), start: Instant::now() }
    }

    /// # Panics
    /// If the plan has no such node.
    pub fn node(&self, id: u32) -> &NodeStats {
        &self.nodes[id as usize]
    }

    pub(crate) fn get(&self, id: u32) -> Option<&NodeStats> {
        self.nodes.get(id as usize)
    }

    pub fn elapsed_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

/// Counts the rows that `producer` hands to `consumer`.
pub(crate) struct Meter<'a> {
    pub set: &'a NodeStatsSet,
    pub producer: Option<&'a NodeStats>,
    pub consumer: Option<&'a NodeStats>,
    pub next: Box<dyn Push + 'a>,
}

impl Meter<'_> {
    fn charge(&self, since: Instant) {
        let ns = since.elapsed().as_nanos() as i64;
        if let Some(c) = self.consumer {
            c.self_ns.fetch_add(ns, Relaxed);
        }
        if let Some(p) = self.producer {
            p.self_ns.fetch_sub(ns, Relaxed);
        }
    }
}

impl Push for Meter<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        if let Some(p) = self.producer {
            let now = self.set.elapsed_ns().max(1);
            p.rows.fetch_add(batch.count() as u64, Relaxed);
            p.batches.fetch_add(1, Relaxed);
            let _ = p.first_row_ns.compare_exchange(0, now, Relaxed, Relaxed);
            p.last_row_ns.fetch_max(now, Relaxed);
        }
        let since = Instant::now();
        let r = self.next.push(batch);
        self.charge(since);
        r
    }

    fn finish(&mut self) -> Result<()> {
        let since = Instant::now();
        let r = self.next.finish();
        self.charge(since);
        r
    }
}
