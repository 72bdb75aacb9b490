//! Searches of long texts that can be stopped.
//!
//! The `regex` crate cannot be asked to stop, and its time is text times pattern at worst. Texts for which that is much
//! are searched here, over the same automata (crate `regex-automata`), with a look at KILL now and then:
//!
//! ```text
//! lazy DFA    forward to where the match ends, then backward to where it begins: a table look-up a byte
//! simulation  of the NFA, all its threads in step (Pike): where the DFA gives up (`\b` beside other than ASCII, states
//!             beyond its cache, patterns that match nothing at all) and for groups
//! ```
//! Both answer the leftmost match, and of those the one that a backtracking matcher tries first.

use super::pattern::{Flags, Found};
use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::nfa::thompson::{self, NFA, State, WhichCaptures};
use regex_automata::util::primitives::StateID;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};
use std::sync::Mutex;
use types::{Ask, Error, Result};

/// Bytes, or steps of threads, between two looks.
const PIECE: usize = 1 << 16;

/// What a byte may cost in a lazy DFA is making a state of so many threads.
const STATE_WORK: usize = 1 << 20;

/// A pattern as automata.
#[derive(Debug)]
pub(super) struct Long {
    nfa: NFA,
    lazy: Option<Lazy>,
}

#[derive(Debug)]
struct Lazy {
    forward: DFA,
    backward: DFA,
    caches: Mutex<Option<(Cache, Cache)>>,
    /// Bytes between two looks.
    piece: usize,
}

/// Byte offsets of the groups, two each; the first two are the match.
pub(super) type Slots = Vec<Option<usize>>;

/// The lazy DFA cannot tell.
struct GivesUp;

enum Step {
    On,
    Match,
    Dead,
}

impl Long {
    /// `pattern` in the crate's spelling.
    pub fn new(pattern: &str, flags: Flags) -> Result<Long> {
        let compile = |reverse: bool| {
            let captures = if reverse { WhichCaptures::None } else { WhichCaptures::All };
            NFA::compiler()
                .syntax(
                    syntax::Config::new()
                        .case_insensitive(flags.insensitive)
                        .multi_line(flags.multi_line)
                        .dot_matches_new_line(flags.dot_all)
                        .crlf(!flags.unix_lines),
                )
                .configure(
                    thompson::Config::new()
                        .reverse(reverse)
                        .which_captures(captures)
                        .nfa_size_limit(Some(super::pattern::SIZE_MAX)),
                )
                .build(pattern)
                .map_err(|_| Error::regexp_rule_syntax(1, 1))
        };
        let nfa = compile(false)?;
        let piece = (STATE_WORK / nfa.states().len().max(1)).clamp(16, PIECE);
        let lazy = if nfa.has_empty() { None } else { compile(true).ok().and_then(|r| Lazy::new(&nfa, r, piece)) };
        Ok(Long { nfa, lazy })
    }

    /// States of the automaton: a byte of text costs so many steps at worst.
    pub fn states(&self) -> usize {
        self.nfa.states().len()
    }

    /// The first match that begins at byte `at` or later; with `any`, whether there is one is enough.
    pub fn find(&self, text: &str, at: usize, any: bool, ask: Ask<'_>) -> Result<Option<Found>> {
        if let Some(lazy) = &self.lazy
            && let Ok(found) = lazy.find(text.as_bytes(), at, any, ask)?
        {
            return Ok(found);
        }
        let slots = if any { 0 } else { 2 };
        let slots = Threads::new(&self.nfa, slots, ask).run(text, at, Anchored::No, any)?;
        Ok(slots.map(|s| Found {
            start: s.first().copied().flatten().unwrap_or(at),
            end: s.get(1).copied().flatten().unwrap_or(at),
        }))
    }

    /// The groups of the match that begins at byte `start`.
    pub fn groups(&self, text: &str, start: usize, ask: Ask<'_>) -> Result<Option<Slots>> {
        let slots = self.nfa.group_info().slot_len();
        Threads::new(&self.nfa, slots, ask).run(text, start, Anchored::Yes, false)
    }
}

impl Lazy {
    fn new(nfa: &NFA, reversed: NFA, piece: usize) -> Option<Lazy> {
        let build = |nfa: NFA, kind: MatchKind| {
            let config = Config::new().match_kind(kind).unicode_word_boundary(true).skip_cache_capacity_check(true);
            DFA::builder().configure(config).build_from_nfa(nfa).ok()
        };
        let forward = build(nfa.clone(), MatchKind::LeftmostFirst)?;
        let backward = build(reversed, MatchKind::All)?;
        Some(Lazy { forward, backward, caches: Mutex::new(None), piece })
    }

