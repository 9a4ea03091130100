//! The pages of the server, for people. They are templates that the compiler checks, work without
//! JavaScript, and load nothing but one style sheet and one script of this server.
//!
//! Start reading at `Page`: every page is one, and `StyleSheet` is its look. A page is a function
//! from values to text; it reads no store and knows no socket.

mod account;
mod activity;
mod callout;
mod clip;
mod collections;
mod connect;
mod consent;
mod difference;
mod edit;
mod fields;
mod footnotes;
mod health;
mod history;
mod home;
mod imports;
mod item;
mod item_tools;
mod layout;
mod link_picture;
mod login;
mod map;
mod map_colours;
mod map_labels;
mod map_picture;
mod map_topic;
mod markdown;
mod message;
mod note_embed;
mod parts;
mod passkeys;
mod plain_text;
mod properties;
mod qr_picture;
mod script;
mod search;
mod second_factor;
mod selection;
mod style_sheet;
mod timeline;
mod transcript;

pub(crate) use account::{END_LOGIN_PATH, REVOKE_KEY_PATH, account_page};
pub(crate) use activity::{Activity, ENTRIES_PER_PAGE, activity_page};
pub(crate) use clip::{CLIP_PATH, SAVE_CLIP_PATH, clip_page};
pub(crate) use collections::{CollectionSummary, collections_page};
pub(crate) use connect::{ConnectPage, connect_page};
pub(crate) use consent::{SOURCES, consent_page};
pub(crate) use difference::{Difference, render_lines};
pub(crate) use edit::{
    DELETE_NOTE_PATH, EDIT_PREFIX, EditorPage, NoteConflict, RESTORE_ITEM_PATH, SAVE_NOTE_PATH,
    TAG_ITEM_PATH, conflict_page, editor_page, kept_text_page, saved_page,
};
pub(crate) use fields::FormContext;
pub(crate) use health::{Health, health_page};
pub(crate) use history::{
    HISTORY_PREFIX, HistoryPage, VERSIONS_PER_PAGE, history_page, history_path,
};
pub(crate) use home::{
    AgentChange, ClientReading, HomePage, LastImport, LibraryOverview, UNDO_PATH, home_page,
};
pub(crate) use imports::{
    FILES_PER_PAGE, ImportedFile, Imports, REMOVE_UPLOAD_PATH, UPLOAD_PATH, imports_page,
};
pub(crate) use item::{ItemPage, item_page, similar_page};
pub(crate) use item_tools::ItemFile;
pub(crate) use layout::{Frame, Page, Section};
pub(crate) use login::{LoginPage, login_code_page, login_page};
pub(crate) use map::map_content;
pub(crate) use message::message_page;
pub(crate) use note_embed::NoteEmbed;
pub(crate) use parts::problem_content;
pub(crate) use passkeys::{PasskeysPage, passkeys_page};
pub(crate) use script::Script;
pub(crate) use search::{RESULTS_PER_PAGE, SearchTerms, search_page};
pub(crate) use second_factor::{
    SecondFactorState, login_factor_page, recovery_codes_page, second_factor_page,
};
pub(crate) use selection::{
    ChangedSelection, SELECTION_PATH, SelectedItem, SelectionAction, selection_page,
};
pub(crate) use style_sheet::StyleSheet;
use style_sheet::asset_path;
pub(crate) use timeline::{ITEMS_PER_PAGE, MonthCounts, TimelineTerms, timeline_page};
