//! Observation + old records -> new records; the rules of closing and of server death.
//!
//! All of it is pure but [`take`], which looks, decides and writes.

mod binding;
mod closing;
mod journal;
mod matching;
mod observe;
mod pristine;
mod programs;
mod project;
mod report;
mod take;
mod takeover;
#[cfg(test)]
mod tests;
mod windows;

pub use binding::{Processes, bind};
pub use closing::{DRIFT, Endings, Keep, bury, bury_deleted, expires_at, latest_time, purge};
pub use observe::{Changes, Rules, Tags};
pub use pristine::MOVED_ASIDE;
pub use programs::is_named;
pub use project::{branch_of, line_to_bring_back, of as project_of};
pub use report::{report, why_unclear};
pub use take::{
    ANSWER_LIMIT, INTERVAL, RandomIds, Recorded, Settings, add_programs, add_projects, decide, is_still_unused, look, now, record,
    record_after, stuck_generations,
};
pub use takeover::{Takeover, takeover};
