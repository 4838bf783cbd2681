//! What a person at a terminal sees of an agent, and how they answer it. Shared by all commands
//! that show one.

mod follower;
mod printer;
mod questions;
mod screen;
mod table;
mod terminal;
mod text;
mod transcript;

pub(super) use follower::{Follower, answered, unwell, written};
pub(super) use printer::{Printer, Style};
pub(super) use questions::{PICK, Question, Questions};
pub(super) use screen::Screen;
pub(super) use table::{age, table};
pub(super) use terminal::Terminal;
pub(super) use text::{home_as_tilde, shortened, word};