    fn find(
        &self,
        text: &[u8],
        at: usize,
        any: bool,
        ask: Ask<'_>,
    ) -> Result<std::result::Result<Option<Found>, GivesUp>> {
        let kept = self.caches.lock().map_err(|_| Error::internal("a poisoned lock"))?.take();
        let mut caches = kept.unwrap_or_else(|| (self.forward.create_cache(), self.backward.create_cache()));
        let found = match self.end_of(text, at, any, &mut caches.0, ask)? {
            Ok(Some(end)) if any => Ok(Some(Found { start: at, end })),
            Ok(Some(end)) => self.start_of(text, at, end, &mut caches.1, ask)?.map(|start| Some(Found { start, end })),
            Ok(None) => Ok(None),
            Err(e) => Err(e),
        };
        *self.caches.lock().map_err(|_| Error::internal("a poisoned lock"))? = Some(caches);
        Ok(found)
    }

    /// Where the leftmost match ends.
    fn end_of(
        &self,
        text: &[u8],
        at: usize,
        any: bool,
        cache: &mut Cache,
        ask: Ask<'_>,
    ) -> Result<std::result::Result<Option<usize>, GivesUp>> {
        let dfa = &self.forward;
        let Ok(mut state) = dfa.start_state_forward(cache, &Input::new(text).span(at..text.len())) else {
            return Ok(Err(GivesUp));
        };
        let mut end = None;
        for (i, piece) in text[at..].chunks(self.piece).enumerate() {
            ask()?;
            for (k, &byte) in piece.iter().enumerate() {
                let Ok(next) = dfa.next_state(cache, state, byte) else { return Ok(Err(GivesUp)) };
                state = next;
                if !state.is_tagged() {
                    continue;
                }
                match step(state) {
                    Ok(Step::Match) => {
                        end = Some(at + i * self.piece + k);
                        if any {
                            return Ok(Ok(end));
                        }
                    }
                    Ok(Step::Dead) => return Ok(Ok(end)),
                    Ok(Step::On) => {}
                    Err(e) => return Ok(Err(e)),
                }
            }
        }
        let Ok(state) = dfa.next_eoi_state(cache, state) else { return Ok(Err(GivesUp)) };
        Ok(step(state).map(|s| if matches!(s, Step::Match) { Some(text.len()) } else { end }))
    }

    /// Where the match begins that ends at `end`: not before `from`.
    fn start_of(
        &self,
        text: &[u8],
        from: usize,
        end: usize,
        cache: &mut Cache,
        ask: Ask<'_>,
    ) -> Result<std::result::Result<usize, GivesUp>> {
        let dfa = &self.backward;
        let input = Input::new(text).span(from..end).anchored(Anchored::Yes);
        let Ok(mut state) = dfa.start_state_reverse(cache, &input) else { return Ok(Err(GivesUp)) };
        let mut start = end;
        for at in (from..end).rev() {
            if at % self.piece == 0 {
                ask()?;
            }
            let Ok(next) = dfa.next_state(cache, state, text[at]) else { return Ok(Err(GivesUp)) };
            state = next;
            match step(state) {
                Ok(Step::Match) => start = at + 1,
                Ok(Step::Dead) => return Ok(Ok(start)),
                Ok(Step::On) => {}
                Err(e) => return Ok(Err(e)),
            }
        }
        let last =
            if from == 0 { dfa.next_eoi_state(cache, state) } else { dfa.next_state(cache, state, text[from - 1]) };
        let Ok(state) = last else { return Ok(Err(GivesUp)) };
        Ok(step(state).map(|s| if matches!(s, Step::Match) { from } else { start }))
    }
}

fn step(state: regex_automata::hybrid::LazyStateID) -> std::result::Result<Step, GivesUp> {
    if state.is_quit() {
        Err(GivesUp)
    } else if state.is_match() {
        Ok(Step::Match)
    } else if state.is_dead() {
        Ok(Step::Dead)
    } else {
        Ok(Step::On)
    }
}

/// The threads of a simulation at one place of the text, in the order in which a backtracking matcher tries them.
struct Threads<'a> {
    nfa: &'a NFA,
    slot_count: usize,
    /// Where each state lies in `states`, if it does there.
    place: Vec<u32>,
    states: Vec<StateID>,
    slots: Vec<Option<usize>>,
    stack: Vec<Frame>,
    steps: usize,
    ask: Ask<'a>,
}

