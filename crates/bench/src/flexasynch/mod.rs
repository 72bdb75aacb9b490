//! `bench flexasynch`: many small operations by key, submitted in batches; the shape of NDB's driver of that name.
//!
//! ```text
//!   threads × record bytes × operations a batch   →   inserts, updates, reads, deletes a second
//!     in process   Table::insert_rows, update_by_key, read_by_key, delete_by_key; one transaction a batch
//!     wire         prepared statements of as many rows; one statement, and so one transaction, a batch
//! ```
//! Each thread has keys of its own. A phase goes over all records once; a round is the four phases in that order, after
//! which the table is as empty as before. Rates are those of the best round, with the least beside them: the machine's
//! other work can only make them worse. Every phase checks how many rows it met, and the reads what they say.

mod local;
mod wire;

use crate::page::{self, Bars, Page, short};
use crate::servers::ServerArgs;
use crate::{Failure, machine, table};

#[derive(clap::Args, Debug, Clone)]
pub struct FlexArgs {
    /// Threads, by commas
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    pub threads: Vec<usize>,
    /// Bytes of a record beside its key, by commas
    #[arg(long, value_delimiter = ',', default_values_t = [8, 100, 2000])]
    pub size: Vec<usize>,
    /// Operations of a batch, by commas
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 100])]
    pub batch: Vec<usize>,
    /// Records of all threads together
    #[arg(long, default_value_t = 200_000)]
    pub records: u64,
    /// Rounds of each
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Where: in this process, through a server, or both
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Where::Process, Where::Wire])]
    pub at: Vec<Where>,
    #[command(flatten)]
    pub servers: ServerArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Where {
    Process,
    Wire,
}

/// The four phases of a round, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Insert,
    Update,
    Read,
    Delete,
}

impl Phase {
    pub(crate) const ALL: [Phase; 4] = [Phase::Insert, Phase::Update, Phase::Read, Phase::Delete];

    /// Operations a second that are wanted in process, of records of 8 bytes in batches, on two threads.
    fn goal(self) -> f64 {
        match self {
            Phase::Read => 1e6,
            _ => 6e5,
        }
    }
}

/// One combination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Load {
    pub threads: usize,
    pub size: usize,
    pub batch: usize,
    pub records: u64,
}

impl Load {
    /// The keys of a thread, in batches.
    pub(crate) fn batches(&self, thread: usize) -> impl Iterator<Item = std::ops::Range<u64>> + use<> {
        let (share, batch) = (self.records / self.threads as u64, self.batch as u64);
        let first = share * thread as u64;
        (first..first + share).step_by(batch as usize).map(move |k| k..(k + batch).min(first + share))
    }

    pub(crate) fn operations(&self) -> u64 {
        self.records / self.threads as u64 * self.threads as u64
    }

    fn column(&self) -> String {
        if self.size <= 8 { "BIGINT".into() } else { format!("VARBINARY({})", self.size) }
    }

    /// The table that the records go to.
    pub(crate) fn create_table(&self) -> String {
        format!("CREATE TABLE flex (k BIGINT NOT NULL PRIMARY KEY, v {} NOT NULL)", self.column())
    }
}

/// The number that a record holds after the insert and after the update.
pub(crate) fn content(key: u64, phase: Phase) -> i64 {
    match phase {
        Phase::Insert => (key % 1_000_003) as i64,
        _ => (key % 1_000_003) as i64 + 1,
    }
}

/// Operations a second of each phase: least and most of the rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates([[f64; 2]; 4]);

impl Rates {
    pub(crate) fn new() -> Rates {
        Rates([[f64::INFINITY, 0.0]; 4])
    }

    pub(crate) fn add(&mut self, phase: Phase, rate: f64) {
        let [least, most] = &mut self.0[phase as usize];
        *least = least.min(rate);
        *most = most.max(rate);
    }

    fn most(&self, phase: Phase) -> f64 {
        self.0[phase as usize][1]
    }
}

struct Line {
    at: String,
    load: Load,
    rates: Rates,
}

