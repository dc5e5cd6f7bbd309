//! Plain data: what is recorded, what is seen, what would be done. No input or output, and no other room is known here.

mod binding;
mod generation;
mod hint;
mod ids;
mod journal;
mod layout;
mod outcome;
mod plan;
mod report;
mod resume;
mod run;
mod seen;
mod shell;
mod snapshot;
mod state;
mod target;
mod text;
mod words;

pub use binding::{Binding, BindingEnd, BoundProcess, EndReason, Source};
pub use generation::Generation;
pub use hint::Hint;
pub use ids::{Ids, is_id};
pub use journal::{BindingEntry, JournalEntry};
pub use layout::{Cell, LARGEST, Layout, Split};
pub use outcome::{AgentOutcome, AgentStatus, Outcome, OutcomeStatus, agents_went_well, in_one_line, waiting_words, went_well};
pub use plan::{Action, AgentStep, Plan, ResumeLine, ServerReport, ServerState, Since, Step, Verdict};
pub use report::Report;
pub use resume::{Answer, Resume, ResumeState};
pub use run::Run;
pub use seen::{LivePanes, Observation, Offer, Program, Screen, SeenPane, SeenSession, SeenWindow, TmuxSettings};
pub use shell::{Closing, Ended, Mark, Pane, Policy, Seen, Shell, Taken, Window};
pub use snapshot::{Running, SNAPSHOT_VERSION, Snapshot};
pub use state::{Bootstrap, Reason, SCHEMA_VERSION, State, Tombstone};
pub use target::{NoTarget, find_shell};
pub use text::RawText;
pub use words::count;

/// Milliseconds since the Unix epoch, the unit of every time in the records.
pub type EpochMs = u64;