enum Frame {
    Explore(StateID),
    Restore(usize, Option<usize>),
}

impl<'a> Threads<'a> {
    fn new(nfa: &'a NFA, slot_count: usize, ask: Ask<'a>) -> Threads<'a> {
        Threads {
            nfa,
            slot_count,
            place: vec![0; nfa.states().len()],
            states: Vec::new(),
            slots: Vec::new(),
            stack: Vec::new(),
            steps: 0,
            ask,
        }
    }

    /// The slots of the first match; `any`: of the one that ends first.
    fn run(&mut self, text: &str, from: usize, anchored: Anchored, any: bool) -> Result<Option<Slots>> {
        let bytes = text.as_bytes();
        let mut matched: Option<Slots> = None;
        let mut scratch: Slots = vec![None; self.slot_count];
        let (mut states, mut slots) = (Vec::new(), Vec::new());
        let mut at = from;
        loop {
            let begins = matched.is_none() && (anchored == Anchored::No || at == from) && text.is_char_boundary(at);
            if begins {
                scratch.fill(None);
                self.follow(self.nfa.start_anchored(), bytes, at, &mut scratch)?;
            }
            if self.states.is_empty() && (matched.is_some() || anchored != Anchored::No) {
                return Ok(matched);
            }
            std::mem::swap(&mut states, &mut self.states);
            std::mem::swap(&mut slots, &mut self.slots);
            self.states.clear();
            self.slots.clear();
            for (k, &state) in states.iter().enumerate() {
                let own = &slots[k * self.slot_count..(k + 1) * self.slot_count];
                let next = match self.nfa.state(state) {
                    State::Match { .. } => {
                        matched = Some(own.to_vec());
                        break; // later threads are tried later
                    }
                    State::ByteRange { trans } => bytes.get(at).filter(|b| trans.matches_byte(**b)).map(|_| trans.next),
                    State::Sparse(t) => bytes.get(at).and_then(|b| t.matches_byte(*b)),
                    State::Dense(t) => bytes.get(at).and_then(|b| t.matches_byte(*b)),
                    _ => None,
                };
                if let Some(next) = next {
                    scratch.copy_from_slice(own);
                    self.follow(next, bytes, at + 1, &mut scratch)?;
                }
            }
            if at == bytes.len() || any && matched.is_some() {
                return Ok(matched);
            }
            at += 1;
        }
    }

    /// Adds what is reached from `state` without reading.
    fn follow(&mut self, state: StateID, bytes: &[u8], at: usize, slots: &mut [Option<usize>]) -> Result<()> {
        self.stack.push(Frame::Explore(state));
        while let Some(frame) = self.stack.pop() {
            match frame {
                Frame::Restore(slot, offset) => slots[slot] = offset,
                Frame::Explore(state) => self.explore(state, bytes, at, slots)?,
            }
        }
        Ok(())
    }

    fn explore(&mut self, mut state: StateID, bytes: &[u8], at: usize, slots: &mut [Option<usize>]) -> Result<()> {
        loop {
            self.steps += 1;
            if self.steps >= PIECE {
                self.steps = 0;
                (self.ask)()?;
            }
            let place = self.place[state.as_usize()] as usize;
            if self.states.get(place) == Some(&state) {
                return Ok(());
            }
            // States that are passed through count as seen, too: their slots are never read.
            self.place[state.as_usize()] = self.states.len() as u32;
            self.states.push(state);
            self.slots.extend_from_slice(slots);
            match self.nfa.state(state) {
                State::Look { look, next } if self.nfa.look_matcher().matches(*look, bytes, at) => state = *next,
                State::Union { alternates } => {
                    let Some((first, others)) = alternates.split_first() else { return Ok(()) };
                    self.stack.extend(others.iter().rev().map(|s| Frame::Explore(*s)));
                    state = *first;
                }
                State::BinaryUnion { alt1, alt2 } => {
                    self.stack.push(Frame::Explore(*alt2));
                    state = *alt1;
                }
                State::Capture { next, slot, .. } => {
                    let slot = slot.as_usize();
                    if slot < slots.len() {
                        self.stack.push(Frame::Restore(slot, slots[slot]));
                        slots[slot] = Some(at);
                    }
                    state = *next;
                }
                _ => return Ok(()),
            }
        }
    }
}
