//! A tmux server at login or boot: the unit that starts it ([`Unit`]), and the environment that it gets ([`environment`]). What it does then
//! with the records is the start-up offer's (`plugin`).

pub mod environment;
mod unit;

pub use unit::Unit;