/// Whether the goals are set for this line, and reached.
fn verdict(line: &Line) -> String {
    let in_question =
        line.at == "in process" && line.load.size <= 8 && line.load.batch >= 100 && line.load.threads >= 2;
    match in_question {
        false => "-".into(),
        true if Phase::ALL.iter().all(|&p| line.rates.most(p) >= p.goal()) => "ok".into(),
        true => "below 1M reads, 600k writes".into(),
    }
}

const HEAD: [&str; 10] =
    ["where", "threads", "bytes", "batch", "inserts/s", "updates/s", "reads/s", "deletes/s", "least reads/s", "goal"];

fn row(line: &Line) -> Vec<String> {
    let l = line.load;
    let mut row = vec![line.at.clone(), l.threads.to_string(), l.size.to_string(), l.batch.to_string()];
    row.extend(Phase::ALL.map(|p| short(line.rates.most(p))));
    row.extend([short(line.rates.0[Phase::Read as usize][0]), verdict(line)]);
    row
}

/// Runs the experiment. Wrong counts and contents are errors.
pub fn run(args: &FlexArgs) -> Result<bool, Failure> {
    let mut facts = vec![machine::describe()];
    let loads: Vec<Load> = (args.size.iter())
        .flat_map(|&size| args.threads.iter().map(move |&threads| (size, threads)))
        .flat_map(|(size, threads)| args.batch.iter().map(move |&batch| (size, threads, batch)))
        .map(|(size, threads, batch)| Load {
            threads: threads.max(1),
            size,
            batch: batch.max(1),
            records: args.records,
        })
        .collect();
    let mut lines = Vec::new();
    if args.at.contains(&Where::Process) {
        for &load in &loads {
            lines.push(Line { at: "in process".into(), load, rates: local::measure(load, args)? });
        }
    }
    if args.at.contains(&Where::Wire) {
        for (name, load, rates) in wire::measure(&loads, args)? {
            lines.push(Line { at: name.into(), load, rates });
        }
    }
    let rows: Vec<Vec<String>> = lines.iter().map(row).collect();
    print!("{}", table::render(&HEAD, &rows));
    facts.push(format!(
        "{} records, innodb_flush_log_at_trx_commit={}, best of {} rounds; after: {}",
        args.records,
        args.servers.durability,
        args.rounds,
        machine::describe()
    ));
    println!("{}", facts[1]);
    let group = |l: &Line| {
        let label = format!("{}, {} threads, {} bytes, batch {}", l.at, l.load.threads, l.load.size, l.load.batch);
        (label, Phase::ALL.map(|p| l.rates.most(p)).into())
    };
    let page = Page {
        title: "flexAsynch".into(),
        facts,
        bars: vec![Bars {
            title: "Operations a second (more is better)".into(),
            series: Phase::ALL.map(|p| format!("{p:?}")).into(),
            groups: lines.iter().map(group).collect(),
        }],
        tables: vec![("Figures".into(), HEAD.map(str::to_owned).into(), rows)],
    };
    page::write(&page, args.servers.out.as_deref())?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_cover_all_keys_once() {
        let load = Load { threads: 3, size: 8, batch: 7, records: 100 };
        let mut keys: Vec<u64> = (0..3).flat_map(|t| load.batches(t)).flatten().collect();
        keys.sort_unstable();
        assert_eq!(keys, (0..load.operations()).collect::<Vec<_>>());
    }

    #[test]
    fn small_in_process() {
        for size in [8, 50] {
            let load = Load { threads: 2, size, batch: 16, records: 1000 };
            let servers =
                ServerArgs { vs: vec![], durability: 2, only_others: false, server_option: vec![], out: None };
            let args = FlexArgs {
                threads: vec![2],
                size: vec![size],
                batch: vec![16],
                records: 1000,
                rounds: 2,
                at: vec![Where::Process],
                servers,
            };
            let rates = local::measure(load, &args).expect("all counts are right");
            assert!(Phase::ALL.iter().all(|&p| rates.most(p) > 0.0));
        }
    }
}
